// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

func shipped(t *testing.T) map[string]string {
	t.Helper()
	var cm corev1.ConfigMap
	require.NoError(t, yaml.UnmarshalStrict(deploy.Config(), &cm))
	require.Equal(t, settings.ConfigMapName, cm.Name)
	return cm.Data
}

func TestShippedConfigMapEqualsTheDefaults(t *testing.T) {
	got, err := settings.Parse(shipped(t))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(settings.Defaults(), got))
}

func TestParseReadsOneKey(t *testing.T) {
	cases := map[string]struct {
		key, text string
		want      func(*testing.T, *settings.Settings)
	}{
		"a legacy mode gets its present name": {"deploy", `{"defaultDeploymentMode":"RawDeployment"}`, func(t *testing.T, s *settings.Settings) {
			t.Helper()
			require.Equal(t, serving.Standard, s.Deploy.DefaultMode)
		}},
		"an explicit OCI mode beats the switch": {"storageInitializer", `{"image":"i:1","cpuRequest":"1m","cpuLimit":"1","memoryRequest":"1Mi","memoryLimit":"1Gi","enableModelcar":true,"ociModelMode":"native"}`, func(t *testing.T, s *settings.Settings) {
			t.Helper()
			require.Equal(t, settings.OCINative, s.Storage.OCI())
			require.Nil(t, s.Storage.UIDModelcar, "a field that a present key leaves out is not the shipped one")
			require.Equal(t, "/etc/ssl/custom-certs", s.Storage.CABundleMountPath)
		}},
		"S3 key names fall back to the old ones": {"credentials", `{}`, func(t *testing.T, s *settings.Settings) {
			t.Helper()
			require.Equal(t, "awsAccessKeyID", s.Credentials.S3.AccessKeyIDName)
			require.Equal(t, "storage-config", s.Credentials.StorageSpecSecret)
		}},
		"the local gateway stands in for Knative's": {"ingress", `{"ingressGateway":"a/b","localGatewayService":"lgs"}`, func(t *testing.T, s *settings.Settings) {
			t.Helper()
			require.Equal(t, "lgs", s.Ingress.KnativeLocalGatewayService)
			require.Nil(t, s.Ingress.ClassName)
			require.Equal(t, "example.com", s.Ingress.Domain)
		}},
		"unknown keys are ignored": {"_example", `not json`, func(t *testing.T, _ *settings.Settings) { t.Helper() }},
		"lists are appended to the built-in ones": {"inferenceService", `{"serviceAnnotationDisallowedList":["x"]}`, func(t *testing.T, s *settings.Settings) {
			t.Helper()
			require.Contains(t, s.DisallowedAnnotations(), "x")
			require.Contains(t, s.DisallowedAnnotations(), "modelFormat")
			require.Empty(t, s.Service.Resource.CPULimit)
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := settings.Parse(map[string]string{c.key: c.text})
			require.NoError(t, err)
			c.want(t, s)
		})
	}
}

func TestAbsentKeysWithAMeaning(t *testing.T) {
	s, err := settings.Parse(nil)
	require.NoError(t, err)
	require.False(t, s.Security.AutoMountToken)
	require.Empty(t, s.Service.Resource)
	require.Equal(t, serving.Knative, s.Deploy.DefaultMode)
	require.Contains(t, s.DisallowedAnnotations(), "modelFormat", "the built-in list holds without the key too")
}

func TestParseReportsEveryFaultWithItsPlace(t *testing.T) {
	_, err := settings.Parse(map[string]string{
		"deploy":             `{"defaultDeploymentMode":"Raw","deploymentRolloutStrategy":{"defaultRollout":{"maxSurge":"many"}}}`,
		"ingress":            `{"ingressGateway":"","enableGatewayApi":true,"kserveIngressGateway":"gw","domainTemplate":"{{ .Nme }}","pathTemplate":"serving","urlScheme":"ftp","pathMatchType":"Regex","additionalIngressDomains":["ok.test","-"]}`,
		"agent":              `{"image":"a","cpuRequest":"2","cpuLimit":"1","memoryRequest":"1e999999999999","memoryLimit":"1Gi"}`,
		"router":             "{\n  \"image\": \"r\",\n  oops\n}",
		"security":           `{"autoMountServiceAccountToken":"yes"}`,
		"localModel":         `{"enabled":"no","fsGroup":"x"}`,
		"explainers":         `[]`,
		"storageInitializer": `{"ociModelMode":"magic"}`,
		"canaryAnalysis":     `{"prometheusAddress":"http://u:secret@prometheus?x","bearerTokenFile":"token","timeoutSeconds":61}`,
	})
	var faults *settings.FaultsError
	require.ErrorAs(t, err, &faults)
	places := make([]string, 0, len(faults.Faults))
	for _, f := range faults.Faults {
		places = append(places, f.Key+" "+f.Path)
	}
	require.Equal(t, []string{
		"agent $.cpuRequest", "agent $.memoryRequest",
		"canaryAnalysis $.bearerTokenFile", "canaryAnalysis $.prometheusAddress", "canaryAnalysis $.timeoutSeconds",
		"deploy $.defaultDeploymentMode", "deploy $.deploymentRolloutStrategy.defaultRollout.maxSurge",
		"explainers $",
		"ingress $.additionalIngressDomains[1]", "ingress $.domainTemplate", "ingress $.ingressGateway", "ingress $.kserveIngressGateway", "ingress $.pathMatchType", "ingress $.pathTemplate", "ingress $.urlScheme",
		"localModel $.enabled", "localModel $.fsGroup",
		"router $",
		"security $.autoMountServiceAccountToken",
		"storageInitializer $.cpuLimit", "storageInitializer $.cpuRequest", "storageInitializer $.memoryLimit", "storageInitializer $.memoryRequest", "storageInitializer $.ociModelMode",
	}, places)
	require.Contains(t, err.Error(), `deploy $.defaultDeploymentMode: must be one of Standard, Knative, ModelMesh, is "Raw"`)
	require.NotContains(t, err.Error(), "secret", "an address may hold a password")
	require.Contains(t, err.Error(), "router $: is not JSON: line 3, column 3")
	require.Contains(t, err.Error(), "localModel $.fsGroup: must be a whole number, is string")
}

func TestASectionThatIsNoJSONIsRefusedByItsName(t *testing.T) {
	good := shipped(t)
	for key, text := range good {
		if strings.HasPrefix(key, "_") {
			continue
		}
		for _, bad := range []string{"", "{", text[:len(text)/2], text + "x", "null]", "\"text\"", "[]", "7", "\x00", "{\"a\":}", strings.Repeat("[", 20000)} {
			data := maps.Clone(good)
			data[key] = bad
			_, err := settings.Parse(data)
			if bad == "" && err == nil {
				continue // a section that says nothing
			}
			require.ErrorContains(t, err, key, "%.20q", bad)
		}
	}
}

func TestTemplatesOfAddresses(t *testing.T) {
	place := settings.Place{Name: "iris", Namespace: "raw", IngressDomain: "m.example", Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"zone": "b"}}
	cases := map[string]struct{ text, want, fails string }{
		"name, namespace and domain":                       {text: "{{.Name}}.{{.Namespace}}.{{.IngressDomain}}", want: "iris.raw.m.example"},
		"labels and annotations":                           {text: "{{.Name}}.{{.Labels.team}}-{{.Annotations.zone}}.{{.IngressDomain}}", want: "iris.a-b.m.example"},
		"a missing label is named":                         {text: "{{.Name}}.{{.Labels.squad}}.{{.IngressDomain}}", fails: `needs the label or annotation "squad", which the service does not have`},
		"a missing annotation is named":                    {text: "{{.Annotations.tier}}.x", fails: `needs the label or annotation "tier"`},
		"one that a condition asks for is not missed":      {text: "{{.Name}}{{if .Labels.squad}}-{{.Labels.squad}}{{end}}.x", want: "iris.x"},
		"nor one that has another in its place":            {text: "{{.Name}}-{{or .Labels.squad .Namespace}}.x", want: "iris-raw.x"},
		"a field that there is not":                        {text: "{{.Domain}}", fails: "it may name .Name"},
		"half a template":                                  {text: "{{.Name", fails: "is no template"},
		"a missing label in a place that nobody comes to":  {text: "{{if .Labels.team}}{{.Name}}{{else}}{{.Labels.squad}}{{end}}", want: "iris"},
		"a missing label behind a condition that is false": {text: "{{with .Labels.squad}}{{.}}.{{end}}x", want: "x"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := settings.Expand(c.text, place)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				require.NotContains(t, err.Error(), "<no value>")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ingress", `{"ingressGateway":"a/b","domainTemplate":"{{.Name}}"}`)
	f.Add("deploy", `{"defaultDeploymentMode":1}`)
	f.Add("logger", `{"storage":{"parameters":[]}}`)
	f.Fuzz(func(t *testing.T, key, text string) {
		s, err := settings.Parse(map[string]string{key: text})
		require.NotEqual(t, s == nil, err == nil)
	})
}

// What the API server would refuse in the objects of every service, and what a server would refuse in every query, is refused here once.
func TestSettingsThatNoObjectCouldBeMadeWith(t *testing.T) {
	cases := map[string]struct{ key, text, says string }{
		"nothing may be missing and nothing more": {"deploy", `{"defaultDeploymentMode":"Standard","deploymentRolloutStrategy":{"defaultRollout":{"maxSurge":"0","maxUnavailable":"0%"}}}`, "maxUnavailable: must not be 0 beside a maxSurge of 0"},
		"more than all may be missing":            {"deploy", `{"defaultDeploymentMode":"Standard","deploymentRolloutStrategy":{"defaultRollout":{"maxSurge":"1","maxUnavailable":"101%"}}}`, `maxUnavailable: must not be above 100%, is "101%"`},
		"a window of more than an hour":           {"autoscaler", `{"scaleDownStabilizationWindowSeconds":"3601"}`, "$.scaleDownStabilizationWindowSeconds: must be at most 3600, is 3601"},
		"an unknown placeholder":                  {"canaryAnalysis", `{"successRateQuery":"up{x=\"$(pod)\"}"}`, "$.successRateQuery: $(pod) is no placeholder; use $(namespace), $(service), $(canary), $(window)"},
		"a placeholder of the other query":        {"canaryAnalysis", `{"successRateQuery":"up > $(quantile)"}`, "$(quantile) is no placeholder"},
		"an empty query":                          {"canaryAnalysis", `{"latencyQuery":" "}`, "$.latencyQuery: must be a query in PromQL"},
		"all of it right":                         {"canaryAnalysis", `{"latencyQuery":"histogram_quantile($(quantile), x{n=\"$(namespace)\",s=\"$(service)\",c=\"$(canary)\"}[$(window)])"}`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := settings.Parse(map[string]string{c.key: c.text})
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestWhatNobodyReadsIsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key, text, path, says string
	}{
		"a slip in a field of our own":      {"canaryAnalysis", `{"prometheusAdress": "http://p"}`, "$.prometheusAdress", `did you mean "prometheusAddress"?`},
		"a field that is none":              {"canaryAnalysis", `{"interval": 5}`, "$.interval", "known here: bearerTokenFile"},
		"a slip inside":                     {"credentials", `{"s3": {"s3Endpont": "e"}}`, "$.s3.s3Endpont", `did you mean "s3Endpoint"?`},
		"a field of a section that is read": {"ingress", `{"ingressGateway": "a/b", "enableGatewayAPIs": true}`, "$.enableGatewayAPIs", `did you mean "enableGatewayApi"?`},
		"a slip in a section's name":        {"canary-analysis", `{}`, "$", "did you mean canaryAnalysis?"},
		"a section with other ends":         {"canaryAnalyses", `{}`, "$", "did you mean canaryAnalysis?"},
		"a name without a letter":           {"canaryAnalysis", `{"": 5}`, "$.", "is not known"},
		"a dot for a name":                  {"canaryAnalysis", `{".": 5}`, "$..", "is not known"},
		"a name without a letter inside":    {"credentials", `{"s3": {"": 5}}`, "$.s3.", "is not known"},
		"other case is read":                {"canaryAnalysis", `{"TimeoutSeconds": 5}`, "", ""},
		"a section of somebody else":        {"_example", `{}`, "", ""},
		"a whole other section":             {"tracing", `not even JSON`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := settings.Parse(map[string]string{test.key: test.text})
			require.NoError(t, err)
			if test.says == "" {
				require.Empty(t, s.Odd)
				return
			}
			require.Len(t, s.Odd, 1)
			require.Equal(t, test.key, s.Odd[0].Key)
			require.Equal(t, test.path, s.Odd[0].Path)
			require.Contains(t, s.Odd[0].Problem, "has no effect")
			require.Contains(t, s.Odd[0].Problem, test.says)
		})
	}
	every := shipped(t)
	s, err := settings.Parse(every)
	require.NoError(t, err)
	require.Empty(t, s.Odd, "what is shipped is read")
	sections := []string{
		"explainers", "storageInitializer", "credentials", "ingress", "logger", "batcher", "agent", "router", "deploy", "metricsAggregator",
		"localModel", "security", "inferenceService", "service", "multiNode", "opentelemetryCollector", "autoscaler", "canaryAnalysis",
	}
	for _, key := range sections {
		section := map[string]any{}
		if text, ok := every[key]; ok {
			require.NoError(t, json.Unmarshal([]byte(text), &section))
		}
		section["whollyUnlikeAnything"] = 1
		text, err := json.Marshal(section)
		require.NoError(t, err)
		every[key] = string(text)
	}
	s, err = settings.Parse(every)
	require.NoError(t, err)
	require.Len(t, s.Odd, len(sections), "each section is looked through")
	require.Contains(t, s.Unread(), "canaryAnalysis $.whollyUnlikeAnything: is not known and has no effect")
}

// An event about the ConfigMap has room for 1024 bytes.
func TestAFaultShowsTheBeginningOfAValue(t *testing.T) {
	long := strings.Repeat("é", 400<<10)
	for key, text := range map[string]string{
		"ingress": `{"ingressDomain": "` + long + `"}`,
		"deploy":  `{"defaultDeploymentMode": "` + long + `"}`,
		"router":  `{"image": "r", "cpuRequest": "` + long + `"}`,
		"agent":   `{"image": ["` + long + `"]}`,
		"logger":  long,
	} {
		_, err := settings.Parse(map[string]string{key: text})
		require.Error(t, err, key)
		require.Contains(t, err.Error(), key+" $", key)
		require.True(t, utf8.ValidString(err.Error()), key)
		require.Less(t, len(err.Error()), 1500, "%s: %.900s", key, err)
	}
}
