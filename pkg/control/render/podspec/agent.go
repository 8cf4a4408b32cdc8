// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// agentTasks is what the annotations ask an agent for that is not there yet.
func agentTasks(pod *corev1.Pod) (logs, pulls, batches bool) {
	further := container(&pod.Spec, workerContainer) != nil && container(&pod.Spec, servingContainer) == nil // requests come to the head alone
	if container(&pod.Spec, handoff.AgentContainer) != nil || len(pod.Spec.Containers) == 0 || further {
		return false, false, false
	}
	_, logs = pod.Annotations[serving.AnnotationInternalLogger]
	_, pulls = pod.Annotations[serving.AnnotationInternalAgent]
	_, batches = pod.Annotations[serving.AnnotationInternalBatcher]
	return logs, pulls, batches
}

// injectAgent adds the agent that logs, batches or pulls models, as the pod's annotations ask.
func injectAgent(pod *corev1.Pod, a Admission) error {
	logs, pulls, batches := agentTasks(pod)
	if !logs && !pulls && !batches {
		return nil
	}
	st := a.Settings
	c := corev1.Container{
		Name: handoff.AgentContainer, Image: st.Agent.Image, Resources: resources(st.Agent),
		Ports:           []corev1.ContainerPort{{Name: handoff.AgentPortName, ContainerPort: handoff.AgentPort, Protocol: corev1.ProtocolTCP}},
		SecurityContext: pod.Spec.Containers[0].SecurityContext.DeepCopy(),
	}
	if pulls {
		c.Args = append(c.Args, "--"+handoff.FlagEnablePuller, "--"+handoff.FlagConfigDir, pod.Annotations[serving.AnnotationInternalConfigMountPath], "--"+handoff.FlagAgentModelDir, pod.Annotations[serving.AnnotationInternalModelDir])
	}
	if batches {
		c.Args = append(c.Args, batcherArgs(pod.Annotations, st)...)
	}
	var store *loggerStore
	if logs {
		store = storeOf(a.PredictorLogger, st)
		c.Args = append(c.Args, loggerArgs(pod, a, store)...)
	}
	c.Args = append(c.Args, "--"+handoff.FlagComponentPort, strconv.Itoa(int(componentPort(&pod.Spec))))
	if err := agentProbe(pod, &c); err != nil {
		return err
	}
	if err := accountCredentials(&pod.Spec, &c, pod.Annotations, st, a.Around); err != nil {
		return err
	}
	if store != nil && store.path != "" {
		if err := credentialsOf(store.account, &pod.Spec, &c, "", credentialInputs{st, a.Around}); err != nil {
			return err
		}
	}
	if st.Logger.CABundle != "" && logs {
		addVolume(&pod.Spec, configMapVolume(handoff.AgentCABundleVolume, st.Logger.CABundle, true))
		addMount(&c, corev1.VolumeMount{Name: handoff.AgentCABundleVolume, MountPath: handoff.LoggerCADir, ReadOnly: true})
	}
	if pulls {
		addVolume(&pod.Spec, emptyDir(handoff.ModelDirVolume))
		addVolume(&pod.Spec, configMapVolume(handoff.ModelConfigVolume, pod.Annotations[serving.AnnotationInternalConfigVolumeName], false))
		models := corev1.VolumeMount{Name: handoff.ModelDirVolume, MountPath: plan.ModelPath}
		addMount(&c, models)
		addMount(&c, corev1.VolumeMount{Name: handoff.ModelConfigVolume, MountPath: plan.ModelConfigPath})
		if server := container(&pod.Spec, servingContainer); server != nil {
			addMount(server, models)
		}
	}
	pod.Spec.Containers = append(pod.Spec.Containers, c)
	return nil
}

func batcherArgs(annotations map[string]string, st *settings.Settings) []string {
	args := []string{"--" + handoff.FlagEnableBatcher}
	for _, f := range []struct{ flag, key, operator, builtIn string }{
		{"--" + handoff.FlagMaxBatchSize, serving.AnnotationInternalBatcherMaxBatchSize, st.Batcher.MaxBatchSize, "32"},
		{"--" + handoff.FlagMaxLatency, serving.AnnotationInternalBatcherMaxLatency, st.Batcher.MaxLatency, "5000"},
	} {
		value, ok := annotations[f.key]
		if !ok && f.operator != f.builtIn { // the agent knows its own defaults; only another wish of the operator is passed on
			value = f.operator
		}
		if value != "" {
			args = append(args, f.flag, value)
		}
	}
	return args
}

// loggerStore is where payloads are stored when they go to a bucket.
type loggerStore struct {
	path, format, marshaller, interval, account string
	batch                                       *int
}

// storeOf reads the store from the predictor's logger, else from the operator's settings.
func storeOf(l *servingv1beta1.LoggerSpec, st *settings.Settings) *loggerStore {
	s := &loggerStore{marshaller: st.Logger.MarshallerURL, interval: st.Logger.BatchInterval, batch: st.Logger.BatchSize, account: handoff.DefaultLoggerAccount}
	if o := st.Logger.Storage; o != nil {
		s.path, s.format = o.Path, o.Parameters["format"]
		if o.ServiceAccount != "" {
			s.account = o.ServiceAccount
		}
	}
	if l == nil {
		return s
	}
	if l.Storage != nil {
		s.path, s.format = "", l.Storage.Parameters["format"]
		if l.Storage.Path != nil {
			s.path = *l.Storage.Path
		}
		if l.Storage.ServiceAccountName != "" {
			s.account = l.Storage.ServiceAccountName
		}
	}
	if l.MarshallerURL != nil {
		s.marshaller = *l.MarshallerURL
	}
	if l.BatchSize != nil {
		s.batch = l.BatchSize
	}
	if l.BatchInterval != nil {
		s.interval = *l.BatchInterval
	}
	return s
}

// LoggerAccount is the service account whose credentials the logger stores with; empty when nothing is stored.
func LoggerAccount(l *servingv1beta1.LoggerSpec, st *settings.Settings) string {
	if s := storeOf(l, st); s.path != "" {
		return s.account
	}
	return ""
}

func loggerArgs(pod *corev1.Pod, a Admission, store *loggerStore) []string {
	ann, st := pod.Annotations, a.Settings
	url, ok := ann[serving.AnnotationInternalLoggerSinkURL]
	if !ok {
		url = st.Logger.DefaultURL
	}
	mode := ann[serving.AnnotationInternalLoggerMode]
	if mode == "" {
		mode = string(servingv1beta1.LogAll)
	}
	args := []string{
		"--" + handoff.FlagLogURL, url, "--" + handoff.FlagSourceURI, pod.Name, "--" + handoff.FlagLogMode, mode, "--" + handoff.FlagInferenceService, pod.Labels[serving.LabelInferenceService],
		"--" + handoff.FlagNamespace, a.Namespace, "--" + handoff.FlagEndpoint, pod.Labels[serving.LabelEndpoint], "--" + handoff.FlagComponent, pod.Labels[serving.LabelComponent],
	}
	add := func(flag, value string) {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	add("--"+handoff.FlagLogStorePath, store.path)
	add("--"+handoff.FlagLogStoreFormat, store.format)
	add("--"+handoff.FlagLogMarshallerURL, store.marshaller)
	if store.batch != nil {
		add("--"+handoff.FlagLogBatchSize, strconv.Itoa(*store.batch))
	}
	add("--"+handoff.FlagLogBatchInterval, store.interval)
	add("--"+handoff.FlagMetadataHeaders, ann[serving.AnnotationInternalLoggerHeaders])
	if keys := ann[serving.AnnotationInternalLoggerAnnotations]; keys != "" {
		var pairs []string
		for key := range strings.SplitSeq(keys, ",") {
			if v, ok := ann[key]; ok {
				pairs = append(pairs, key+"="+v)
			}
		}
		add("--"+handoff.FlagMetadataAnnotations, strings.Join(pairs, ","))
	}
	add("--"+handoff.FlagLoggerCACertFile, st.Logger.CACertFile)
	return append(args, "--"+handoff.FlagLoggerTLSSkipVerify, strconv.FormatBool(st.Logger.TLSSkipVerify))
}

// componentPort is where the agent sends requests on to.
func componentPort(pod *corev1.PodSpec) int32 {
	if c := container(pod, transformerContainer); c != nil {
		return firstPort(c)
	}
	return firstPort(container(pod, servingContainer))
}

// agentProbe makes the agent ready when the server is: it gets the server's probe, or what Knative's proxy knows about it.
func agentProbe(pod *corev1.Pod, c *corev1.Container) error {
	if proxy := container(&pod.Spec, queueProxy); proxy != nil {
		c.Env = append([]corev1.EnvVar{}, proxy.Env...)
		putEnv(proxy, corev1.EnvVar{Name: handoff.EnvUserPort, Value: strconv.Itoa(handoff.AgentPort)})
		return nil
	}
	front := container(&pod.Spec, transformerContainer)
	if front == nil {
		front = &pod.Spec.Containers[0]
	}
	path := "/"
	if p := front.ReadinessProbe; p != nil && (p.HTTPGet != nil || p.TCPSocket != nil) {
		raw, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("write the readiness probe of container %s: %w", front.Name, err)
		}
		c.Env = append(c.Env, corev1.EnvVar{Name: handoff.EnvReadinessProbe, Value: string(raw)})
		if p.HTTPGet != nil && p.HTTPGet.Path != "" {
			path = p.HTTPGet.Path
		}
	}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: path, Port: intstr.FromInt32(handoff.AgentPort), HTTPHeaders: []corev1.HTTPHeader{{Name: handoff.ProbeHeader, Value: handoff.ProbeHeaderQueue}},
	}}}
	return nil
}
