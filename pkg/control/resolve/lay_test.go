// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// samples are two values for each field of a container.
var samples = map[string][2]string{
	"image":                    {`"a:1"`, `"b:2"`},
	"command":                  {`["a","b"]`, `["c"]`},
	"workingDir":               {`"/a"`, `"/b"`},
	"ports":                    {`[{"containerPort":1,"name":"a"},{"containerPort":2}]`, `[{"containerPort":1,"protocol":"TCP"},{"containerPort":3}]`},
	"envFrom":                  {`[{"prefix":"a"}]`, `[{"prefix":"b"},{"prefix":"b"}]`},
	"env":                      {`[{"name":"x","value":"1"},{"name":"y","value":"2"},{"name":"y","value":"3"}]`, `[{"name":"y","valueFrom":{"fieldRef":{"fieldPath":"p"}}},{"name":"z"},{"name":"z","value":"1"}]`},
	"resources":                {`{"limits":{"cpu":"1000m","memory":"1Gi"},"requests":{"cpu":"1"}}`, `{"limits":{"cpu":"2","nvidia.com/gpu":"1"},"claims":[{"name":"c"}]}`},
	"resizePolicy":             {`[{"resourceName":"cpu","restartPolicy":"a"}]`, `[{"resourceName":"memory","restartPolicy":"b"}]`},
	"restartPolicy":            {`"Always"`, `"Never"`},
	"volumeMounts":             {`[{"name":"a","mountPath":"/a"},{"name":"b","mountPath":"/b"}]`, `[{"name":"c","mountPath":"/a"}]`},
	"volumeDevices":            {`[{"name":"a","devicePath":"/a"}]`, `[{"name":"b","devicePath":"/a"}]`},
	"livenessProbe":            {`{"httpGet":{"path":"/a","port":1},"periodSeconds":3}`, `{"tcpSocket":{"port":"b"},"failureThreshold":4}`},
	"readinessProbe":           {`{"exec":{"command":["a"]}}`, `{"exec":{"command":["b","c"]},"timeoutSeconds":1}`},
	"startupProbe":             {`{"grpc":{"port":1}}`, `{"periodSeconds":1}`},
	"lifecycle":                {`{"preStop":{"sleep":{"seconds":1}}}`, `{"postStart":{"exec":{"command":["a"]}}}`},
	"terminationMessagePath":   {`"/a"`, `"/b"`},
	"terminationMessagePolicy": {`"File"`, `"FallbackToLogsOnError"`},
	"imagePullPolicy":          {`"Always"`, `"Never"`},
	"securityContext":          {`{"runAsUser":1,"capabilities":{"drop":["ALL"]}}`, `{"runAsNonRoot":true,"capabilities":{"add":["X"]}}`},
	"stdin":                    {`true`, `true`},
	"stdinOnce":                {`true`, `true`},
	"tty":                      {`true`, `true`},
	"restartPolicyRules":       {`[{"action":"a"}]`, `[{"action":"b"}]`},
}

// text of an object with some fields, 0 for a field that it does not have, else which of the values.
func sample(fields map[string]int) string {
	var all []string
	for name, which := range fields {
		if which > 0 {
			all = append(all, `"`+name+`":`+samples[name][which-1])
		}
	}
	return "{" + strings.Join(all, ",") + "}"
}

func TestLayingIsAStrategicMerge(t *testing.T) {
	container := reflect.TypeFor[corev1.Container]()
	var names []string
	for i := range container.NumField() {
		name, _, _ := strings.Cut(container.Field(i).Tag.Get("json"), ",")
		if name == "args" || name == "name" {
			continue // arguments add up; a container without a name has the other's
		}
		require.Contains(t, samples, name, "a new field of containers needs two values here")
		names = append(names, name)
	}
	easy := 0
	for i, one := range names {
		for _, other := range names[i:] {
			for which := range 16 {
				base := sample(map[string]int{one: which & 1, other: which >> 1 & 1})
				overlay := sample(map[string]int{one: which >> 2 & 1 * 2, other: which >> 3 & 1 * 2})
				if easily := requireSame[corev1.Container](t, base, overlay); easily {
					easy++
				}
			}
		}
	}
	require.Greater(t, easy, len(names)*len(names)*16/4, "most merges are easy ones")
	require.False(t, requireSame[corev1.Container](t, `{"resources":{"limits":{"$patch":"1"}}}`, `{"resources":{"limits":{"cpu":"1"}}}`))
}

func TestLayingPodsIsAStrategicMerge(t *testing.T) {
	fields := map[string][2]string{
		"nodeSelector":       {`{"a":"1","b":"2"}`, `{"b":"3","c":"4"}`},
		"affinity":           {`{"nodeAffinity":{}}`, `{"podAffinity":{}}`},
		"tolerations":        {`[{"key":"a"}]`, `[{"key":"b"},{"key":"c"}]`},
		"volumes":            {`[{"name":"a","emptyDir":{}}]`, `[{"name":"a","hostPath":{"path":"/x"}},{"name":"b","ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},"spec":{"resources":{}}}}}]`},
		"imagePullSecrets":   {`[{"name":"a"}]`, `[{"name":"a"},{"name":"b"}]`},
		"schedulerName":      {`"a"`, `"b"`},
		"resourceClaims":     {`[{"name":"a"}]`, `[{"name":"b"}]`},
		"hostIPC":            {`true`, `true`},
		"serviceAccountName": {``, `"sa"`},
		"overhead":           {``, `{"cpu":"1"}`},
		"dnsPolicy":          {``, `"None"`},
	}
	of := func(name string, which int) string {
		if fields[name][which] == "" {
			return "{}"
		}
		return `{"` + name + `":` + fields[name][which] + `}`
	}
	for one := range fields {
		for other := range fields {
			requireSame[servingv1beta1.PodSpec](t, of(one, 0), of(other, 1))
		}
	}
}

// requireSame compares, where laying is enough, with the library; it says whether it is.
func requireSame[T any](t *testing.T, base, overlay string) bool {
	t.Helper()
	var b, o, schema, want T
	require.NoError(t, json.Unmarshal([]byte(base), &b))
	require.NoError(t, json.Unmarshal([]byte(overlay), &o))
	got := b
	if !lay(&got, o) {
		return false
	}
	rawBase, err := json.Marshal(b)
	require.NoError(t, err)
	rawOverlay, err := json.Marshal(o)
	require.NoError(t, err)
	merged, err := strategicpatch.StrategicMergePatch(rawBase, rawOverlay, schema)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(merged, &want))
	text, err := json.Marshal(want)
	require.NoError(t, err)
	gotText, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(gotText), "%s over %s", overlay, base)
	return true
}

func TestWhatIsMergedIsNobodyElses(t *testing.T) {
	runtime := corev1.Container{Name: "c", Env: []corev1.EnvVar{{Name: "A", Value: "{{.Name}}"}}, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": {}}}}
	service := servingv1beta1.Container{Command: []string{"{{.Name}}"}}
	merged, err := mergeContainer(runtime, service)
	require.NoError(t, err)
	merged.Env[0].Name, merged.Command[0] = "B", "x"
	merged.Resources.Limits["memory"] = merged.Resources.Limits["cpu"]
	require.Equal(t, "A", runtime.Env[0].Name)
	require.Len(t, runtime.Resources.Limits, 1)
	require.Equal(t, "{{.Name}}", service.Command[0])

	pod := &servingv1alpha1.ServingRuntimePodSpec{NodeSelector: map[string]string{"a": "b"}}
	spec, err := mergePod(pod, servingv1beta1.PodSpec{Tolerations: []corev1.Toleration{{Key: "a"}}})
	require.NoError(t, err)
	spec.NodeSelector["a"] = "c"
	require.Equal(t, "b", pod.NodeSelector["a"])
}

func TestOfVariablesOfOneNameTheLastCounts(t *testing.T) {
	field := func(path string) corev1.EnvVar {
		return corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	secret := corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}}
	text := func(value string) corev1.EnvVar { return corev1.EnvVar{Name: "A", Value: value} }
	bases := [][]corev1.EnvVar{nil, {text("base")}, {field("base")}, {{Name: "B", Value: "b"}}}
	for _, own := range [][]corev1.EnvVar{
		{text("x"), field("x")}, {field("x"), text("x")}, {field("x"), secret}, {secret, field("x")}, {text("x"), text("y")}, {secret, text("x"), secret}, {secret},
	} {
		for _, base := range bases {
			merged, err := mergeContainer(corev1.Container{Name: "c", Env: base}, servingv1beta1.Container{Env: own})
			require.NoError(t, err)
			var last *corev1.EnvVar
			for i := range merged.Env {
				if e := &merged.Env[i]; e.Name == "A" {
					require.True(t, (e.Value == "") == (e.ValueFrom != nil), "%+v over %+v has %+v", own, base, e)
					last = e
				}
			}
			require.Equal(t, &own[len(own)-1], last, "%+v over %+v", own, base)
		}
	}
}

func TestPlaceholdersAreFilledInEverywhereAndNowhereElse(t *testing.T) {
	const doc = `{"name":"c","image":"{{.Name}}","command":["{{.Name}}"],"env":[{"name":"E","value":"{{.Name}}","valueFrom":{"secretKeyRef":{"name":"{{.Name}}","key":"k"}}}],
		"resources":{"limits":{"cpu":"1"}},"livenessProbe":{"httpGet":{"path":"/{{.Name}}","port":"{{.Name}}","httpHeaders":[{"name":"h","value":"{{.Name}}"}]}},
		"volumeMounts":[{"name":"v","mountPath":"/{{.Name}}"}]}`
	var c, want corev1.Container
	require.NoError(t, json.Unmarshal([]byte(doc), &c))
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(doc, "{{.Name}}", "foo")), &want))
	require.NoError(t, fillIn(&c, metav1.ObjectMeta{Name: "foo"}))
	require.Equal(t, want, c)
}
