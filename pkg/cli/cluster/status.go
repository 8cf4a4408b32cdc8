// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/kserve-go/kserve-go/pkg/apis/spelling"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/cli/status"
)

// Status is what `kserve local status -o json` tells.
type Status struct {
	record.Record
	// Installed says whether KServe is on the cluster.
	Installed  bool           `json:"installed"`
	Controller Process        `json:"controller"`
	Webhook    Process        `json:"webhook"`
	Pods       []live.Pod     `json:"pods"`
	Services   []live.Service `json:"services"`
}

// Process is how many pods of the controller or the webhook there are.
type Process struct {
	Pods  int `json:"pods"`
	Ready int `json:"ready"`
}

func (p Process) String() string {
	if p.Pods == 0 {
		return "no pod"
	}
	return fmt.Sprintf("%d of %d ready", p.Ready, p.Pods)
}

const (
	widthOfWhy = 400
	// roleLabel of a pod is the name of the process of KServe that it runs.
	roleLabel = "control-plane"
	// serviceLabel of a pod is the name of its InferenceService.
	serviceLabel = live.ServingGroup + "/inferenceservice"
)

// deploymentOf is the Deployment of one of KServe's own processes, by what a person calls it.
func deploymentOf(role string) (string, bool) {
	switch role {
	case "controller":
		return live.ControllerName, true
	case "webhook":
		return "kserve-webhook-server", true
	default:
		return "", false
	}
}

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
			if err := s.print(streams); err != nil {
				return err
			}
			return s.faults(cmd.Context(), streams)
		},
	}
	cmd.Flags().VarP(&format, "output", "o", "how to print it")
	return cmd
}

func readStatus(ctx context.Context, r *record.Record) (*Status, error) {
	client, _, err := live.Client(r.Kubeconfig)
	if err != nil {
		return nil, err
	}
	s := &Status{Record: *r, Pods: []live.Pod{}, Services: []live.Service{}}
	if s.Pods, err = live.Pods(ctx, client, metav1.NamespaceAll); err != nil {
		return nil, exit.Errorf(exit.Unreachable, "%w", err)
	}
	s.Controller, s.Webhook = s.process("controller"), s.process("webhook")
	err = live.Each(ctx, client.Resource(live.InferenceServices()), metav1.ListOptions{}, func(o *unstructured.Unstructured) error {
		s.Services = append(s.Services, live.ServiceOf(o))
		return nil
	})
	if apierrors.IsNotFound(err) {
		return s, nil
	}
	if err != nil {
		return nil, exit.Errorf(exit.Unreachable, "list InferenceServices: %w", err)
	}
	s.Installed = true
	return s, nil
}

// shownInFull is how many services that are not ready are told about in full: more are a case for kserve status.
const shownInFull = 3

// inFull says of which services faults tells in full: the tables above have the reasons alone then.
func (s *Status) inFull() map[string]bool {
	told := map[string]bool{}
	for i := range s.Services {
		if v := &s.Services[i]; !v.OK() && len(told) < shownInFull {
			told[v.Namespace+"/"+v.Name] = true
		}
	}
	return told
}

// faults tells of the services that are not ready what kserve status tells.
func (s *Status) faults(ctx context.Context, streams output.Streams) error {
	config, _, err := live.Config(s.Kubeconfig, "")
	if err != nil {
		return err
	}
	config.Timeout = live.AnswerTimeout
	told := 0
	for i := range s.Services {
		v := &s.Services[i]
		if v.OK() {
			continue
		}
		if told++; told > shownInFull {
			fmt.Fprintf(streams.Out, "\nof the others that are not ready: kserve status NAME -n NAMESPACE%s\n", s.flags())
			return nil
		}
		fmt.Fprintln(streams.Out)
		one, err := status.Look(ctx, config, v.Namespace, v.Name, status.DefaultLines)
		if err != nil { // it may be gone by now
			fmt.Fprintf(streams.Out, "InferenceService %s/%s: %s\n", v.Namespace, v.Name, output.Line(err.Error()))
			continue
		}
		if err := one.Brief(streams.Out); err != nil {
			return err
		}
	}
	return nil
}

// flags are what kserve status needs to find this cluster.
func (s *Status) flags() string {
	if s.Name == record.DefaultName {
		return ""
	}
	return " --kubeconfig " + s.Kubeconfig
}

func (s *Status) print(streams output.Streams) error {
	paint, below := output.NewPaint(streams.Out), s.inFull()
	rows := [][]string{{"API server", s.Server}}
	if s.Gateway != "" {
		rows = append(rows, []string{"gateway", s.Gateway})
	}
	rows = append(rows, []string{"kubeconfig", s.Kubeconfig})
	if s.Installed {
		rows = append(rows, []string{"controller", s.Controller.String()}, []string{"webhook", s.Webhook.String()})
	}
	if err := output.Rows(streams.Out, []string{"cluster", fmt.Sprintf("%s, process %d", s.Name, s.PID)}, rows); err != nil {
		return err
	}
	if len(s.Pods) > 0 {
		rows = nil
		for _, p := range s.Pods {
			state := p.State
			if below[p.Namespace+"/"+p.Labels[serviceLabel]] {
				state, _, _ = strings.Cut(state, ": ")
			}
			rows = append(rows, []string{p.Namespace, p.Name, yesNo(p.Ready), fmt.Sprint(p.Restarts), state})
		}
		fmt.Fprintln(streams.Out)
		if err := output.Rows(streams.Out, []string{"NAMESPACE", "POD", "READY", "RESTARTS", "STATE"}, rows); err != nil {
			return err
		}
	}
	if len(s.Services) > 0 {
		rows = nil
		for _, v := range s.Services {
			why := strings.TrimSuffix(strings.Join(v.Canaries, ", ")+"; ", "; ")
			cause := output.Clip(v.Why(), widthOfWhy)
			if below[v.Namespace+"/"+v.Name] {
				cause = cmp.Or(v.Reason, cause)
			}
			if cause != "" {
				why = strings.TrimPrefix(why+"; "+cause, "; ")
			}
			rows = append(rows, []string{v.Namespace, v.Name, v.Ready, v.URL, why})
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

// process counts the pods of one of KServe's own processes.
func (s *Status) process(role string) Process {
	var p Process
	name, _ := deploymentOf(role)
	for _, pod := range s.Pods {
		if pod.Namespace == live.SystemNamespace && pod.Labels[roleLabel] == name {
			p.Pods++
			if pod.Ready {
				p.Ready++
			}
		}
	}
	return p
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func logsCommand(t *Target, streams output.Streams) *cobra.Command {
	var follow, previous bool
	var namespace, container string
	var tail int
	cmd := &cobra.Command{
		Use:   "logs [controller | webhook | cluster | POD | SERVICE]",
		Short: "Print the log of the controller, the webhook, Kubernetes itself, a pod or a pod of an InferenceService",
		Example: `  kserve local logs controller -f
  kserve local logs cluster
  kserve local logs sklearn-iris
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
			_, r, err := t.running()
			if err != nil {
				return err
			}
			if name, ok := deploymentOf(of); ok {
				of, namespace = "deployment/"+name, live.SystemNamespace
			} else if of, container, err = logOf(cmd.Context(), r, namespace, of, container); err != nil {
				return err
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

// logOf finds the pod and the container whose log is meant by the name of a pod or of an InferenceService.
func logOf(ctx context.Context, r *record.Record, namespace, name, container string) (podName, containerName string, err error) {
	client, _, err := live.Client(r.Kubeconfig)
	if err != nil {
		return "", "", err
	}
	pods, err := live.Pods(ctx, client, namespace)
	if err != nil {
		return "", "", exit.Errorf(exit.Unreachable, "%w", err)
	}
	pod, found := podFor(pods, name)
	if !found {
		return name, container, noPods(ctx, client, namespace, name)
	}
	return pod.Name, cmp.Or(container, pod.Initializer), nil
}

// noPods says why an InferenceService has no pod to read a log of. Of a name that is none of one kubectl says what it does not find: it knows
// more forms of names.
func noPods(ctx context.Context, client dynamic.Interface, namespace, name string) error {
	if strings.Contains(name, "/") {
		return nil
	}
	o, err := client.Resource(live.InferenceServices()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		for _, meant := range []string{"controller", "webhook", "cluster"} {
			if spelling.Edits(name[:min(len(name), 40)], meant) <= 2 {
				return exit.Errorf(exit.Failed, "namespace %s has no pod and no InferenceService %s; did you mean %q?", namespace, name, meant)
			}
		}
	}
	if err != nil {
		return nil //nolint:nilerr // kubectl asks the same server, and says what is wrong
	}
	d := live.Diagnose(o)
	why := cmp.Or(d.Why(), "nothing is wrong with it: it may have been scaled to zero")
	return exit.Errorf(exit.Failed, "InferenceService %s/%s has no pod, so there is no log: %s", namespace, name, why)
}

// podFor is the pod of that name, else one of the InferenceService of that name: one that is not ready, if there is one, because that is the
// one that people ask about.
func podFor(pods []live.Pod, name string) (live.Pod, bool) {
	var best live.Pod
	found := false
	for _, p := range pods {
		if p.Name == name {
			return p, true
		}
		if p.Labels[serviceLabel] == name && (!found || best.Ready && !p.Ready) {
			best, found = p, true
		}
	}
	return best, found
}

// errNoLog says that a cluster never ran.
var errNoLog = errors.New("no such cluster ever ran here")
