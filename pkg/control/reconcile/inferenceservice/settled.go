// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"hash/maphash"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// settled remembers, of each service, the versions of everything around it when a pass had made all of it be as wanted. An event that
// brings nothing but what that pass wrote itself, which is what most events are, then costs a comparison and no pass.
type settled struct {
	mu sync.Mutex
	by map[types.UID]sight
}

// sight is everything that a pass was decided from, as far as it can be told apart. The settings are held as they are: a hash of where they
// lie would be that of others when they are gone.
type sight struct {
	settings *settings.Settings
	release  string
	clash    plan.Clash
	versions uint64 // 0 where something could not be read
}

func (s *settled) is(uid types.UID, now sight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.versions != 0 && s.by[uid] == now
}

func (s *settled) set(uid types.UID, now sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[types.UID]sight{}
	}
	s.by[uid] = now
}

func (s *settled) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, uid)
}

// sameCanaries says that no canary has become able to serve by what a pass has made. One whose Service was gone is: the pass decided on the
// routes without it, and the next has to decide with it.
func sameCanaries(p *plan.Plan, children *plan.Children) bool {
	for _, c := range p.Canaries() {
		d := children.Deployment(c.Name)
		if !c.Canary.Ready && children.Service(c.Name) != nil && d != nil && d.Status.AvailableReplicas > 0 {
			return false
		}
	}
	return true
}

// surroundings are what a pass decides from, beside the service and its children.
type surroundings struct {
	settings    *settings.Settings
	release     string
	definitions *gather.Definitions
	pods        []corev1.Pod
	clash       *plan.Clash
}

var worldSeed = maphash.MakeSeed() //nolint:gochecknoglobals // hashes are compared within one process only

// seen is what there is, with a hash of all versions. The order of objects, which a cache gives in any, does not count.
func (w *surroundings) seen(version string, children *plan.Children) sight {
	if w == nil {
		return sight{}
	}
	sum := maphash.String(worldSeed, version)
	for i := range w.definitions.Kinds {
		sum += maphash.String(worldSeed, w.definitions.Kinds[i].CRD)
	}
	add := func(o client.Object) {
		var h maphash.Hash
		h.SetSeed(worldSeed)
		_, _ = h.WriteString(string(o.GetUID()))
		_ = h.WriteByte(' ')
		_, _ = h.WriteString(o.GetResourceVersion())
		sum += h.Sum64()
	}
	for _, o := range children.All() {
		add(o)
	}
	for i := range w.pods {
		add(&w.pods[i])
	}
	for i := range w.definitions.Runtimes {
		add(&w.definitions.Runtimes[i])
	}
	for i := range w.definitions.ClusterRuntimes {
		add(&w.definitions.ClusterRuntimes[i])
	}
	for i := range w.definitions.StorageContainers {
		add(&w.definitions.StorageContainers[i])
	}
	now := sight{settings: w.settings, release: w.release, versions: sum}
	if w.clash != nil {
		now.clash = *w.clash
	}
	return now
}
