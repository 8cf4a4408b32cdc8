// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// Status is what `kserve local status -o json` tells.
type Status struct {
	record.Record
	// Installed says whether KServe is on the cluster.
	Installed bool      `json:"installed"`
	Pods      []Pod     `json:"pods"`
	Services  []Service `json:"services"`
}

// Pod is a pod in one line.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ready     bool   `json:"ready"`
	// State is the phase, or what a container waits for.
	State    string `json:"state"`
	Restarts int64  `json:"restarts"`
	// Role is controller or webhook for the pods of KServe itself.
	Role string `json:"role,omitempty"`
}

// Service is an InferenceService in one line.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ready     string `json:"ready"`
	URL       string `json:"url,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// The Deployments of KServe itself, by what a person calls them.
var (
	roles     = map[string]string{"controller": "kserve-controller-manager", "webhook": "kserve-webhook-server"}
	roleLabel = "control-plane"
)

const systemNamespace = "kserve"

var inferenceServices = schema.GroupVersionResource{Group: servingGroup, Version: "v1beta1", Resource: "inferenceservices"}

func statusCommand(t *Target, streams output.Streams) *cobra.Command {
	format := output.Table
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the cluster, its pods and its InferenceServices",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, r, err := t.running()
			if err != nil {
				return err
			}
			s, err := readStatus(cmd.Context(), r)
			if err != nil {
				return err
			}
			if format != output.Table {
				return output.Write(streams.Out, format, s)
			}
			return s.print(streams)
		},
	}
	cmd.Flags().VarP(&format, "output", "o", "how to print it")
	return cmd
}

func readStatus(ctx context.Context, r *record.Record) (*Status, error) {
	client, err := newClient(r.Kubeconfig)
	if err != nil {
		return nil, err
	}
	s := &Status{Record: *r, Pods: []Pod{}, Services: []Service{}}
	if s.Pods, err = podsOf(ctx, client, metav1.NamespaceAll); err != nil {
		return nil, exit.Errorf(exit.Unreachable, "%w", err)
	}
	services, err := client.Resource(inferenceServices).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return s, nil
	}
	if err != nil {
		return nil, exit.Errorf(exit.Unreachable, "list InferenceServices: %w", err)
	}
	s.Installed = true
	for _, o := range services.Items {
		url, _, _ := unstructured.NestedString(o.Object, "status", "url") // what is not there is empty
		line := Service{Namespace: o.GetNamespace(), Name: o.GetName(), Ready: cmp.Or(condition(&o, "Ready"), "Unknown"), URL: url}
		if line.Ready != "True" {
			line.Reason = why(&o)
		}
		s.Services = append(s.Services, line)
	}
	return s, nil
}

// why is the first sentence that the status of a service has about what is wrong.
func why(o *unstructured.Unstructured) string {
	if m, _, _ := unstructured.NestedString(o.Object, "status", "modelStatus", "lastFailureInfo", "message"); m != "" {
		return m
	}
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // as above
	for _, c := range all {
		if m, ok := c.(map[string]any); ok && m["status"] == "False" {
			text, _ := m["message"].(string)
			reason, _ := m["reason"].(string)
			if s := cmp.Or(text, reason); s != "" {
				return s
			}
		}
	}
	return ""
}

func (s *Status) print(streams output.Streams) error {
	paint := output.NewPaint(streams.Out)
	rows := [][]string{{"API server", s.Server}}
	if s.Gateway != "" {
		rows = append(rows, []string{"gateway", s.Gateway})
	}
	rows = append(rows, []string{"kubeconfig", s.Kubeconfig})
	for _, role := range []string{"controller", "webhook"} {
		rows = append(rows, []string{role, s.role(role)})
	}
	if err := output.Rows(streams.Out, []string{"cluster", fmt.Sprintf("%s, process %d", s.Name, s.PID)}, rows); err != nil {
		return err
	}
	if len(s.Pods) > 0 {
		rows = nil
		for _, p := range s.Pods {
			rows = append(rows, []string{p.Namespace, p.Name, yesNo(p.Ready), p.State, fmt.Sprint(p.Restarts)})
		}
		fmt.Fprintln(streams.Out)
		if err := output.Rows(streams.Out, []string{"NAMESPACE", "POD", "READY", "STATE", "RESTARTS"}, rows); err != nil {
			return err
		}
	}
	if len(s.Services) > 0 {
		rows = nil
		for _, v := range s.Services {
			rows = append(rows, []string{v.Namespace, v.Name, v.Ready, v.URL, v.Reason})
		}
		fmt.Fprintln(streams.Out)
		if err := output.Rows(streams.Out, []string{"NAMESPACE", "SERVICE", "READY", "URL", "WHY"}, rows); err != nil {
			return err
		}
	}
	if !s.Installed {
		fmt.Fprintln(streams.Out, paint.Dim("\nKServe is not installed: kserve local up installs it"))
	}
	return nil
}

// role says how many pods of a process of KServe are ready.
func (s *Status) role(role string) string {
	ready, all := 0, 0
	for _, p := range s.Pods {
		if p.Role == role {
			all++
			if p.Ready {
				ready++
			}
		}
	}
	if all == 0 {
		return "no pod"
	}
	return fmt.Sprintf("%d of %d ready", ready, all)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// podsOf reads the pods of a namespace, sorted.
func podsOf(ctx context.Context, client dynamic.Interface, namespace string) ([]Pod, error) {
	pods, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	found := make([]Pod, 0, len(pods.Items))
	for _, o := range pods.Items {
		p := Pod{Namespace: o.GetNamespace(), Name: o.GetName(), Ready: condition(&o, "Ready") == "True", State: podState(&o)}
		for role, label := range roles {
			if p.Namespace == systemNamespace && o.GetLabels()[roleLabel] == label {
				p.Role = role
			}
		}
		for _, c := range containerStatuses(&o) {
			n, _, _ := unstructured.NestedInt64(c, "restartCount") // what is not there is 0
			p.Restarts += n
		}
		found = append(found, p)
	}
	slices.SortFunc(found, func(a, b Pod) int { return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) })
	return found, nil
}

// podState is what the pod waits for, else its phase.
func podState(o *unstructured.Unstructured) string {
	if o.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	for _, c := range containerStatuses(o) {
		if reason, _, _ := unstructured.NestedString(c, "state", "waiting", "reason"); reason != "" && reason != "PodInitializing" {
			text, _, _ := unstructured.NestedString(c, "state", "waiting", "message")
			ended, _, _ := unstructured.NestedString(c, "lastState", "terminated", "message")
			if text = cmp.Or(ended, text); text != "" {
				return reason + ": " + text
			}
			return reason
		}
	}
	if condition(o, "PodScheduled") == "False" {
		all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range all {
			if m, ok := c.(map[string]any); ok && m["type"] == "PodScheduled" {
				return fmt.Sprintf("%v: %v", m["reason"], m["message"])
			}
		}
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return cmp.Or(phase, "Pending")
}

func containerStatuses(o *unstructured.Unstructured) []map[string]any {
	var found []map[string]any
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		all, _, _ := unstructured.NestedSlice(o.Object, "status", field)
		for _, c := range all {
			if m, ok := c.(map[string]any); ok {
				found = append(found, m)
			}
		}
	}
	return found
}

func logsCommand(t *Target, streams output.Streams) *cobra.Command {
	var follow, previous bool
	var namespace, container string
	var tail int
	cmd := &cobra.Command{
		Use:   "logs [controller | webhook | cluster | POD]",
		Short: "Print the log of the controller, the webhook, Kubernetes itself or a pod",
		Example: `  kserve local logs controller -f
  kserve local logs cluster
  kserve local logs sklearn-iris-predictor-5d8f7c9b6d-x2x5k -n default -c storage-initializer`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			of := "controller"
			if len(args) == 1 {
				of = args[0]
			}
			if of == "cluster" {
				return clusterLog(cmd.Context(), t, follow, tail, streams)
			}
			if _, _, err := t.running(); err != nil {
				return err
			}
			if name, ok := roles[of]; ok {
				of, namespace = "deployment/"+name, systemNamespace
			}
			kubectl := []string{"logs", of, "--namespace=" + namespace, fmt.Sprintf("--follow=%t", follow), fmt.Sprintf("--previous=%t", previous), fmt.Sprintf("--tail=%d", tail)}
			if container != "" {
				kubectl = append(kubectl, "--container="+container)
			}
			return t.call(cmd.Context(), streams, "kubectl", kubectl...)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is logged from now on")
	cmd.Flags().BoolVar(&previous, "previous", false, "that of the container before the last restart")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of the pod")
	cmd.Flags().StringVarP(&container, "container", "c", "", "container of the pod")
	cmd.Flags().IntVar(&tail, "tail", -1, "print the last lines only; -1 prints all")
	return cmd
}

// errNoLog says that a cluster never ran.
var errNoLog = errors.New("no such cluster ever ran here")
