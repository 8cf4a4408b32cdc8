// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/rollout"
)

// Cause is a reason of a condition, in words for people. docs/conditions.md is made of them.
type Cause struct {
	Reason string
	// On is what the reason is given on, in words.
	On string
	// Means is what is the case.
	Means string
	// Again says when it is looked at or tried again without anybody doing anything; empty where nothing has failed.
	Again string
	// Do is what helps; empty where waiting does, or where the message says it for the case at hand.
	Do string
}

// What reasons are given on.
const (
	onComponents = "components"
	onIngress    = "IngressReady"
	onCanaries   = "CanaryPredictorReady"
	onImages     = "OciImageVolumeCompatible"
	onScalers    = "AutoscalerReady"
	onHosts      = "HostUnique"
	onAll        = "all"
)

const (
	backOff = "with pauses up to 5 minutes"
	growing = "with growing pauses up to 2 minutes"
)

// Causes are all reasons that this package gives, what explains most first.
func Causes() []Cause {
	return slices.Concat(podCauses(), planCauses(), routeCauses(), canaryCauses(), imageCauses(), besideCauses())
}

// podCauses are those that pods and their workloads show.
func podCauses() []Cause {
	return []Cause{
		{ReasonPodsStarting, onComponents, "pods are on their way: being started, or the model is being fetched and loaded. Where it stands on a component that is True, others serve meanwhile", "", ""},
		{ReasonModelLoadFailed, onComponents, "the storage initializer failed: its exit code, the kind of failure and its words, or its last log lines", backOff + "; what came so far is kept", "by the kind of failure: correct the URI, the credentials, or put the model there"},
		{ReasonCrashLoop, onComponents, "a container ends: exit code, and the last lines of its termination message", backOff, "read its log: `kserve status NAME`, or the command in the message"},
		{ReasonInitFailed, onComponents, "an init container other than the storage initializer ends with an error", backOff, "as above"},
		{ReasonOutOfMemory, onComponents, "a container was killed at its memory limit, which is named", backOff, "raise the limit that the message names"},
		{ReasonImagePull, onComponents, "an image cannot be pulled: what the registry said", backOff, "correct the image or `imagePullSecrets`, or let the node reach the registry"},
		{"InvalidImageName", onComponents, "the name is no image's", "", "correct the image"},
		{"ErrImageNeverPull", onComponents, "the image is not on the node and may not be pulled", "", "change `imagePullPolicy`, or bring the image to the node"},
		{"CreateContainerConfigError", onComponents, "a Secret, a ConfigMap or a key in it is missing, or the image's user is not allowed", "every few seconds", "create what the message names"},
		{ReasonPodStuck, onComponents, "a node has had the pod for a minute and could start nothing: volumes or network; the mounted objects are named", "by the node", "see the pod's events"},
		{ReasonNotReady, onComponents, "a container runs for a minute and has never passed its probe, or was ready and passes it no longer", "the probe goes on", "read its log; give a slow model a longer `startupProbe`"},
		{"ReadinessGatesNotReady", onComponents, "the containers are ready, a readiness gate is not", "", "whoever sets the gate has to"},
		{ReasonUnschedulable, onComponents, "no node takes the pod: what the scheduler counted", "as soon as a node does", "by what it counted: requests, taints, affinity, volumes"},
		{ReasonSchedulingGated, onComponents, "something holds the pod back from scheduling", "", "whoever set the gate has to remove it"},
		{ReasonEvicted, onComponents, "the node put the pod out", "a new pod takes its place", "request the memory and ephemeral storage that the model needs"},
		{ReasonNodeLost, onComponents, "the pod's node does not report", "a new pod takes its place after 5 minutes", ""},
		{"PodFailed", onComponents, "the pod has ended", "a new pod takes its place", ""},
		{ReasonFailedCreate, onComponents, "pods are refused: quota, pod security, an admission webhook that refuses or does not answer", growing, "by the words of who refuses"},
		{ReasonDeadlineExceeded, onComponents, "nothing of the above is known, and the Deployment has given up waiting", "Kubernetes goes on", ""},
		{ReasonScaledToZero, onComponents, "no pod is wanted at present", "", ""},
		{ReasonProgressing, onComponents, "the Deployment's own status is older than its last change", "", ""},
		{ReasonReplacing, onComponents, "the component is True: another workload serves until its own can take its place", "", ""},
		{ReasonNotCreated, onComponents, "the Deployment or Knative Service is not there yet", "", ""},
	}
}

// planCauses are those of services that nothing can be made of.
func planCauses() []Cause {
	const edited = "when runtimes, settings or the service change"
	return []Cause{
		{string(servingv1beta1.NoSupportingRuntime), onComponents, "no runtime serves the model: which there are, and why none fits", edited, "`kserve explain` lists them; name one in `model.runtime`, or add one"},
		{string(servingv1beta1.RuntimeNotRecognized), onComponents, "the runtime that the service names does not exist", edited, "create it, or correct the name"},
		{string(servingv1beta1.RuntimeDisabled), onComponents, "the runtime that the service names is disabled", edited, "enable it, or name another"},
		{string(servingv1beta1.InvalidPredictorSpec), onComponents, "the service cannot be planned: which field is wrong", edited, "correct the field"},
		{servingv1beta1.ReasonInvalidWorkerSpec, onComponents, "the service asks for worker pods and its runtime has no `workerSpec`", edited, "use a runtime for several nodes"},
		{servingv1beta1.ReasonInvalidGPUAllocation, onComponents, "the GPUs asked for do not fit the parallel sizes", edited, "change the sizes or the GPUs"},
		{servingv1beta1.ReasonReconcileFailed, onComponents, "an object cannot be made: the API server's words, a missing CustomResourceDefinition, a name that belongs to someone else", growing + "; a name or a refusal is looked at again after 1 to 5 minutes", "by the message"},
		{"Waiting", onComponents, "something has to go, or to be there, before an object can be made", "every few seconds", ""},
		{"PredictorNotReady", onComponents, "ModelMesh has not said where the predictor is served", "every few seconds", ""},
		{ReasonInvalidSettings, onComponents, "a new service, and there is no `inferenceservice-config` yet that could be used", "when the ConfigMap changes", "correct the ConfigMap"},
		{"ServerlessModeRejected", onComponents, "Knative mode in a cluster without Knative Serving", "when its CustomResourceDefinition appears", "install it, or use Standard mode"},
		{servingv1beta1.ReasonStopped, onAll, "annotation `serving.kserve.io/stop` is true", "", "take the annotation away"},
	}
}

// routeCauses are those of what leads to the service.
func routeCauses() []Cause {
	return []Cause{
		{"Predictor ingress not created", onIngress, "the route is made once every component can answer; the same of `Transformer`, `Explainer`", "", ""},
		{"Predictor Deployment NotReady", onIngress, "the same, with the Gateway API", "", ""},
		{ReasonParentStatus, onIngress, "no Gateway has answered for a route; or, of a service that was reached before, none has taken up a change of it for over a minute", "", "see whether the Gateway of `ingress.kserveIngressGateway` exists and is programmed"},
		{"NoMatchingParent", onIngress, "a Gateway refuses a route: any reason of `Accepted` or `ResolvedRefs` of the Gateway API may stand here", "when the Gateway changes", "by its message"},
	}
}

// canaryCauses are those of canary predictors.
func canaryCauses() []Cause {
	return []Cause{
		{ReasonAllCanariesReady, onCanaries, "each canary predictor has a pod that serves", "", ""},
		{ReasonCanariesNotReady, onCanaries, "a canary predictor has none; `status.canaryStatuses` has its own reason", "", ""},
		{ReasonCanaryRolledBack, onCanaries, "the analysis of a canary failed, and it gets no requests until its spec changes", "", "change or remove the canary"},
		{ReasonTrafficNotSplit, onCanaries, "canary predictors run, and nothing splits requests: there is no HTTPRoute", "", "set `ingress.enableGatewayApi`"},
		{ReasonShareIgnored, onCanaries, "`canaryTrafficPercent` has no effect in Standard mode: the predictor gets every request", "", "remove it, and list what shall have a share in `spec.canary`"},
		{ReasonOtherProtocol, onCanaries, "a canary runs, and has no port for what the stable predictor speaks", "", "name its ports as those of the stable predictor"},
		{ReasonPredictorHostOnly, onCanaries, "requests that come by the transformer go to the stable predictor; the predictor's own host is split", "", ""},
		{rollout.ReasonOutOfBounds, "canaryStatuses", "a measurement is not as the analysis asks", "at the next look", ""},
		{rollout.ReasonNoPrometheus, "canaryStatuses", "the operator has named no Prometheus", "", "set it in the operator's ConfigMap"},
		{rollout.ReasonNoAnswer, "canaryStatuses", "Prometheus did not answer, or not with a number that is possible; this is no verdict", "at the next look", ""},
		{rollout.ReasonNoData, "canaryStatuses", "there was nothing to measure, as without requests; this is no verdict", "at the next look", ""},
	}
}

// besideCauses are those of what is wrong while requests are answered.
func besideCauses() []Cause {
	return []Cause{
		{"FailedGetResourceMetric", onScalers, "the HorizontalPodAutoscaler has no measurements for two minutes: any reason of its `ScalingActive` or `AbleToScale` may stand here", "every 15 seconds", "see whether the metrics API answers, and whether the containers request what is measured"},
		{"ScaledObjectCheckFailed", onScalers, "KEDA cannot use the ScaledObject: any reason of its `Ready` may stand here", "by KEDA", "correct the metrics of the component"},
		{"FallbackExists", onScalers, "KEDA cannot read a metric and keeps the pods of the fallback", "by KEDA", "let KEDA reach what the metric is read from"},
		{ReasonAutoscalerFailed, onScalers, "an autoscaler that gives no reason", "by the autoscaler", ""},
		{ReasonHostClash, onHosts, "a route of another service has the same host: which of them answers, the gateway decides", "when one of them changes", "give one of them another name, or let `ingress.domainTemplate` tell them apart"},
	}
}

// imageCauses are those of clusters that are too old to mount model images.
func imageCauses() []Cause {
	const help = "update the cluster, or set `storageInitializer.ociModelMode` to `modelcar`"
	return []Cause{
		{servingv1beta1.ReasonImageVolumeUnsupported, onImages, "Kubernetes before 1.31 has no image volumes", "", help},
		{servingv1beta1.ReasonImageVolumeSubPathUnsupported, onImages, "Kubernetes before 1.33 cannot mount a folder of an image volume", "", help},
		{servingv1beta1.ReasonImageVolumeAlpha, onImages, "Kubernetes before 1.35 has image volumes only where a feature gate is on", "", "switch `ImageVolume` on, or as above"},
	}
}

// Condition is a type of condition, in words for people.
type Condition struct {
	Type     serving.ConditionType
	Severity string
	Says     string
}

// Conditions are all types of the status of an InferenceService.
func Conditions() []Condition {
	return []Condition{
		{serving.ConditionReady, "error", "an inference would succeed now: `PredictorReady` and `IngressReady` are True"},
		{servingv1beta1.PredictorReady, "error", "pods of the predictor serve: as many as it shall have at first, one at least from then on"},
		{servingv1beta1.IngressReady, "error", "the service can be reached, and whatever it is reached through can answer"},
		{servingv1beta1.TransformerReady, "Info", "the transformer's pods serve; while it is not True, `IngressReady` is not either"},
		{servingv1beta1.ExplainerReady, "Info", "the same of the explainer"},
		{servingv1beta1.LatestDeploymentReady, "Info", "Standard mode: there, and False, only while an older version serves because the latest change failed, or while something beside the workload could not be made. Knative mode: every configuration is ready"},
		{servingv1beta1.CanaryPredictorReady, "Info", "each canary predictor has a pod that serves; it does not count for `Ready`"},
		{servingv1beta1.OCIImageVolumeCompatible, "Info", "never: it is there, and False, only while the operator mounts model images as volumes and the cluster is too old for that. Nothing depends on it"},
		{servingv1beta1.AutoscalerReady, "Info", "never: it is there, and False, only while the autoscaler of a component that serves cannot do its work. It does not count for `Ready`"},
		{servingv1beta1.HostUnique, "Info", "never: it is there, and False, only while a route of another service has a host of this one. It does not count for `Ready`"},
		{servingv1beta1.Stopped, "Info", "annotation `serving.kserve.io/stop` is true"},
		{servingv1beta1.PredictorRouteReady, "Info", "Knative mode: what the predictor's Knative Service says"},
		{servingv1beta1.PredictorConfigurationReady, "Info", "the same"},
		{servingv1beta1.TransformerRouteReady, "Info", "the same of the transformer"},
		{servingv1beta1.TransformerConfigurationReady, "Info", "the same"},
		{servingv1beta1.ExplainerRoutesReady, "Info", "the same of the explainer"},
		{servingv1beta1.ExplainerConfigurationReady, "Info", "the same"},
		{servingv1beta1.RoutesReady, "Info", "Knative mode: every route is ready"},
	}
}
