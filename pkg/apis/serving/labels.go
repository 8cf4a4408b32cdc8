// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

// Labels on the objects of a service.
const (
	// LabelInferenceService holds the name of the service on every object and pod of it; pod admission selects by it.
	LabelInferenceService = GroupName + "/inferenceservice"
	// LabelInferenceGraph holds the name of the graph on its workload.
	LabelInferenceGraph = GroupName + "/inferencegraph"
	// LabelKind is "InferenceGraph" on the Knative template of a graph.
	LabelKind = GroupName + "/kind"
	// LabelTrainedModelAllocated holds on a TrainedModel the service that it was put on.
	LabelTrainedModelAllocated = GroupName + "/trainedmodel-allocated"
	// LabelTrainedModelParent holds on a TrainedModel the name of its service.
	LabelTrainedModelParent = "inferenceservice"
	// LabelComponent is predictor, transformer or explainer.
	LabelComponent = "component"
	// LabelApp is "isvc." and the workload's name; see AppPrefix.
	LabelApp = "app"
	// AppPrefix starts the value of LabelApp.
	AppPrefix = "isvc."
	// LabelGeneration holds the generation of the service on pods of a multi-node predictor.
	LabelGeneration = "isvc.generation"
	// LabelMultiNodeRole is MultiNodeHead or MultiNodeWorker.
	LabelMultiNodeRole = "multinode/role"
	MultiNodeHead      = "head"
	MultiNodeWorker    = "worker"
	// LabelVisibility VisibilityClusterLocal keeps a service of Standard mode inside the cluster.
	LabelVisibility = "networking.kserve.io/visibility"
	// LabelKnativeVisibility VisibilityClusterLocal does the same in Knative mode.
	LabelKnativeVisibility = "networking.knative.dev/visibility"
	VisibilityClusterLocal = "cluster-local"
	// LabelModelClass is set on MLServer pods.
	LabelModelClass = "modelClass"
	// LabelServiceEnvelope is set on TorchServe pods.
	LabelServiceEnvelope = "serviceEnvelope"
	// LabelEndpoint and LabelModel are read from pods when present.
	LabelEndpoint = "endpoint"
	LabelModel    = "model"
	// LabelKnativeRevision holds the revision on pods that Knative makes.
	LabelKnativeRevision = "serving.knative.dev/revision"
	// LabelLocalModel holds the name of the local model cache that a service uses.
	LabelLocalModel = InternalPrefix + "localmodel"
	// LabelLocalModelNamespace holds the namespace of that cache when it has one.
	LabelLocalModelNamespace = InternalPrefix + "localmodel-namespace"
)

// ComponentRole is the value of LabelComponent and the key of a component in a status.
type ComponentRole string

// The components of a service.
const (
	Predictor   ComponentRole = "predictor"
	Transformer ComponentRole = "transformer"
	Explainer   ComponentRole = "explainer"
)
