// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificates makes, serves and rotates the webhook's certificate, and tells the API server whom to trust. Replicas share
// one Secret and need no leader: each write is made on the version that was read, and who loses reads again. A certificate that
// cert-manager or somebody else keeps in that Secret is served as it is.
//
// Called by: control/admit.
// Next: control/admit/follow, which watches the Secret and the webhook configurations.
package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/admit/follow"
)

// Options say where the certificate is kept and what it is for.
type Options struct {
	// Namespace and Secret name the Secret.
	Namespace, Secret string
	// Service is the Service in that namespace under which the API server reaches the webhook.
	Service string
	// Hosts are further names and addresses that the certificate is for.
	Hosts []string
	// URLBase is where the API server reaches a webhook outside the cluster, such as https://127.0.0.1:9443; empty: through Service.
	URLBase string
	// Mutating and Validating name the configuration objects that are told whom to trust.
	Mutating, Validating []string
	Lifetimes            Lifetimes
	// Settle is how long a new authority has to be in every configuration before a certificate that it signed is served.
	Settle time.Duration
	// Every is the pause between two looks at the clock.
	Every time.Duration
	// Now reads the clock; nil means time.Now.
	Now func() time.Time
}

// errRaced says that another replica, or a person, was faster. What they wrote is read with the next look.
var errRaced = errors.New("another writer was faster")

// annotationOwn marks a Secret whose content the webhook made itself.
const annotationOwn = serving.GroupName + "/webhook-certificate"

// Keeper keeps one replica's certificate.
type Keeper struct {
	options Options
	names   []string
	client  client.WithWatch
	log     *zap.Logger

	secret     *follow.Follower[*corev1.Secret]
	mutating   []*follow.Follower[*admissionregistrationv1.MutatingWebhookConfiguration]
	validating []*follow.Follower[*admissionregistrationv1.ValidatingWebhookConfiguration]
	wake       chan struct{}

	mu        sync.Mutex
	current   *tls.Certificate
	authority time.Time // end of the signing authority, zero when unknown
	missing   string
	rotations uint64

	settling string              // serial of the authority that every configuration has; of Run only
	since    time.Time           // since when; of Run only
	trusted  []*x509.Certificate // authorities of the last good material; of Run only
	said     string              // last complaint that was logged; of Run only
}

// New prepares a keeper; it does no I/O.
func New(c client.WithWatch, o Options, log *zap.Logger) (*Keeper, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Lifetimes == (Lifetimes{}) {
		o.Lifetimes = DefaultLifetimes()
	}
	if o.Every <= 0 {
		o.Every = time.Minute
	}
	k := &Keeper{
		options: o, names: append(serviceNames(o.Service, o.Namespace), o.Hosts...), client: c, log: log,
		wake: make(chan struct{}, 1), missing: "the certificate's Secret was not read yet",
	}
	var err error
	k.secret, err = follow.New[*corev1.Secret](c, follow.Target{
		List: &corev1.SecretList{}, Object: &corev1.Secret{}, Namespace: o.Namespace, Name: o.Secret,
	}, log, k.poke)
	if err != nil {
		return nil, err
	}
	for _, name := range o.Mutating {
		f, err := follow.New[*admissionregistrationv1.MutatingWebhookConfiguration](c, follow.Target{
			List: &admissionregistrationv1.MutatingWebhookConfigurationList{}, Object: &admissionregistrationv1.MutatingWebhookConfiguration{}, Name: name,
		}, log, k.poke)
		if err != nil {
			return nil, err
		}
		k.mutating = append(k.mutating, f)
	}
	for _, name := range o.Validating {
		f, err := follow.New[*admissionregistrationv1.ValidatingWebhookConfiguration](c, follow.Target{
			List: &admissionregistrationv1.ValidatingWebhookConfigurationList{}, Object: &admissionregistrationv1.ValidatingWebhookConfiguration{}, Name: name,
		}, log, k.poke)
		if err != nil {
			return nil, err
		}
		k.validating = append(k.validating, f)
	}
	return k, nil
}

// serviceNames are the names under which clients in a cluster may know a Service.
func serviceNames(service, namespace string) []string {
	full := service + "." + namespace
	return []string{full + ".svc", full + ".svc.cluster.local", full, service}
}

// Certificate is what a TLS server presents.
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == nil {
		return nil, errors.New("there is no certificate yet")
	}
	return k.current, nil
}

// Missing says why the API server cannot call the webhook yet; empty when it can.
func (k *Keeper) Missing() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.missing
}

// Expiry returns when the served certificate and the authority that signs end; zero when there is none. rotations counts the
// certificates that were served before.
func (k *Keeper) Expiry() (served, authority time.Time, rotations uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current != nil {
		served = k.current.Leaf.NotAfter
	}
	return served, k.authority, k.rotations
}

func (k *Keeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default: // a look is due already
	}
}

// Run keeps the certificate until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { k.secret.Run(ctx) })
	for _, f := range k.mutating {
		running.Go(func() { f.Run(ctx) })
	}
	for _, f := range k.validating {
		running.Go(func() { f.Run(ctx) })
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.wake:
		case <-timer.C:
		}
		pause := k.options.Every
		if k.synced() {
			again, err := k.step(ctx)
			if ctx.Err() != nil {
				return nil
			}
			switch {
			case errors.Is(err, errRaced):
				k.log.Debug("looking again", zap.Error(err))
				again = 200 * time.Millisecond
			case err != nil:
				k.complain(err)
				again = time.Second
			}
			if again > 0 {
				pause = min(pause, again)
			}
		} else {
			pause = min(pause, 50*time.Millisecond)
		}
		timer.Reset(pause)
	}
}

func (k *Keeper) synced() bool {
	done := k.secret.Synced()
	for _, f := range k.mutating {
		done = done && f.Synced()
	}
	for _, f := range k.validating {
		done = done && f.Synced()
	}
	if !done {
		k.lack("the API server was not read yet: the certificate's Secret and the webhook configurations")
	}
	return done
}

// complain logs a failure once for as long as it stays the same.
func (k *Keeper) complain(err error) {
	k.mu.Lock()
	served := k.current != nil
	k.mu.Unlock()
	if !served {
		k.lack(err.Error())
	}
	if text := err.Error(); text != k.said {
		k.said = text
		k.log.Error("cannot keep the certificate; trying again", zap.Error(err), zap.Bool("stillServing", served))
	}
}

func (k *Keeper) lack(why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.missing != "" {
		k.missing = why
	}
}

// step does what is due now: renews the Secret, tells the configurations, changes what is served. again is when to look next.
func (k *Keeper) step(ctx context.Context) (again time.Duration, err error) {
	now := k.options.Now()
	m, external, err := k.material(ctx, now)
	if err != nil {
		return 0, err
	}
	k.trusted = m.authorities
	if len(m.authorities) > 0 {
		if err := k.inject(ctx, m); err != nil {
			return 0, err
		}
	}
	told, why := k.told(m, now)
	again = k.choose(m, told, now)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.authority = time.Time{}
	if len(m.authorities) > 0 {
		k.authority = m.authorities[0].NotAfter
	}
	k.missing = why
	if problem := m.problem(now, k.names[:1]); problem != "" && external != "" {
		k.missing = fmt.Sprintf("%s; %s keeps the Secret %s/%s and has to renew it", problem, external, k.options.Namespace, k.options.Secret)
	}
	if k.missing == "" {
		k.said = ""
	}
	return again, nil
}

// choose changes what is served to what the Secret holds: at once, unless the API servers have yet to learn its authority.
func (k *Keeper) choose(m *material, told bool, now time.Time) (again time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current != nil && k.current.Leaf.Equal(m.serving.Leaf) {
		return 0
	}
	old := k.current
	usable := old != nil && now.After(old.Leaf.NotBefore) && now.Before(old.Leaf.NotAfter) && trusts(m.authorities, old, now)
	if usable && !trusts([]*x509.Certificate{issuerOf(old, m.authorities)}, m.serving, now) {
		if !told {
			return k.options.Settle
		}
		if id := m.authorities[0].SerialNumber.String(); id != k.settling {
			k.settling, k.since = id, now
		}
		if wait := k.options.Settle - now.Sub(k.since); wait > 0 && wait <= k.options.Settle {
			return wait
		}
	}
	k.current = m.serving
	if old != nil {
		k.rotations++
	}
	k.log.Info("serving a certificate", zap.Time("until", m.serving.Leaf.NotAfter), zap.String("signedBy", m.serving.Leaf.Issuer.CommonName), zap.Bool("first", old == nil))
	return 0
}

// issuerOf is the authority that signed a certificate, or the first.
func issuerOf(c *tls.Certificate, authorities []*x509.Certificate) *x509.Certificate {
	for _, a := range authorities {
		if c.Leaf.CheckSignatureFrom(a) == nil {
			return a
		}
	}
	return authorities[0]
}

// material reads the Secret, and renews it where its content is the webhook's own. external says who keeps it otherwise.
func (k *Keeper) material(ctx context.Context, now time.Time) (m *material, external string, err error) {
	secret, exists := k.secret.One()
	if !exists {
		return k.write(ctx, nil, nil, newAuthority, "it is missing")
	}
	m, err = parse(secret.Data)
	if keeper := keeperOf(secret); keeper != "" {
		if err != nil {
			return nil, keeper, fmt.Errorf("wait for %s to fill the Secret %s/%s: %w", keeper, secret.Namespace, secret.Name, err)
		}
		return m, keeper, nil
	}
	if err != nil {
		return k.write(ctx, secret, nil, newAuthority, err.Error())
	}
	if own := secret.Annotations[annotationOwn] != "" || len(secret.Data[keyAuthority]) > 0; !own {
		problem := m.problem(now, k.names[:1])
		switch {
		case len(m.authorities) == 0:
			problem = keyAuthorities + " is empty, and an API server must be told whom to trust"
		case problem == "":
			return m, "whoever made it", nil
		}
		return k.write(ctx, secret, nil, newAuthority, "it is not usable: "+problem)
	}
	due := m.needs(now, k.allNames(), k.options.Lifetimes)
	switch due {
	case nothing:
		return m, "", nil
	case fewerAuthorities:
		return k.write(ctx, secret, m, due, "an old authority is not needed any more")
	case newServing, newAuthority:
	}
	return k.write(ctx, secret, m, due, "its content is due for renewal")
}

// keeperOf says which other program keeps a Secret; empty for none that is known.
func keeperOf(secret *corev1.Secret) string {
	for key := range secret.Annotations {
		if strings.HasPrefix(key, "cert-manager.io/") {
			return "cert-manager"
		}
	}
	for _, owner := range secret.OwnerReferences {
		if owner.Kind == "Certificate" && strings.HasPrefix(owner.APIVersion, "cert-manager.io/") {
			return "cert-manager"
		}
	}
	return ""
}

// The right to make Secrets cannot be given by name; it holds in the webhook's own namespace only.
// +kubebuilder:rbac:groups="",namespace=kserve,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=kserve,resources=secrets,resourceNames=kserve-webhook-server-cert,verbs=get;list;watch;update

// write makes what is due and stores it. Who was faster than this replica wins: its content is read with the next look.
func (k *Keeper) write(ctx context.Context, old *corev1.Secret, m *material, due need, why string) (*material, string, error) {
	data, err := issue(m, due, terms{k.options.Now(), k.allNames(), k.options.Lifetimes}, k.trusted)
	if err != nil {
		return nil, "", err
	}
	made, err := parse(data)
	if err != nil {
		return nil, "", fmt.Errorf("read what was made: %w", err)
	}
	where := k.options.Namespace + "/" + k.options.Secret
	if old == nil {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: k.options.Namespace, Name: k.options.Secret, Annotations: map[string]string{annotationOwn: "self-signed"}},
			Type:       corev1.SecretTypeTLS, Data: data,
		}
		err = k.client.Create(ctx, secret)
	} else {
		secret := old.DeepCopy()
		if secret.Annotations == nil {
			secret.Annotations = map[string]string{}
		}
		secret.Annotations[annotationOwn] = "self-signed"
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		maps.Copy(secret.Data, data)
		err = k.client.Update(ctx, secret)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err) && old != nil:
		return nil, "", fmt.Errorf("write the Secret %s: %w: %w", where, errRaced, err)
	case err != nil:
		return nil, "", fmt.Errorf("write the Secret %s: %w", where, err)
	}
	k.log.Info("wrote the certificate's Secret", zap.String("secret", where), zap.String("why", why), zap.Time("until", made.serving.Leaf.NotAfter))
	return made, "", nil
}
