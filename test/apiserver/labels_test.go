// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

func TestALabelOfAServiceGoesAlongWithTheNextChangeAndReplacesNoPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/m"))
	w.ready("m")
	children := func() map[cluster.Ref]string {
		all := w.versions()
		maps.DeleteFunc(all, func(ref cluster.Ref, _ string) bool { return ref.GVK.Kind == "InferenceService" })
		return all
	}
	before := children()
	w.change(w.service("m"), `{"metadata": {"labels": {"team": "a"}}}`)
	w.settle()
	w.change(w.service("m"), `{"metadata": {"labels": {"team": "b"}}}`)
	w.settle()
	require.Equal(t, before, children())
	out, errs, _ := w.kserve("diff", "-n", w.ns)
	require.Contains(t, out, w.ns+"/m: no difference", errs)

	w.change(w.service("m"), `{"spec": {"predictor": {"model": {"storageUri": "s3://models/other"}}}}`)
	has(w, "m-predictor", &appsv1.Deployment{}, func(d *appsv1.Deployment) error {
		if d.Spec.Template.Labels["team"] != "b" || d.Labels["team"] != "b" {
			return errors.New("the label is not there")
		}
		return nil
	})
}
