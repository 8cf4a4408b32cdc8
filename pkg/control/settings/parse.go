// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// Fault is one thing wrong in the ConfigMap.
type Fault struct {
	Key     string // key of the ConfigMap
	Path    string // JSON path inside the document, "$" for all of it
	Problem string
}

func (f Fault) String() string { return f.Key + " " + f.Path + ": " + f.Problem }

// FaultsError is every fault of a ConfigMap, sorted by key and path.
type FaultsError struct{ Faults []Fault }

func (e *FaultsError) Error() string {
	lines := make([]string, 0, len(e.Faults))
	for _, f := range e.Faults {
		lines = append(lines, f.String())
	}
	return ConfigMapName + ": " + strings.Join(lines, "; ")
}

// Parse reads the data of the ConfigMap. A key that is absent keeps the value of Defaults, except those whose absence has a meaning of its own
// (security: tokens are not mounted; inferenceService, metricsAggregator, service, multiNode, autoscaler: nothing is set). Unknown keys are ignored
// and told in Odd.
// The error is a *FaultsError with all faults; the Settings are then not to be used.
func Parse(data map[string]string) (*Settings, error) {
	d := decoder{data: data}
	s := Defaults()
	s.Security, s.Metrics, s.Autoscaler, s.Service = Security{}, MetricsAggregator{}, Autoscaler{}, InferenceService{}
	section(&d, "explainers", &s.Explainers)
	section(&d, "storageInitializer", &s.Storage)
	section(&d, "credentials", &s.Credentials)
	section(&d, "ingress", &s.Ingress)
	section(&d, "logger", &s.Logger)
	section(&d, "batcher", &s.Batcher)
	section(&d, "agent", &s.Agent)
	section(&d, "router", &s.Router)
	section(&d, "deploy", &s.Deploy)
	section(&d, "metricsAggregator", &s.Metrics)
	section(&d, "localModel", &s.LocalModel)
	section(&d, "security", &s.Security)
	section(&d, "inferenceService", &s.Service)
	section(&d, "service", &s.ClusterService)
	section(&d, "multiNode", &s.MultiNode)
	section(&d, "opentelemetryCollector", &s.OpenTelemetry)
	section(&d, "autoscaler", &s.Autoscaler)
	section(&d, "canaryAnalysis", &s.CanaryAnalysis)
	s.Odd = d.oddities()
	s.fillIn()
	c := checker{broken: d.broken()}
	c.check(s)
	faults := append(d.faults, c.faults...)
	if len(faults) > 0 {
		slices.SortFunc(faults, func(a, b Fault) int {
			return strings.Compare(a.Key+"\x00"+a.Path, b.Key+"\x00"+b.Path)
		})
		return nil, &FaultsError{Faults: faults}
	}
	return s, nil
}

// fillIn sets what the ConfigMap may leave out of a key that it has.
func (s *Settings) fillIn() {
	orElse := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	def := Defaults()
	orElse(&s.Storage.Image, def.Storage.Image)
	orElse(&s.Storage.CABundleMountPath, def.Storage.CABundleMountPath)
	orElse(&s.Storage.CPUModelcar, def.Storage.CPUModelcar)
	orElse(&s.Storage.MemoryModelcar, def.Storage.MemoryModelcar)
	orElse(&s.Credentials.StorageSpecSecret, def.Credentials.StorageSpecSecret)
	orElse(&s.Credentials.GCS.CredentialFile, def.Credentials.GCS.CredentialFile)
	orElse(&s.Credentials.S3.AccessKeyIDName, "awsAccessKeyID")
	orElse(&s.Credentials.S3.SecretAccessKeyName, "awsSecretAccessKey")
	orElse(&s.Ingress.Domain, def.Ingress.Domain)
	orElse(&s.Ingress.DomainTemplate, def.Ingress.DomainTemplate)
	orElse(&s.Ingress.URLScheme, def.Ingress.URLScheme)
	orElse(&s.Ingress.KnativeLocalGatewayService, s.Ingress.LocalGatewayService)
	orElse(&s.CanaryAnalysis.SuccessRateQuery, def.CanaryAnalysis.SuccessRateQuery)
	orElse(&s.CanaryAnalysis.LatencyQuery, def.CanaryAnalysis.LatencyQuery)
	if s.CanaryAnalysis.TimeoutSeconds == 0 {
		s.CanaryAnalysis.TimeoutSeconds = def.CanaryAnalysis.TimeoutSeconds
	}
	orElse(&s.Explainers.ART.DefaultVersion, def.Explainers.ART.DefaultVersion)
	if mode, ok := serving.ParseDeploymentMode(string(s.Deploy.DefaultMode)); ok {
		s.Deploy.DefaultMode = mode
	}
}

// maxShown is how much of a value that is wrong a fault shows, in bytes: an event has room for 1024, and why it is wrong comes after it.
const maxShown = 200

// problem writes a fault with the beginnings of the texts that it quotes.
func problem(format string, args []any) string {
	short := make([]any, len(args))
	for i, a := range args {
		if err, ok := a.(error); ok {
			a = err.Error()
		}
		if v := reflect.ValueOf(a); v.Kind() == reflect.String && v.Len() > maxShown { // also of the types of modes
			a = strings.ToValidUTF8(v.String()[:maxShown], "") + "…"
		}
		short[i] = a
	}
	return fmt.Sprintf(format, short...)
}

type decoder struct {
	data   map[string]string
	known  []string
	faults []Fault
	odd    []Fault
}

func (d *decoder) fault(key, path, format string, args ...any) {
	d.faults = append(d.faults, Fault{Key: key, Path: path, Problem: problem(format, args)})
}

// broken are the keys that could not be read; their values are not judged a second time.
func (d *decoder) broken() map[string]bool {
	keys := map[string]bool{}
	for _, f := range d.faults {
		keys[f.Key] = true
	}
	return keys
}

// section decodes one key. A field of a wrong type is a fault and is left out, so that the others are still looked at.
func section[T any](d *decoder, key string, into *T) {
	d.known = append(d.known, key)
	text, ok := d.data[key]
	if !ok {
		return
	}
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		d.fault(key, "$", "is not JSON: %s", syntaxProblem(text, err))
		return
	}
	fields, ok := doc.(map[string]any)
	if !ok {
		d.fault(key, "$", "must be a JSON object, is %s", kindOf(doc))
		return
	}
	d.unknown(key, text, reflect.TypeFor[T]())
	for {
		body, err := json.Marshal(fields)
		if err != nil {
			d.fault(key, "$", "cannot be read: %v", err)
			return
		}
		var fresh T
		err = json.Unmarshal(body, &fresh)
		if err == nil {
			*into = fresh
			return
		}
		var wrong *json.UnmarshalTypeError
		if !errors.As(err, &wrong) || !remove(fields, wrong.Field) {
			d.fault(key, "$", "cannot be read: %v", err)
			return
		}
		d.fault(key, "$."+wrong.Field, "must be %s, is %s", wanted(wrong), wrong.Value)
	}
}

// remove takes the value at a dotted path out of a document, or the deepest part of it that is there.
func remove(fields map[string]any, path string) bool {
	parts := strings.Split(path, ".")
	for i, part := range parts {
		key := part
		if _, ok := fields[key]; !ok { // encoding/json matches names without regard to case
			for k := range fields {
				if strings.EqualFold(k, part) {
					key = k
				}
			}
		}
		inner, ok := fields[key].(map[string]any)
		if !ok || i == len(parts)-1 {
			_, there := fields[key]
			delete(fields, key)
			return there
		}
		fields = inner
	}
	return false
}

func wanted(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); {
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case kind == "bool":
		return "true or false"
	case kind == "slice":
		return "a list"
	case kind == "struct", kind == "map":
		return "an object"
	default:
		return "a " + kind
	}
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	default:
		return "a list"
	}
}

func syntaxProblem(text string, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err.Error()
	}
	before := text[:min(int(syntax.Offset), len(text))]
	line := strings.Count(before, "\n") + 1
	column := len(before) - strings.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("line %d, column %d: %v", line, column, err)
}
