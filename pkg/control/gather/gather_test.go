// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func shipped(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	require.NoError(t, yaml.Unmarshal(deploy.Config(), cm))
	return cm
}

func TestTheLastGoodSettingsStay(t *testing.T) {
	s := NewSettings("ops", "corp.local")
	good, fault := s.Current()
	require.Nil(t, good)
	require.ErrorContains(t, fault, "ops/inferenceservice-config")

	_, err := s.Take(&corev1.ConfigMap{Data: map[string]string{"deploy": "{"}})
	require.Error(t, err)
	good, _ = s.Current()
	require.Nil(t, good, "bad settings are none")

	changed, err := s.Take(shipped(t))
	require.NoError(t, err)
	require.True(t, changed)
	first, fault := s.Current()
	require.NoError(t, fault)
	require.Equal(t, "ops", first.OperatorNamespace)
	require.Equal(t, "corp.local", first.ClusterDomain)

	changed, err = s.Take(shipped(t))
	require.NoError(t, err)
	require.False(t, changed, "the same text is no news")

	bad := shipped(t)
	bad.Data = maps.Clone(bad.Data)
	bad.Data["ingress"] = "nonsense"
	for _, cm := range []*corev1.ConfigMap{bad, nil} {
		changed, err = s.Take(cm)
		require.Error(t, err)
		require.False(t, changed)
		still, fault := s.Current()
		require.Same(t, first, still)
		require.Equal(t, err, fault)
	}
	changed, err = s.Take(shipped(t))
	require.NoError(t, err)
	require.False(t, changed)
	_, fault = s.Current()
	require.NoError(t, fault, "the fault is over")
}

func TestSurroundingsHoldWhatIsNamedAndThere(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }
	c := fake.NewClientBuilder().WithObjects(
		&corev1.ServiceAccount{ObjectMeta: meta("sa"), Secrets: []corev1.ObjectReference{{Name: "listed"}, {Name: "missing"}}},
		&corev1.Secret{ObjectMeta: meta("listed")}, &corev1.Secret{ObjectMeta: meta("named")}, &corev1.Secret{ObjectMeta: meta("unrelated")},
	).Build()
	around, err := Surroundings(t.Context(), c, Names{Namespace: "ns", ServiceAccounts: []string{"sa", "none"}, Secrets: []string{"named", "listed", ""}})
	require.NoError(t, err)
	require.Len(t, around.ServiceAccounts, 1)
	require.Len(t, around.Secrets, 2)
	require.Contains(t, around.Secrets, "listed")
	require.Contains(t, around.Secrets, "named")
}

func TestKindsComeAndGo(t *testing.T) {
	var k Kinds
	require.True(t, k.Has(schema.GroupKind{Group: "apps", Kind: "Deployment"}), "what is not optional is there")
	require.False(t, k.Has(plan.HTTPRoute.GroupKind()))
	require.True(t, k.Set(plan.HTTPRoute, true))
	require.False(t, k.Set(plan.HTTPRoute, true), "no news")
	require.True(t, k.Has(plan.HTTPRoute.GroupKind()))
	require.Equal(t, []plan.Optional{plan.HTTPRoute}, k.Present())
	require.True(t, k.Set(plan.HTTPRoute, false))
	require.Empty(t, k.Present())
}

// counted counts what is read.
type counted struct {
	client.Reader
	secrets int
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*corev1.Secret); ok {
		c.secrets++
	}
	return c.Reader.Get(ctx, key, o, opts...)
}

func TestTheSecretsThatAreReadAreBounded(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
	add := func(n int) *counted {
		for range n {
			account.Secrets = append(account.Secrets, corev1.ObjectReference{Name: fmt.Sprint("s", len(account.Secrets))})
		}
		return &counted{Reader: fake.NewClientBuilder().WithObjects(account).Build()}
	}
	most := add(MostSecrets)
	_, err := Surroundings(t.Context(), most, Names{Namespace: "ns", ServiceAccounts: []string{"a"}, Secrets: []string{"s1", ""}})
	require.NoError(t, err)
	require.Equal(t, MostSecrets, most.secrets)

	tooMany := add(1)
	_, err = Surroundings(t.Context(), tooMany, Names{Namespace: "ns", ServiceAccounts: []string{"a"}})
	var blocked *plan.Blocked
	require.ErrorAs(t, err, &blocked)
	require.Contains(t, blocked.Message, "service account a")
	require.Zero(t, tooMany.secrets)
}

func TestASectionInBinaryDataIsNotMissing(t *testing.T) {
	s := NewSettings("ops", "")
	_, err := s.Take(shipped(t))
	require.NoError(t, err)
	first, _ := s.Current()

	cm := shipped(t)
	text := cm.Data["ingress"]
	delete(cm.Data, "ingress")
	cm.BinaryData = map[string][]byte{"ingress": []byte("\xff\xfe"), "someone's": {0xff}}
	_, err = s.Take(cm)
	require.ErrorContains(t, err, "ingress")
	still, _ := s.Current()
	require.Same(t, first, still)

	cm.BinaryData["ingress"] = []byte(text)
	_, err = s.Take(cm)
	require.NoError(t, err)
	now, _ := s.Current()
	require.Equal(t, first.Ingress, now.Ingress)
}

// blocking lets a test hold up what is read.
type blocking struct {
	client.Reader
	entered, leave chan struct{}
	err            error
	reads          atomic.Int32
}

func (b *blocking) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	b.reads.Add(1)
	if b.entered != nil {
		b.entered <- struct{}{}
		<-b.leave
	}
	if b.err != nil {
		return b.err
	}
	return b.Reader.Get(ctx, key, o, opts...)
}

func TestKnativesSettingsAreReadByOneWhileTheOthersGoOn(t *testing.T) {
	domain := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kn", Name: "config-domain"}, Data: map[string]string{"b.test": "", "a.test": "selector: x", "_example": ""}}
	scaler := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kn", Name: "config-autoscaler"}, Data: map[string]string{"allow-zero-initial-scale": "true"}}
	live := &blocking{Reader: fake.NewClientBuilder().WithObjects(domain, scaler).Build(), err: errors.New("down")}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g := &Gatherer{Live: live, KnativeNamespace: "kn", Now: func() time.Time { return now }}
	read := func() (*plan.Snapshot, error) {
		snap := &plan.Snapshot{}
		err := g.readKnative(t.Context(), snap)
		return snap, err
	}
	_, err := read()
	require.ErrorContains(t, err, "down", "nothing is known yet")
	live.err = nil
	snap, err := read()
	require.NoError(t, err)
	require.Equal(t, []string{"b.test", "a.test"}, snap.KnativeDomains)
	require.True(t, snap.KnativeZeroInitialScale)
	before := live.reads.Load()
	_, err = read()
	require.NoError(t, err)
	require.Equal(t, before, live.reads.Load(), "they are remembered")

	// It is time to ask again, and the API server is slow: only one waits for it.
	now = now.Add(knativeMemory + time.Second)
	live.entered, live.leave = make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() { _, err := read(); done <- err }()
	<-live.entered
	snap, err = read()
	require.NoError(t, err)
	require.Equal(t, []string{"b.test", "a.test"}, snap.KnativeDomains)
	live.leave <- struct{}{}
	<-live.entered
	live.leave <- struct{}{}
	require.NoError(t, <-done)

	// What cannot be read is asked for again soon, and what was true will do.
	live.entered, live.err = nil, errors.New("down")
	now = now.Add(knativeMemory + time.Second)
	before = live.reads.Load()
	for range 3 {
		snap, err = read()
		require.NoError(t, err)
		require.Equal(t, []string{"b.test", "a.test"}, snap.KnativeDomains)
	}
	require.Equal(t, before+1, live.reads.Load())
}
