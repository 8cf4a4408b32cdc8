// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply makes the cluster have the objects that are wanted: it writes what differs, deletes what its owner no longer wants, and
// touches nothing that belongs to someone else.
//
// Called by: control/reconcile/inferenceservice.
// Next: the API server, by server-side apply; then control/observe, which sees what is there now.
package apply

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

const (
	// ReasonWaiting is the reason while something has to go before the object that is wanted can come.
	ReasonWaiting = "Waiting"
	// ReasonNoKnative is the reason of Knative mode in a cluster without Knative; clients know the word.
	ReasonNoKnative = "ServerlessModeRejected"
)

// Verbs of writes, as they are counted.
const (
	VerbApply  = "apply"
	VerbDelete = "delete"
	VerbDryRun = "dry-run"
	VerbAdopt  = "adopt"
)

// Applier writes for a controller. Fill in the fields before the first use; it may be used from several goroutines.
type Applier struct {
	Client client.Client
	// Live reads past the cache, which holds only what carries our label.
	Live  client.Reader
	Kinds *gather.Kinds
	// Count is told of every request, from several goroutines; it may be nil.
	Count func(kind, verb string)
	// Now is the clock; nil is the system's.
	Now func() time.Time

	memory   memory
	bundles  bundles
	settling settling
}

// Wanted is what one owner is to have.
type Wanted struct {
	Owner   *plan.Owner
	Objects []plan.Object
	// Have are the objects that the owner has now, as far as the cache knows.
	Have *plan.Children
	// Unlisted are objects that the owner may have and that no cache lists.
	Unlisted []plan.Object
	// Later says that an object is not to be made yet where it is not there; nil says so of none.
	Later func(plan.Object) bool
	// Served says whether a Service can answer: no route is led to it before. Nil says nothing of any.
	Served func(service string) bool
	// Relieves says whether a Service can take over the requests of another, which a route shall lead to no more. Nil says so of all.
	Relieves func(service, other string) bool
	// Role is the component that an object is for.
	Role func(plan.Object) serving.ComponentRole
}

// Outcome is what the owner has afterwards.
type Outcome struct {
	Children *plan.Children
	Writes   int
	// Later are the wanted objects that were not made yet, or not changed yet.
	Later []plan.Object
	// Again is when another pass can delete what was kept because requests may still be on their way to it; zero is that there is nothing.
	Again time.Duration
	// Errors are one each for the objects that could not be made or deleted: *plan.Blocked, *plan.Waiting or *Error.
	Errors []error
}

// Error is a request that the API server did not fulfil.
type Error struct {
	Verb, Kind, Name string
	Role             serving.ComponentRole
	Err              error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %s %s: %s", e.Verb, e.Kind, e.Name, gather.Words(e.Err))
}

// Unwrap gives the API server's error.
func (e *Error) Unwrap() error { return e.Err }

// About names the object.
func (e *Error) About() (kind, name string) { return e.Kind, e.Name }

type key struct {
	schema.GroupKind
	name string
}

func keyOf(o plan.Object) key { return key{kindOf(o).GroupKind(), o.GetName()} }

// pass is one run over the objects of one owner.
type pass struct {
	*Applier
	w       Wanted
	have    map[key]plan.Object
	outcome Outcome
	writes  atomic.Int64
	// early says that a route was left as it is because what it is to lead to cannot answer yet.
	early bool
}

func (a *Applier) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

// Objects makes the owner have what is wanted. An object that cannot be made does not keep the others from being made; but while one
// is missing, nothing is deleted that may still serve in its place; nor is what requests are led to, until a while after they are led elsewhere.
//
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=create;patch;delete
// +kubebuilder:rbac:groups=networking.istio.io,resources=virtualservices,verbs=create;patch;delete
// +kubebuilder:rbac:groups=serving.knative.dev,resources=services,verbs=create;patch;delete
// +kubebuilder:rbac:groups=keda.sh,resources=scaledobjects,verbs=create;patch;delete
// +kubebuilder:rbac:groups=opentelemetry.io,resources=opentelemetrycollectors,verbs=create;patch;delete
func (a *Applier) Objects(ctx context.Context, w Wanted) *Outcome {
	p := &pass{Applier: a, w: w, have: map[key]plan.Object{}, outcome: Outcome{Children: &plan.Children{}}}
	have := all(w.Have)
	for _, o := range have {
		p.have[keyOf(o)] = o
	}
	wanted := map[key]bool{}
	for _, o := range w.Objects {
		wanted[keyOf(o)] = true
	}
	var leftovers []plan.Object
	for _, o := range have {
		switch k := keyOf(o); {
		case wanted[k]:
		case isScaler(k.GroupKind):
			p.delete(ctx, o)
		default:
			leftovers = append(leftovers, o)
		}
	}
	p.writeAll(ctx)
	ways, rest := p.stillUsed(leftovers)
	p.outcome.Again = rest
	for _, o := range leftovers {
		if len(p.outcome.Errors) > 0 || isWay(o) && ways > 0 || !isWay(o) && rest > 0 {
			p.outcome.Children.Add(o)
			continue
		}
		p.delete(ctx, o)
	}
	if len(p.outcome.Errors) == 0 {
		p.unlisted(ctx, wanted)
	}
	p.outcome.Writes = int(p.writes.Load())
	return &p.outcome
}

// maxConcurrentWrites is how many requests of one pass are on their way at a time: a service is done after the longest of them, not after their sum.
const maxConcurrentWrites = 4

// result is what became of one object that is wanted.
type result struct {
	there plan.Object
	err   error
}

// request makes one object be as wanted, and returns it as it is then.
type request func(context.Context) (plan.Object, error)

// writeAll makes every object be as wanted, and notes what became of them in their order. Scalers come last: the webhook of KEDA looks for what a new
// ScaledObject scales.
func (p *pass) writeAll(ctx context.Context) {
	results := make([]result, len(p.w.Objects))
	var panics atomic.Pointer[string]
	for _, scalers := range []bool{false, true} {
		var requests errgroup.Group
		requests.SetLimit(maxConcurrentWrites)
		for i, o := range p.w.Objects {
			if isScaler(keyOf(o).GroupKind) != scalers {
				continue
			}
			var do request
			if results[i], do = p.look(o); do == nil {
				continue
			}
			requests.Go(func() error {
				results[i] = attempt(ctx, do, &panics)
				return nil
			})
		}
		_ = requests.Wait() // each result has its own error
		if text := panics.Load(); text != nil {
			panic(*text)
		}
	}
	for _, r := range results {
		if r.err != nil {
			p.outcome.Errors = append(p.outcome.Errors, r.err)
		}
		if r.there != nil {
			p.outcome.Children.Add(r.there)
		}
	}
}

// attempt does a request, and keeps a panic of it for the goroutine of the pass: controller-runtime survives those of its own goroutines only.
func attempt(ctx context.Context, do request, panics *atomic.Pointer[string]) (r result) {
	defer func() {
		if v := recover(); v != nil {
			panics.Store(new(fmt.Sprintf("%v\n%s", v, debug.Stack())))
		}
	}()
	r.there, r.err = do(ctx)
	return r
}

// look says what one object is now (nil where it is not there), or returns the request that makes it be as wanted. Requests may run beside each
// other; looking may not.
func (p *pass) look(want plan.Object) (result, request) {
	k := keyOf(want)
	if optional, ok := plan.OptionalKind(k.GroupKind); ok && !p.Kinds.Has(k.GroupKind) {
		if why := p.Kinds.Denied(k.GroupKind); why != "" {
			return result{err: &plan.Blocked{
				Reason: servingv1beta1.ReasonReconcileFailed, Role: p.role(want),
				Message: fmt.Sprintf("%s %s is needed, but %s; the service goes on by itself soon after the role does", k.Kind, k.name, why),
			}}, nil
		}
		return result{err: missingKind(optional, p.role(want))}, nil
	}
	there, cached := p.have[k]
	if !cached && p.w.Later != nil && p.w.Later(want) {
		p.outcome.Later = append(p.outcome.Later, want)
		return result{}, nil
	}
	if there != nil && p.tooEarly(want, there) {
		p.early = true
		p.outcome.Later = append(p.outcome.Later, want)
		return result{there: there}, nil
	}
	w, err := wishOf(want)
	if err != nil {
		return result{there, p.failed(VerbApply, want, err)}, nil
	}
	if !cached {
		return result{}, func(ctx context.Context) (plan.Object, error) { return p.find(ctx, w) }
	}
	return p.keep(w, there)
}

// find makes an object that no cache knows, or finds it.
func (p *pass) find(ctx context.Context, want *wish) (plan.Object, error) {
	// What this process has made may be there and not in the cache yet; of everything else the write itself finds out.
	if _, known := p.memory.get(p.w.Owner.UID, keyOf(want.Object)); !known {
		if there, err := p.create(ctx, want); err == nil || !guarded(err) {
			return there, err
		}
	}
	there, err := p.read(ctx, want.Object)
	if err != nil {
		return nil, err
	}
	if there == nil {
		return p.write(ctx, want, nil)
	}
	r, do := p.keep(want, there)
	if do != nil {
		return do(ctx)
	}
	return r.there, r.err
}

// keep decides whether an object that is there and ours has to be written.
func (p *pass) keep(want *wish, there plan.Object) (result, request) {
	if k := keyOf(want.Object); there.GetDeletionTimestamp() != nil {
		return result{there, &plan.Waiting{Reason: ReasonWaiting, Object: k.name, Message: fmt.Sprintf("%s %s is being deleted; it is made anew when it is gone", k.Kind, k.name), After: retryDeleted}}, nil
	}
	v, err := p.memory.compare(p.w.Owner, want, there)
	if err != nil {
		return result{there, p.failed(VerbApply, want.Object, err)}, nil
	}
	if v == same {
		p.memory.learn(p.w.Owner.UID, want, there)
		return result{there: there}, nil
	}
	return result{}, func(ctx context.Context) (plan.Object, error) {
		if v == unsure {
			switch asked, err := p.ask(ctx, want, there); {
			case err != nil:
				return there, p.failed(VerbDryRun, want.Object, err)
			case asked == same:
				p.memory.learn(p.w.Owner.UID, want, there)
				return there, nil
			}
		}
		after, err := p.write(ctx, want, there)
		if after == nil {
			after = there
		}
		return after, err
	}
}

// role of the component that an object is for.
func (p *pass) role(o plan.Object) serving.ComponentRole {
	if p.w.Role == nil {
		return ""
	}
	return p.w.Role(o)
}

func (p *pass) failed(verb string, o plan.Object, err error) error {
	return &Error{Verb: verb, Kind: kindOf(o).Kind, Name: o.GetName(), Role: p.role(o), Err: err}
}

func (p *pass) count(o plan.Object, verb string) {
	p.writes.Add(1)
	if p.Count != nil {
		p.Count(kindOf(o).Kind, verb)
	}
}

// delete removes what nobody wants any more, if it is still the object that was seen.
func (p *pass) delete(ctx context.Context, o plan.Object) {
	if o.GetDeletionTimestamp() != nil {
		return
	}
	uid := o.GetUID()
	err := p.Client.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	p.count(o, VerbDelete)
	if client.IgnoreNotFound(err) != nil {
		p.outcome.Errors = append(p.outcome.Errors, p.failed(VerbDelete, o, err))
		p.outcome.Children.Add(o)
		return
	}
	p.memory.drop(p.w.Owner.UID, keyOf(o))
}

// unlisted deletes what is ours, no longer wanted, and in no cache.
func (p *pass) unlisted(ctx context.Context, wanted map[key]bool) {
	for _, o := range p.w.Unlisted {
		if _, cached := p.have[keyOf(o)]; cached || wanted[keyOf(o)] {
			continue
		}
		there, err := p.read(ctx, o)
		var blocked *plan.Blocked
		var waiting *plan.Waiting
		switch {
		case errors.As(err, &blocked) || errors.As(err, &waiting): // someone else's
		case err != nil:
			p.outcome.Errors = append(p.outcome.Errors, err)
		case there != nil:
			p.delete(ctx, there)
		}
	}
}

// Forget drops what is remembered of an owner that is gone.
func (a *Applier) Forget(owner types.UID) {
	a.memory.forget(string(owner))
	a.settling.forget(string(owner))
}
