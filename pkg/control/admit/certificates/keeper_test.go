// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kserve-go/kserve-go/pkg/control/admit/follow/followtest"
)

// room is a cluster with a clock of its own.
type room struct {
	t      *testing.T
	client client.WithWatch
	clock  atomic.Int64
}

func newRoom(t *testing.T, objects ...client.Object) *room {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	require.NoError(t, admissionregistrationv1.AddToScheme(scheme))
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	for _, kind := range []client.Object{&corev1.Secret{}, &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}} {
		builder = builder.WithIndex(kind, metav1.ObjectNameField, byName)
	}
	r := &room{t: t, client: followtest.Client(builder.Build())}
	r.clock.Store(start.UnixNano())
	return r
}

func (r *room) now() time.Time      { return time.Unix(0, r.clock.Load()).UTC() }
func (r *room) to(moment time.Time) { r.clock.Store(moment.UnixNano()) }

func options(r *room) Options {
	return Options{
		Namespace: "kserve", Secret: "cert", Service: "hook", Mutating: []string{"m"}, Validating: []string{"v"},
		Now: r.now, Every: 5 * time.Millisecond, Settle: 10 * time.Second,
	}
}

// keeper runs one replica until the test ends.
func (r *room) keeper(o Options) *Keeper {
	r.t.Helper()
	k, err := New(r.client, o, zap.NewNop())
	require.NoError(r.t, err)
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = k.Run(ctx) })
	r.t.Cleanup(func() { stop(); done.Wait() })
	return k
}

func (r *room) eventually(what string, check func() error) {
	r.t.Helper()
	var last error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if last = check(); last == nil {
			return
		}
	}
	require.NoError(r.t, last, what)
}

func (r *room) ready(k *Keeper) {
	r.t.Helper()
	r.eventually("ready", func() error {
		if m := k.Missing(); m != "" {
			return errors.New(m)
		}
		return nil
	})
}

func (r *room) secret() *corev1.Secret {
	r.t.Helper()
	var s corev1.Secret
	require.NoError(r.t, r.client.Get(context.Background(), client.ObjectKey{Namespace: "kserve", Name: "cert"}, &s))
	return &s
}

func (r *room) mutating() *admissionregistrationv1.MutatingWebhookConfiguration {
	r.t.Helper()
	var m admissionregistrationv1.MutatingWebhookConfiguration
	require.NoError(r.t, r.client.Get(context.Background(), client.ObjectKey{Name: "m"}, &m))
	return &m
}

// handshake does what an API server does with a replica: it trusts what the configuration says, now.
func (r *room) handshake(k *Keeper) error {
	trusted, err := parseCertificates(r.mutating().Webhooks[0].ClientConfig.CABundle)
	if err != nil {
		return err
	}
	served, err := k.Certificate(nil)
	if err != nil {
		return err
	}
	if !trusts(trusted, served, r.now()) {
		return fmt.Errorf("%s of %s is not trusted", served.Leaf.Issuer.CommonName, served.Leaf.NotBefore)
	}
	return served.Leaf.VerifyHostname("hook.kserve.svc")
}

func hook(service string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "kserve", Name: service, Path: new("/p")}}
}

func configurations() []client.Object {
	return []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Webhooks: []admissionregistrationv1.MutatingWebhook{
			{Name: "a.b.c", ClientConfig: hook("hook")}, {Name: "d.e.f", ClientConfig: hook("somebody-else")},
		}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "a.b.c", ClientConfig: hook("hook")}}},
	}
}

func TestACertificateIsMadeAndAnnounced(t *testing.T) {
	t.Parallel()
	r := newRoom(t, configurations()...)
	k := r.keeper(options(r))
	r.ready(k)
	require.NoError(t, r.handshake(k))
	require.Empty(t, r.mutating().Webhooks[1].ClientConfig.CABundle, "somebody else's webhook")
	served, authority, rotations := k.Expiry()
	require.Equal(t, start.Add(90*day), served)
	require.Equal(t, start.Add(365*day), authority)
	require.Zero(t, rotations)
}

func TestWithoutConfigurationsAReplicaIsNotReady(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	k := r.keeper(options(r))
	r.eventually("it says why", func() error {
		if m := k.Missing(); m != "none of the webhook configurations is there: m, v" {
			return errors.New(m)
		}
		return nil
	})
	require.NoError(t, r.client.Create(context.Background(), configurations()[0]))
	r.ready(k)
}

func TestRotationIsNeverSeen(t *testing.T) {
	t.Parallel()
	r := newRoom(t, configurations()...)
	k := r.keeper(options(r))
	r.ready(k)
	first, err := k.Certificate(nil)
	require.NoError(t, err)

	// At each moment a client that trusts what the configuration says accepts what is served.
	done, watcher := make(chan struct{}), sync.WaitGroup{}
	watcher.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := r.handshake(k); err != nil {
				t.Error(err)
				return
			}
		}
	})
	served := func(other *tls.Certificate) func() error {
		return func() error {
			now, err := k.Certificate(nil)
			if err == nil && now.Leaf.Equal(other.Leaf) {
				return errors.New("the old certificate is still served")
			}
			return err
		}
	}
	r.to(start.Add(61 * day))
	r.eventually("the certificate is renewed", served(first))
	second, err := k.Certificate(nil)
	require.NoError(t, err)
	require.Equal(t, first.Leaf.Issuer.CommonName, second.Leaf.Issuer.CommonName, "by the same authority")

	// The authority's turn comes. Each certificate on the way is renewed in time.
	for _, d := range []int{122, 183} {
		before, err := k.Certificate(nil)
		require.NoError(t, err)
		r.to(start.Add(time.Duration(d) * day))
		r.eventually("the certificate is renewed", served(before))
	}
	before, err := k.Certificate(nil)
	require.NoError(t, err)
	r.to(start.Add(244 * day))
	r.eventually("both authorities are announced", func() error {
		all, err := parseCertificates(r.mutating().Webhooks[0].ClientConfig.CABundle)
		if err == nil && len(all) != 2 {
			err = fmt.Errorf("%d authorities", len(all))
		}
		return err
	})
	still, err := k.Certificate(nil)
	require.NoError(t, err)
	require.True(t, still.Leaf.Equal(before.Leaf), "the old certificate is served until the authority has settled")
	r.eventually("the new authority's certificate is served", func() error { r.clock.Add(int64(time.Second)); return served(before)() })
	close(done)
	watcher.Wait()
	r.to(start.Add(246 * day))
	r.eventually("the old authority is not trusted any more", func() error {
		all, err := parseCertificates(r.mutating().Webhooks[0].ClientConfig.CABundle)
		if err == nil && len(all) != 1 {
			err = fmt.Errorf("%d authorities", len(all))
		}
		return err
	})
	require.NoError(t, r.handshake(k))
}

func TestASpoiltOrLostSecretIsMadeAnew(t *testing.T) {
	t.Parallel()
	cases := map[string]func(r *room, s *corev1.Secret) error{
		"deleted": func(r *room, s *corev1.Secret) error { return r.client.Delete(context.Background(), s) },
		"emptied": func(r *room, s *corev1.Secret) error { s.Data = nil; return r.client.Update(context.Background(), s) },
		"spoilt": func(r *room, s *corev1.Secret) error {
			s.Data[keyServing] = []byte("rubbish")
			return r.client.Update(context.Background(), s)
		},
		"mixed up": func(r *room, s *corev1.Secret) error {
			s.Data[keyAuthority] = made(r.t)[keyAuthority]
			return r.client.Update(context.Background(), s)
		},
	}
	for name, harm := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, configurations()...)
			k := r.keeper(options(r))
			r.ready(k)
			old, err := k.Certificate(nil)
			require.NoError(t, err)
			require.NoError(t, harm(r, r.secret()))
			r.eventually("the Secret is whole", func() error {
				var s corev1.Secret
				if err := r.client.Get(context.Background(), client.ObjectKey{Namespace: "kserve", Name: "cert"}, &s); err != nil {
					return err
				}
				m, err := parse(s.Data)
				if err == nil && m.serving.Leaf.Equal(old.Leaf) {
					return errors.New("as before")
				}
				return err
			})
			r.eventually("what is served is trusted", func() error { return r.handshake(k) })
			now, err := k.Certificate(nil)
			require.NoError(t, err)
			require.True(t, now.Leaf.Equal(old.Leaf), "other replicas have to learn the new authority first")
			r.eventually("the new authority is announced", func() error {
				all, err := parseCertificates(r.mutating().Webhooks[0].ClientConfig.CABundle)
				if err == nil && len(all) < 2 {
					err = errors.New("not yet")
				}
				return err
			})
			r.eventually("the new one is served", func() error {
				r.clock.Add(int64(time.Second))
				now, err := k.Certificate(nil)
				if err == nil && now.Leaf.Equal(old.Leaf) {
					err = errors.New("not yet")
				}
				return err
			})
			require.NoError(t, r.handshake(k))
		})
	}
}

func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	r := newRoom(t, configurations()...)
	var all []*Keeper
	for range 4 {
		all = append(all, r.keeper(options(r)))
	}
	for _, k := range all {
		r.ready(k)
	}
	agreed := func() error {
		first, err := all[0].Certificate(nil)
		if err != nil {
			return err
		}
		for _, k := range all {
			if err := r.handshake(k); err != nil {
				return err
			}
			if c, _ := k.Certificate(nil); !c.Leaf.Equal(first.Leaf) {
				return errors.New("two certificates are served")
			}
		}
		return nil
	}
	r.eventually("one certificate", agreed)
	require.NoError(t, r.client.Delete(context.Background(), r.secret()))
	r.eventually("a new Secret", func() error {
		var s corev1.Secret
		return r.client.Get(context.Background(), client.ObjectKey{Namespace: "kserve", Name: "cert"}, &s)
	})
	r.eventually("one certificate again", func() error { r.clock.Add(int64(time.Second)); return agreed() })
}

func TestAClockThatJumpsLeavesAValidCertificate(t *testing.T) {
	t.Parallel()
	r := newRoom(t, configurations()...)
	k := r.keeper(options(r))
	r.ready(k)
	for _, jump := range []time.Duration{3650 * day, -3650 * day, 90 * day, -time.Hour, 400 * day, 0} {
		r.to(start.Add(jump))
		r.eventually(jump.String(), func() error { return r.handshake(k) })
		r.ready(k)
	}
}

func TestAnAuthorityThatIsTakenAwayComesBack(t *testing.T) {
	t.Parallel()
	r := newRoom(t, configurations()...)
	k := r.keeper(options(r))
	r.ready(k)
	m := r.mutating()
	m.Webhooks[0].ClientConfig.CABundle = nil
	require.NoError(t, r.client.Update(context.Background(), m))
	r.eventually("it is back", func() error { return r.handshake(k) })
}

func TestOutsideTheClusterTheConfigurationsAreChanged(t *testing.T) {
	t.Parallel()
	r := newRoom(t, configurations()...)
	o := options(r)
	o.URLBase, o.Hosts = "https://127.0.0.1:9443/", []string{"127.0.0.1"}
	k := r.keeper(o)
	r.ready(k)
	c := r.mutating().Webhooks[0].ClientConfig
	require.Nil(t, c.Service)
	require.Equal(t, "https://127.0.0.1:9443/p", *c.URL)
	served, err := k.Certificate(nil)
	require.NoError(t, err)
	require.NoError(t, served.Leaf.VerifyHostname("127.0.0.1"))
	require.NotNil(t, r.mutating().Webhooks[1].ClientConfig.Service, "somebody else's stays")
}

func TestAHostOfAConfigurationIsInTheCertificate(t *testing.T) {
	t.Parallel()
	objects := configurations()
	objects[0].(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: new("https://10.1.2.3:4/p")} //nolint:forcetypeassert // see configurations
	r := newRoom(t, objects...)
	k := r.keeper(options(r))
	r.ready(k)
	served, err := k.Certificate(nil)
	require.NoError(t, err)
	require.NoError(t, served.Leaf.VerifyHostname("10.1.2.3"))
}

func foreign(t *testing.T, annotations map[string]string) *corev1.Secret {
	t.Helper()
	data, err := issue(nil, newAuthority, terms{start, []string{"hook.kserve.svc"}, DefaultLifetimes()}, nil)
	require.NoError(t, err)
	delete(data, keyAuthority)
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kserve", Name: "cert", Annotations: annotations}, Type: corev1.SecretTypeTLS, Data: data}
}

var certManager = map[string]string{"cert-manager.io/certificate-name": "serving-cert"}

func TestCertManagersCertificateIsServedAsItIs(t *testing.T) {
	t.Parallel()
	r := newRoom(t, append(configurations(), foreign(t, certManager))...)
	version := r.secret().ResourceVersion
	k := r.keeper(options(r))
	r.ready(k)
	require.NoError(t, r.handshake(k))
	r.to(start.Add(89 * day))
	require.Equal(t, version, r.secret().ResourceVersion)
	r.to(start.Add(91 * day))
	r.eventually("an expired one is told", func() error {
		if m := k.Missing(); m == "" {
			return errors.New("ready")
		}
		return nil
	})
	require.Contains(t, k.Missing(), "cert-manager keeps the Secret kserve/cert")
	renewed := foreign(t, certManager)
	s := r.secret()
	require.Equal(t, version, s.ResourceVersion, "not ours to write")
	r.to(start)
	s.Data = renewed.Data
	require.NoError(t, r.client.Update(context.Background(), s))
	r.eventually("the renewed one is served", func() error {
		served, err := k.Certificate(nil)
		want, _ := parse(renewed.Data)
		if err == nil && !served.Leaf.Equal(want.serving.Leaf) {
			err = errors.New("not yet")
		}
		return err
	})
	r.eventually("and trusted", func() error { return r.handshake(k) })
}

func TestCertManagerInjectsWhereItIsAsked(t *testing.T) {
	t.Parallel()
	objects := configurations()
	for _, o := range objects {
		o.SetAnnotations(map[string]string{"cert-manager.io/inject-ca-from": "kserve/serving-cert"})
	}
	r := newRoom(t, append(objects, foreign(t, certManager))...)
	k := r.keeper(options(r))
	r.eventually("it waits for cert-manager", func() error {
		if m := k.Missing(); m != "ValidatingWebhookConfiguration v does not trust the served certificate yet" {
			return errors.New(m)
		}
		return nil
	})
	require.Empty(t, r.mutating().Webhooks[0].ClientConfig.CABundle)
}

func TestAnEmptySecretOfCertManagerIsWaitedFor(t *testing.T) {
	t.Parallel()
	empty := foreign(t, certManager)
	empty.Data = nil
	r := newRoom(t, append(configurations(), empty)...)
	k := r.keeper(options(r))
	r.eventually("it says for whom", func() error {
		if m := k.Missing(); len(m) < 20 || m[:20] != "wait for cert-manage" {
			return errors.New(m)
		}
		return nil
	})
	require.Empty(t, r.secret().Data)
}

func TestACertificateOfSomebodyElseIsUsedWhileItIsValid(t *testing.T) {
	t.Parallel()
	r := newRoom(t, append(configurations(), foreign(t, nil))...)
	version := r.secret().ResourceVersion
	k := r.keeper(options(r))
	r.ready(k)
	require.Equal(t, version, r.secret().ResourceVersion)
	r.to(start.Add(91 * day))
	r.eventually("then the webhook makes its own", func() error { return r.handshake(k) })
	require.NotEmpty(t, r.secret().Data[keyAuthority])
}
