// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func TestTheWordsOfAnErrorAreTheSameAtTheNextAttempt(t *testing.T) {
	asked := func(err error) error {
		return &url.Error{Op: "Patch", URL: "https://10.0.0.1:6443/apis/apps/v1/namespaces/n/deployments/d?force=true", Err: err}
	}
	dial := func(number syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 40123}, Err: os.NewSyscallError("connect", number)}
	}
	cases := map[string]struct {
		err  error
		says string
	}{
		"nothing":                       {nil, ""},
		"what the server says":          {apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s", errors.New("no role")), `secrets "s" is forbidden: no role`},
		"a server that does not run":    {asked(dial(syscall.ECONNREFUSED)), "the API server cannot be reached: connection refused"},
		"a line that is reset":          {asked(dial(syscall.ECONNRESET)), "the API server cannot be reached: connection reset by peer"},
		"a server that does not answer": {asked(context.DeadlineExceeded), "the API server has not answered in time"},
		"time that is over":             {fmt.Errorf("x: %w", context.DeadlineExceeded), "the API server has not answered in time"},
		"a stream that breaks":          {asked(errors.New("stream error: stream ID 7; INTERNAL_ERROR; received from peer")), "the line to the API server broke before its answer was whole"},
		"half an answer":                {fmt.Errorf("stream error when reading response body, may be caused by closed connection. Please retry. Original error: stream ID 9"), "the line to the API server broke before its answer was whole"},
		"an answer that ends":           {io.ErrUnexpectedEOF, "the line to the API server broke before its answer was whole"},
		"a fault of our own":            {errors.New("no kind is registered"), "no kind is registered"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) { require.Equal(t, c.says, Words(c.err)) })
	}
	err := error(&Error{Doing: "read secret s", Err: asked(dial(syscall.ECONNREFUSED))})
	require.EqualError(t, err, "read secret s: the API server cannot be reached: connection refused")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestKnativesLastSettingsStandInWhileTheyCannotBeRead(t *testing.T) {
	down := false
	live := fake.NewClientBuilder().WithObjects(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "knative-serving", Name: "config-autoscaler"}, Data: map[string]string{"allow-zero-initial-scale": "true"},
	}).WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if down {
			return apierrors.NewInternalError(errors.New("down"))
		}
		return c.Get(ctx, key, o, opts...)
	}}).Build()
	kinds := &Kinds{}
	kinds.Set(plan.KnativeService, true)
	ask := func(g *Gatherer) (bool, error) {
		snap, err := g.Service(t.Context(), &servingv1beta1.InferenceService{}, nil, nil)
		return err == nil && snap.KnativeZeroInitialScale, err
	}
	g := &Gatherer{Cache: nothing{}, Live: live, Kinds: kinds, KnativeNamespace: "knative-serving"}
	down = true
	_, err := ask(g)
	require.ErrorContains(t, err, "of Knative: Internal error occurred: down")
	down = false
	zero, err := ask(g)
	require.NoError(t, err)
	require.True(t, zero)
	down, g.knative.until = true, g.knative.until.Add(-2*knativeMemory)
	zero, err = ask(g)
	require.NoError(t, err)
	require.True(t, zero)
}

// nothing is a cache that is empty.
type nothing struct{ client.Reader }

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
