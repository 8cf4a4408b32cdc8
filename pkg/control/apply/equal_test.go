// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// pair is an object as it was applied, and as the API server then had it, with its managed fields (testdata/NAME: want.yaml, have.json).
type pair struct {
	want, have map[string]any
	fields     []byte
	rule       rule
}

func recorded(tb testing.TB) map[string]*pair {
	tb.Helper()
	dirs, err := os.ReadDir("testdata")
	require.NoError(tb, err)
	pairs := map[string]*pair{}
	for _, dir := range dirs {
		if dir.Name() == "fuzz" {
			continue
		}
		p := &pair{want: tree(tb, filepath.Join("testdata", dir.Name(), "want.yaml")), have: tree(tb, filepath.Join("testdata", dir.Name(), "have.json"))}
		u := &unstructured.Unstructured{Object: p.have}
		p.fields = ownFields(u)
		require.NotEmpty(tb, p.fields)
		p.rule = ruleOf(u.GroupVersionKind().GroupKind())
		pairs[dir.Name()] = p
	}
	require.NotEmpty(tb, pairs)
	return pairs
}

func tree(tb testing.TB, path string) map[string]any {
	tb.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(tb, err)
	raw, err = yaml.YAMLToJSON(raw)
	require.NoError(tb, err)
	return parse(tb, raw)
}

func parse(tb testing.TB, raw []byte) map[string]any {
	tb.Helper()
	var m map[string]any
	require.NoError(tb, kjson.UnmarshalCaseSensitivePreserveInts(raw, &m))
	return m
}

func (p *pair) judge() verdict { return judge(p.want, p.have, p.fields, p.rule) }

// clone copies a pair, so that one side can be changed.
func (p *pair) clone(tb testing.TB) *pair {
	tb.Helper()
	c := *p
	for _, side := range []*map[string]any{&c.want, &c.have} {
		raw, err := json.Marshal(*side)
		require.NoError(tb, err)
		*side = parse(tb, raw)
	}
	return &c
}

// at returns the value at a path, and sets or removes it.
func at(v any, path []string) any {
	for _, step := range path {
		switch inner := v.(type) {
		case map[string]any:
			v = inner[step]
		case []any:
			i, _ := strconv.Atoi(step)
			if i >= len(inner) {
				return nil
			}
			v = inner[i]
		default:
			return nil
		}
	}
	return v
}

func set(root map[string]any, path []string, value any) {
	switch inner := at(root, path[:len(path)-1]).(type) {
	case map[string]any:
		if value == nil {
			delete(inner, path[len(path)-1])
		} else {
			inner[path[len(path)-1]] = value
		}
	case []any:
		i, _ := strconv.Atoi(path[len(path)-1])
		inner[i] = value
	}
}

// leaves are the paths of all scalars below the parts that are kept up.
func (p *pair) leaves(root map[string]any) [][]string {
	var found [][]string
	var walk func(v any, path []string)
	walk = func(v any, path []string) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k], append(slices.Clone(path), k))
			}
		case []any:
			for i := range v {
				walk(v[i], append(slices.Clone(path), strconv.Itoa(i)))
			}
		default:
			found = append(found, path)
		}
	}
	for _, part := range p.rule.parts {
		if part == "metadata" {
			for _, inner := range []string{"labels", "annotations", "ownerReferences"} {
				if v := at(root, []string{part, inner}); v != nil {
					walk(v, []string{part, inner})
				}
			}
			continue
		}
		walk(root[part], []string{part})
	}
	return found
}

func other(v any) any {
	switch v := v.(type) {
	case string:
		return v + "x"
	case bool:
		return !v
	case int64:
		return v + 1
	case float64:
		return v + 1
	}
	return "x"
}

func TestWhatTheAPIServerMadeOfAnApplyEqualsWhatWasApplied(t *testing.T) {
	for name, p := range recorded(t) {
		t.Run(name, func(t *testing.T) { require.Equal(t, same, p.judge()) })
	}
}

func TestAnyChangeOfWhatIsWantedDiffers(t *testing.T) {
	for name, p := range recorded(t) {
		for _, path := range p.leaves(p.want) {
			t.Run(name+" "+strings.Join(path, "."), func(t *testing.T) {
				c := p.clone(t)
				set(c.want, path, other(at(c.want, path)))
				require.Equal(t, differs, c.judge())
			})
		}
	}
}

func TestDriftOfAnyWantedValueDiffers(t *testing.T) {
	for name, p := range recorded(t) {
		for _, path := range p.leaves(p.have) {
			c := p.clone(t)
			wanted := inWant(c, path)
			if path[len(path)-1] == "protocol" {
				continue // part of an item's key: another protocol is another item
			}
			set(c.have, path, other(at(c.have, path)))
			t.Run(name+" "+strings.Join(path, "."), func(t *testing.T) {
				if wanted {
					require.Equal(t, differs, c.judge(), "a value of ours has changed")
				} else {
					require.NotEqual(t, differs, c.judge(), "a value of someone else has changed")
				}
			})
		}
	}
}

// inWant says whether what is wanted has the leaf. The recorded lists have the same order on both sides.
func inWant(p *pair, path []string) bool { return at(p.want, path) != nil }

func TestWhatIsNoLongerWantedIsNoticed(t *testing.T) {
	for name, p := range recorded(t) {
		for _, path := range p.leaves(p.want) {
			if _, inList := at(p.want, path[:len(path)-1]).([]any); inList {
				continue // the next test takes items out
			}
			c := p.clone(t)
			usual := c.rule.defaults[path[len(path)-1]]
			if v := at(c.want, path); usual != nil && scalar(usual, v) || path[len(path)-1] == "protocol" {
				continue // saying a default and not saying it is the same
			}
			set(c.want, path, nil)
			t.Run(name+" "+strings.Join(path, "."), func(t *testing.T) {
				require.NotEqual(t, same, c.judge())
			})
		}
	}
}

func TestItemsThatComeGoOrMoveDiffer(t *testing.T) {
	deployment := recorded(t)["deployment"]
	containers := []string{"spec", "template", "spec", "containers"}
	env := append(slices.Clone(containers), "0", "env")
	list := func(p *pair, path []string) []any { l, _ := at(p.want, path).([]any); return l }
	cases := map[string]func(p *pair){
		"a container is no longer wanted":     func(p *pair) { set(p.want, containers, list(p, containers)[:1]) },
		"a container more is wanted":          func(p *pair) { set(p.want, containers, append(list(p, containers), map[string]any{"name": "new"})) },
		"a variable is no longer wanted":      func(p *pair) { set(p.want, env, list(p, env)[1:]) },
		"variables change places":             func(p *pair) { l := list(p, env); l[0], l[1] = l[1], l[0] },
		"one of two equal names is left":      func(p *pair) { l := list(p, env); l[1] = l[0] },
		"the list is gone from what is there": func(p *pair) { set(p.have, env, nil) },
		"an argument more": func(p *pair) {
			args := append(slices.Clone(containers), "0", "args")
			set(p.want, args, append(list(p, args), "--y"))
		},
		"an argument less": func(p *pair) {
			args := append(slices.Clone(containers), "0", "args")
			set(p.want, args, list(p, args)[:1])
		},
		"someone took a field over": func(p *pair) {
			p.fields = []byte(strings.Replace(string(p.fields), `"f:image":{},`, "", 1))
		},
		"a field of ours is not wanted": func(p *pair) {
			p.fields = []byte(strings.Replace(string(p.fields), `"f:image":{},`, `"f:image":{},"f:stdin":{},`, 1))
		},
		"we never applied it":   func(p *pair) { p.fields = nil },
		"the record is garbage": func(p *pair) { p.fields = []byte("{") },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			c := deployment.clone(t)
			change(c)
			require.Equal(t, differs, c.judge())
		})
	}
}

func TestOthersMayAddWhatTheyLike(t *testing.T) {
	deployment := recorded(t)["deployment"]
	add := map[string]func(p *pair){
		"replicas": func(p *pair) { set(p.have, []string{"spec", "replicas"}, int64(7)) },
		"a container between ours": func(p *pair) {
			l, _ := at(p.have, []string{"spec", "template", "spec", "containers"}).([]any)
			set(p.have, []string{"spec", "template", "spec", "containers"}, []any{l[0], map[string]any{"name": "mesh"}, l[1]})
		},
		"an annotation of the pods": func(p *pair) {
			set(p.have, []string{"spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"}, "now")
		},
		"a label of the object": func(p *pair) { set(p.have, []string{"metadata", "labels", "x"}, "y") },
	}
	for name, change := range add {
		t.Run(name, func(t *testing.T) {
			c := deployment.clone(t)
			change(c)
			require.Equal(t, same, c.judge())
		})
	}
}

func TestMetadataAloneIsNoReasonToWriteADeployment(t *testing.T) {
	pairs := recorded(t)
	for name, want := range map[string]verdict{"deployment": same, "service": same, "ingress": same, "autoscaler": differs} {
		c := pairs[name].clone(t)
		set(c.want, []string{"metadata", "annotations", "more"}, "x")
		require.Equal(t, want, c.judge(), name)
	}
}

func TestAValueOwnedAsAWholeWithMoreInItIsNotTakenForEqual(t *testing.T) {
	pairs := recorded(t)
	c := pairs["ingress"].clone(t)
	set(c.have, []string{"spec", "rules", "0", "http", "paths", "0", "more"}, "x")
	require.Equal(t, unsure, c.judge())
	c = pairs["route"].clone(t)
	set(c.have, []string{"spec", "rules", "0", "backendRefs", "0", "weight"}, int64(90))
	require.Equal(t, unsure, c.judge(), "the weight is not the one that is there by default")
}

func TestAFieldThatIsAppliedEmptyMayBeGone(t *testing.T) {
	r := ruleOf(schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"})
	want := map[string]any{"spec": map[string]any{"maxReplicas": int64(2), "behavior": map[string]any{}}}
	have := map[string]any{"spec": map[string]any{"maxReplicas": int64(2)}}
	require.Equal(t, same, judge(want, have, []byte(`{"f:spec":{"f:maxReplicas":{}}}`), r))
	want["spec"].(map[string]any)["behavior"] = map[string]any{"scaleUp": map[string]any{"selectPolicy": "Max"}}
	require.Equal(t, differs, judge(want, have, []byte(`{"f:spec":{"f:maxReplicas":{}}}`), r))
}

func TestOwnFieldsAreThoseOfOurApply(t *testing.T) {
	entry := func(manager string, op metav1.ManagedFieldsOperationType, sub, raw string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: op, Subresource: sub, FieldsV1: metav1.NewFieldsV1(raw)}
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	require.Nil(t, ownFields(u))
	u.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry("kubectl", metav1.ManagedFieldsOperationApply, "", `{"f:a":{}}`),
		entry(plan.FieldManager, metav1.ManagedFieldsOperationUpdate, "", `{"f:b":{}}`),
		entry(plan.FieldManager, metav1.ManagedFieldsOperationApply, "status", `{"f:c":{}}`),
		entry(plan.FieldManager, metav1.ManagedFieldsOperationApply, "", `{"f:d":{}}`),
	})
	require.JSONEq(t, `{"f:d":{}}`, string(ownFields(u)))
}

// FuzzJudge feeds arbitrary records and objects: the verdict may be anything, but there is one.
func FuzzJudge(f *testing.F) {
	for _, p := range recorded(f) {
		want, err := json.Marshal(p.want)
		require.NoError(f, err)
		have, err := json.Marshal(p.have)
		require.NoError(f, err)
		f.Add(want, have, p.fields)
	}
	f.Add([]byte(`{"spec":[1]}`), []byte(`{"spec":{}}`), []byte(`{"f:spec":{"k:{":{},"v:1":{},"i:0":{},"":{}}}`))
	f.Fuzz(func(t *testing.T, want, have, fields []byte) {
		var w, h map[string]any
		if json.Unmarshal(want, &w) != nil || json.Unmarshal(have, &h) != nil {
			return
		}
		judge(w, h, fields, rule{parts: []string{"metadata", "spec"}})
	})
}

// BenchmarkJudge is the comparison of an object of which nothing is remembered.
func BenchmarkJudge(b *testing.B) {
	for name, p := range recorded(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p.judge() != same {
					b.Fatal("not the same")
				}
			}
		})
	}
}

// BenchmarkUnchanged is the look at a Deployment that was as wanted the last time, and of which neither side has changed since.
func BenchmarkUnchanged(b *testing.B) {
	p := recorded(b)["deployment"]
	var want, have appsv1.Deployment
	require.NoError(b, runtime.DefaultUnstructuredConverter.FromUnstructured(p.want, &want))
	require.NoError(b, runtime.DefaultUnstructuredConverter.FromUnstructured(p.have, &have))
	var m memory
	w, err := wishOf(&want)
	require.NoError(b, err)
	m.learn("owner", w, &have)
	b.ReportAllocs()
	for b.Loop() {
		w, err := wishOf(&want)
		if err != nil {
			b.Fatal(err)
		}
		if v, err := m.compare(&plan.Owner{UID: "owner"}, w, &have); v != same || err != nil {
			b.Fatal(v, err)
		}
	}
}
