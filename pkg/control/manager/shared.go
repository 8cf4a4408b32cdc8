// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/kserve-go/kserve-go/pkg/control/gather"
)

const (
	// mostTexts and longestText bound what is remembered to be shared. Beyond, sharing starts anew: that costs memory and nothing else.
	mostTexts   = 8192
	longestText = 4096
)

// shared gives the objects in a cache one copy of the texts that they have in common: services of a cluster look much alike, and each object
// comes from the API server with copies of its own.
type shared struct {
	mu     sync.Mutex
	texts  map[string]string
	fields map[string]*metav1.FieldsV1
	lists  map[string]corev1.ResourceList
}

// text is the one copy of a text.
func (s *shared) text(t string) string {
	if t == "" || len(t) > longestText {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.texts[t]; ok {
		return one
	}
	if s.texts == nil || len(s.texts) >= mostTexts {
		s.texts = map[string]string{}
	}
	s.texts[t] = t
	return t
}

// managed is the one copy of a set of managed fields; nobody changes what is in a cache.
func (s *shared) managed(f *metav1.FieldsV1) *metav1.FieldsV1 {
	raw := f.GetRawBytes()
	if len(raw) == 0 || len(raw) > longestText {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.fields[string(raw)]; ok {
		return one
	}
	if s.fields == nil || len(s.fields) >= mostTexts {
		s.fields = map[string]*metav1.FieldsV1{}
	}
	s.fields[string(raw)] = f
	return f
}

// amounts is the one copy of what containers ask for, which is the same for many; nobody changes what is in a cache.
func (s *shared) amounts(list corev1.ResourceList) corev1.ResourceList {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		key.WriteString(string(name) + "=" + q.String() + " ")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.lists[key.String()]; ok {
		return one
	}
	if s.lists == nil || len(s.lists) >= mostTexts {
		s.lists = map[string]corev1.ResourceList{}
	}
	s.lists[key.String()] = list
	return list
}

// after makes an object small, once f has taken away what nobody reads.
func (s *shared) after(f toolscache.TransformFunc) toolscache.TransformFunc {
	return func(o any) (any, error) {
		o, err := f(o)
		if err != nil {
			return o, err
		}
		switch o := o.(type) {
		case *unstructured.Unstructured:
			if metav1.GetControllerOfNoCopy(o) == nil {
				return o, nil // not ours: a name
			}
			return gather.Pack(o, s.text), nil
		case metav1.Object:
			managers := o.GetManagedFields()
			for i := range managers {
				managers[i].FieldsV1 = s.managed(managers[i].FieldsV1)
			}
			s.everything(o)
		}
		return o, nil
	}
}

// opaque are types without texts to share.
//
//nolint:gochecknoglobals // nobody writes to it
var opaque = map[reflect.Type]bool{
	reflect.TypeFor[metav1.Time](): true, reflect.TypeFor[metav1.MicroTime](): true, reflect.TypeFor[metav1.Duration](): true,
	reflect.TypeFor[resource.Quantity](): true, reflect.TypeFor[metav1.FieldsV1](): true,
}

// everything shares the texts of an object with a Go type.
func (s *shared) everything(o any) { s.walk(reflect.ValueOf(o)) }

func (s *shared) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(s.text(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			s.walk(v.Elem())
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			s.walk(v.Index(i))
		}
	case reflect.Map:
		switch m := v.Interface().(type) {
		case map[string]string:
			for key, value := range m {
				m[s.text(key)] = s.text(value) // of two equal keys a map keeps the newer
			}
		case corev1.ResourceList:
			if len(m) > 0 && v.CanSet() {
				v.Set(reflect.ValueOf(s.amounts(m)))
			}
		}
	case reflect.Struct:
		if opaque[v.Type()] {
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				s.walk(f)
			}
		}
	default: // no texts
	}
}
