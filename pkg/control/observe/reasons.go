// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

// Reasons of conditions, beside those of the API package, of Deployments and of Knative Services.
const (
	// ReasonNotCreated says that an object that is needed is not there yet.
	ReasonNotCreated = "NotCreated"
	// ReasonProgressing says that the Deployment's own status is older than its last change.
	ReasonProgressing = "Progressing"
	// ReasonPodsStarting is what Deployments themselves say until enough pods are ready.
	ReasonPodsStarting = "MinimumReplicasUnavailable"
	// ReasonScaledToZero says that no pod is wanted at present.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonUnschedulable says that no node takes the pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonSchedulingGated says that something holds the pod back before scheduling.
	ReasonSchedulingGated = "SchedulingGated"
	// ReasonImagePull says that an image cannot be pulled.
	ReasonImagePull = "ImagePullBackOff"
	// ReasonModelLoadFailed says that the model could not be fetched.
	ReasonModelLoadFailed = "ModelLoadFailed"
	// ReasonInitFailed says that another init container fails.
	ReasonInitFailed = "InitContainerFailed"
	// ReasonCrashLoop says that a container ends again and again.
	ReasonCrashLoop = "CrashLoopBackOff"
	// ReasonOutOfMemory says that a container was killed at its memory limit.
	ReasonOutOfMemory = "OOMKilled"
	// ReasonNotReady says that a container runs, for long or after it was ready, and does not pass its probes.
	ReasonNotReady = "ReadinessProbeFailed"
	// ReasonPodStuck says that a pod has had a node for long, and no container.
	ReasonPodStuck = "ContainersNotCreated"
	// ReasonNodeLost says that the pod's node does not report.
	ReasonNodeLost = "NodeLost"
	// ReasonEvicted says that the node put the pod out.
	ReasonEvicted = "Evicted"
	// ReasonFailedCreate says that pods are refused.
	ReasonFailedCreate = "FailedCreate"
	// ReasonDeadlineExceeded says that an update has not come through in its time.
	ReasonDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonAllCanariesReady and ReasonCanariesNotReady tell of canary predictors.
	ReasonAllCanariesReady = "AllCanariesReady"
	ReasonCanariesNotReady = "CanariesNotReady"
	// ReasonCanaryRolledBack says that a canary gets nothing because of its measurements.
	ReasonCanaryRolledBack = "CanaryRolledBack"
	// ReasonTrafficNotSplit says that canaries run and get nothing, because nothing here splits requests.
	ReasonTrafficNotSplit = "TrafficNotSplit"
	// ReasonShareIgnored says that canaryTrafficPercent has no effect in this mode.
	ReasonShareIgnored = "CanaryTrafficPercentIgnored"
	// ReasonOtherProtocol says that a canary has no port for the requests that it should get.
	ReasonOtherProtocol = "OtherProtocol"
	// ReasonPredictorHostOnly says that requests which pass the transformer are not split.
	ReasonPredictorHostOnly = "PredictorHostOnly"
	// ReasonReplacing says that a workload takes the place of one that serves until then.
	ReasonReplacing = "Replacing"
	// ReasonAutoscalerFailed is for autoscalers that give no reason of their own.
	ReasonAutoscalerFailed = "AutoscalerFailed"
	// ReasonHostClash says that another service claims a host.
	ReasonHostClash = "HostClash"
	// ReasonInvalidSettings says that there are no settings of the operator that could be used.
	ReasonInvalidSettings = "InvalidSettings"
	// ReasonParentStatus says that no Gateway has answered for a route yet.
	ReasonParentStatus = "ParentStatusNotAvailable"
	// ReasonInternalError is the reason of events about errors.
	ReasonInternalError = "InternalError"
)
