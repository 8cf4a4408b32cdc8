// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/cli/online"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// anyCluster is --cluster without a name: the cluster that kubectl would ask. It can be no name of a local cluster.
const anyCluster = "."

// source is where settings, runtimes and credentials are taken from: the files and what is shipped, or the files and a cluster.
type source struct {
	*offline.World
	// cluster is nil where none is asked.
	cluster *online.Reading
	server  string
}

// load reads the files, and from a cluster what they need of it, where one is asked. Every fault in the files is told.
func (o *options) load(ctx context.Context, streams output.Streams) (*source, []manifest.Fault, error) {
	if !o.asksCluster() {
		all, faults := manifest.LoadAll(streams.In, o.files)
		if o.where.Namespace != "" {
			online.Place(all, faults, o.where.Namespace)
		}
		world, faults := offline.Whole(all, faults, offline.Build)
		return &source{World: world}, faults, nil
	}
	where := o.where
	if where.Name == anyCluster {
		where.Name = ""
	}
	config, namespace, err := where.Config()
	if err != nil {
		return nil, nil, err
	}
	config.Timeout = live.AnswerTimeout
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, exit.Errorf(exit.Usage, "make a client: %w", err)
	}
	all, faults := manifest.LoadAll(streams.In, o.files)
	online.Place(all, faults, namespace)
	s := &source{cluster: online.New(client, o.system, all), server: config.Host}
	s.cluster.Lenient = true
	if err := s.gather(ctx, all); err != nil {
		return nil, nil, online.Error(fmt.Errorf("ask the cluster at %s: %w", config.Host, err))
	}
	broken := slices.DeleteFunc(slices.Clone(all), func(o *manifest.Object) bool { return !o.Broken })
	s.World, faults = offline.Whole(append(s.cluster.Objects, broken...), faults, offline.Observed)
	s.World.NoVirtualServices, err = s.lacksVirtualServices(ctx)
	if err != nil {
		return nil, nil, online.Error(err)
	}
	if err := s.settingsFault(faults); err != nil {
		return nil, nil, err
	}
	return s, slices.DeleteFunc(faults, s.others), nil
}

// gather reads what the files need.
func (s *source) gather(ctx context.Context, all []*manifest.Object) error {
	s.cluster.Objects = slices.DeleteFunc(s.cluster.Objects, func(o *manifest.Object) bool { return o.Broken })
	for _, o := range all {
		if svc, ok := o.Value.(*servingv1beta1.InferenceService); ok && !o.Broken {
			if _, err := s.cluster.Identify(ctx, o, svc); err != nil {
				return err
			}
		}
	}
	return s.cluster.Surroundings(ctx, online.OfAll)
}

// others says that a fault is of an object of the cluster: nobody asked about that.
func (s *source) others(f manifest.Fault) bool { return f.Source == online.Source }

// settingsFault is an error where the operator's settings are in the cluster and cannot be used.
func (s *source) settingsFault(faults []manifest.Fault) error {
	for _, f := range faults {
		if s.others(f) && strings.HasSuffix(f.Object, "configmap/"+settings.ConfigMapName) {
			return exit.Errorf(exit.Failed, "the operator's settings have a fault: %s", f)
		}
	}
	return nil
}

// lacksVirtualServices asks for the kind where a service may need it.
func (s *source) lacksVirtualServices(ctx context.Context) (bool, error) {
	for _, svc := range s.Services {
		mode := s.Settings.Deploy.DefaultMode
		for _, text := range []string{svc.Defaulted.Annotations[serving.AnnotationDeploymentMode], string(svc.Defaulted.Status.DeploymentMode)} {
			if m, ok := serving.ParseDeploymentMode(text); ok {
				mode = m
			}
		}
		if mode == serving.Knative {
			has, err := s.cluster.Has(ctx, plan.VirtualService.GroupVersionKind, svc.Object.Namespace)
			return !has, err
		}
	}
	return false, nil
}

// items are the services and graphs of the files; those of the cluster, which graphs name, are not asked about.
func (s *source) items() []offline.Item {
	return slices.DeleteFunc(s.Items(), func(i offline.Item) bool { return i.Object.Source == online.Source })
}

// ofSettings says where the settings are from.
func (s *source) ofSettings() string {
	switch from := s.SettingsFrom; {
	case from == nil:
		return "shipped"
	case from.Source == online.Source:
		return fmt.Sprintf("ConfigMap %s/%s of %s", from.Namespace, from.Name, s.server)
	default:
		return fmt.Sprintf("ConfigMap %s/%s, %s:%d", from.Namespace, from.Name, from.Source, from.Line)
	}
}

// tell says on stderr what the answer rests on: what was taken from where, and what had to be assumed.
func (s *source) tell(streams output.Streams) {
	paint := output.NewPaint(streams.Err)
	say := func(format string, args ...any) {
		fmt.Fprintln(streams.Err, paint.Dim(output.Line(fmt.Sprintf(format, args...))))
	}
	if s.cluster == nil {
		what := "the shipped settings and runtimes"
		if s.SettingsFrom != nil {
			say("settings: %s", s.ofSettings())
			what = "the shipped runtimes"
		}
		say("assumed: %s, beside those of the files (-f takes the ConfigMap %s, and runtimes); --cluster asks a cluster for its own", what, settings.ConfigMapName)
		return
	}
	if s.SettingsFrom != nil {
		say("settings: %s", s.ofSettings())
	}
	for _, a := range s.cluster.Absent {
		if a.Kind == "ConfigMap" {
			say("assumed: the shipped settings, for there is no ConfigMap %s/%s in the cluster", a.Namespace, a.Name)
		}
	}
	for _, u := range s.cluster.Unread {
		say("not read, for lack of a right: %v; assumed: %s", u.Why, assumption(u.Resource))
	}
}

// tellMode says on stderr how to get the answer for Standard mode, which is that of this project's controller, where the other one was taken for
// lack of a wish.
func (s *source) tellMode(streams output.Streams) {
	if s.cluster != nil || s.SettingsFrom != nil || s.Settings.Deploy.DefaultMode != serving.Knative {
		return
	}
	for _, svc := range s.Services {
		o, ok := svc.Object.Value.(*servingv1beta1.InferenceService)
		if ok && o.Annotations[serving.AnnotationDeploymentMode] == "" {
			fmt.Fprintln(streams.Err, output.NewPaint(streams.Err).Dim("the mode is Knative, as the shipped settings have it; local clusters and the controller of this version make the objects of Standard mode: "+
				"--cluster answers for a cluster, -f deploy/overlays/local/settings.yaml for a local one, the annotation "+serving.AnnotationDeploymentMode+": Standard for any"))
			return
		}
	}
}

// assumption is what stands in for what may not be read.
func assumption(resource string) string {
	switch resource {
	case "configmaps":
		return "the shipped settings"
	case "clusterstoragecontainers":
		return "that there are none"
	case "inferenceservices":
		return "that the service does not exist yet"
	case "secrets":
		return "that those that are named exist"
	case "serviceaccounts":
		return "accounts without secrets, so that the credentials may be others than told"
	}
	return "that there are no others"
}

// cannotTell is why it cannot be told whether a runtime serves a model: those that may not be read may.
func (s *source) cannotTell(err error) error {
	var b *plan.Blocked
	if s.cluster == nil || !errors.As(err, &b) {
		return nil
	}
	reason := servingv1beta1.FailureReason(b.Reason)
	if reason != servingv1beta1.NoSupportingRuntime && reason != servingv1beta1.RuntimeNotRecognized {
		return nil
	}
	if why, ok := s.unreadRuntimes(); ok {
		return fmt.Errorf("which runtime serves it cannot be told, for lack of a right: %w", why)
	}
	return nil
}

// unreadRuntimes is why some runtimes may not be read.
func (s *source) unreadRuntimes() (error, bool) {
	if s.cluster == nil {
		return nil, false
	}
	u, ok := s.cluster.CannotRead("clusterservingruntimes", "servingruntimes")
	return u.Why, ok
}

// ofRuntimes says which runtimes were looked at.
func (s *source) ofRuntimes() string {
	if s.cluster == nil {
		return "of the files and the shipped runtimes"
	}
	return "of the files and the cluster's runtimes"
}

// notes are about what a service of the files needs and the cluster does not have, and about graphs, which no cluster of this version has.
func (s *source) notes(o *manifest.Object) []string {
	var all []string
	if _, ok := o.Value.(*servingv1alpha1.InferenceGraph); ok {
		all = append(all, live.GraphsNotServed)
	}
	if s.cluster == nil {
		return all
	}
	for _, a := range s.cluster.Absent {
		if a.Of == o {
			all = append(all, fmt.Sprintf("%s %s/%s, which %s names, does not exist", a.Kind, a.Namespace, a.Name, a.By))
		}
	}
	return all
}

// lacks names the kinds of objects that the cluster does not have, each with what brings it.
func (s *source) lacks(ctx context.Context, objects []plan.Object) ([]string, error) {
	var all []string
	seen := map[schema.GroupKind]bool{}
	for _, obj := range objects {
		gk := obj.GetObjectKind().GroupVersionKind().GroupKind()
		optional, ok := plan.OptionalKind(gk)
		if s.cluster == nil || !ok || seen[gk] {
			continue
		}
		seen[gk] = true
		has, err := s.cluster.Has(ctx, optional.GroupVersionKind, obj.GetNamespace())
		if err != nil {
			return nil, online.Error(err)
		}
		if !has {
			all = append(all, fmt.Sprintf("the cluster does not have %s: %s", optional.CRD, optional.Install))
		}
	}
	return all, nil
}
