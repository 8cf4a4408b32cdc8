// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
)

// FuzzService puts any service through everything, also one that admission would refuse: nothing may panic, and what is admitted and planned
// must be objects that an API server takes.
func FuzzService(f *testing.F) {
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		e, err := read(raw)
		if err != nil {
			return err
		}
		for _, d := range e.Input {
			if d["kind"] == "InferenceService" {
				f.Add([]byte(text(d)))
			}
		}
		return nil
	})
	require.NoError(f, err)
	f.Fuzz(through)
}

// through puts one service through everything.
func through(t *testing.T, raw []byte) {
	var svc servingv1beta1.InferenceService
	if json.Unmarshal(raw, &svc) != nil {
		return
	}
	w, err := newWorld(&example{})
	require.NoError(t, err)
	svc.Namespace = defaultNamespace
	svc.SetDefaults(w.settings.ServiceDefaults())
	snap, err := w.snapshot(svc.Namespace)
	require.NoError(t, err)
	faults, _ := svc.Validate(w.settings.ServiceRules(snap.StorageContainers, resolve.Hosts(&svc, w.settings)))
	snap.Service = &svc
	p, err := resolve.Service(snap, w.settings)
	if err != nil {
		var blocked *plan.Blocked
		var waiting *plan.Waiting
		require.True(t, errors.As(err, &blocked) || errors.As(err, &waiting), "%T", err)
		return
	}
	objects, err := render.Objects(p, w.settings)
	if len(faults) > 0 {
		return
	}
	if err != nil {
		require.ErrorContains(t, err, "secret", "what is planned can be rendered, unless a secret is missing")
		return
	}
	if wellFormed(objects) != nil {
		return // the user's own pod fields are the API server's to judge
	}
	for _, o := range objects {
		d, err := asDoc(o)
		require.NoError(t, err)
		require.NoError(t, w.podOf(&tenant{service: &svc, plan: p}, d))
	}
}
