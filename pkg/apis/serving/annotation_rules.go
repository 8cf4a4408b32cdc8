// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/spelling"
)

// Carrier is what carries annotations; not every annotation means something everywhere.
type Carrier int

// The carriers.
const (
	// OnService is the metadata of an InferenceService.
	OnService Carrier = 1 << iota
	// OnComponent is the annotations of a predictor, transformer or explainer.
	OnComponent
	// OnGraph is the metadata of an InferenceGraph.
	OnGraph
	// OnRuntime is the metadata of a runtime.
	OnRuntime
	// OnRuntimePods is the annotations in the spec of a runtime.
	OnRuntimePods
	// OnCredentials is the metadata of a Secret or ServiceAccount.
	OnCredentials
)

const onPods = OnService | OnComponent | OnRuntimePods

// String says where a person finds it.
func (c Carrier) String() string {
	var places []string
	for _, place := range []struct {
		carrier Carrier
		name    string
	}{
		{OnService, "metadata.annotations of an InferenceService"},
		{OnComponent, "annotations of a component"},
		{OnGraph, "metadata.annotations of an InferenceGraph"},
		{OnRuntime, "metadata.annotations of a runtime"},
		{OnRuntimePods, "spec.annotations of a runtime"},
		{OnCredentials, "a Secret or ServiceAccount"},
	} {
		if c&place.carrier != 0 {
			places = append(places, place.name)
		}
	}
	return strings.Join(places, " or ")
}

// annotationRule says where an annotation means something, and what it may say.
type annotationRule struct {
	on Carrier
	// check returns why a value cannot be used, with a fix; nil where another rule checks it or any text is right.
	check func(path *field.Path, value string) *field.Error
	// odd returns what is odd about a value that is accepted.
	odd func(value string) string
}

// annotationRules are the annotations of this group and its sisters.
func annotationRules() map[string]annotationRule {
	flag := func(on Carrier) annotationRule { return annotationRule{on: on, check: isTrueOrFalse, odd: inLowerCase} }
	secret := annotationRule{on: OnCredentials}
	unused := annotationRule{on: OnService | OnComponent, odd: func(string) string { return "has no effect; remove it" }}
	rules := map[string]annotationRule{
		AnnotationDeploymentMode:           {on: OnService | OnGraph},
		AnnotationAutoscalerClass:          {on: OnService | OnComponent | OnGraph | OnRuntimePods},
		AnnotationStop:                     {on: OnService | OnGraph, check: isTrueOrFalse},
		AnnotationEnableTagRouting:         flag(OnService | OnComponent),
		AnnotationEnableMetricAggregation:  flag(onPods),
		AnnotationEnablePrometheusScraping: flag(onPods),
		AnnotationDisableAutoUpdate:        flag(OnService),
		AnnotationGKEAccelerator:           {on: onPods},
		AnnotationGPUResourceTypes:         {on: onPods},
		AnnotationDisableLocalModel: {on: OnService, odd: func(value string) string {
			if value == "true" {
				return ""
			}
			return "keeps the service from local model caches whatever its value; write \"true\", or remove it"
		}},
		AnnotationNodeGroup:               {on: OnService},
		AnnotationStorageInitializerUID:   {on: onPods, check: isUserID},
		AnnotationStorageSecretName:       {on: OnService | OnComponent, check: isObjectName},
		AnnotationServerType:              {on: OnRuntime},
		AnnotationMetric:                  {on: OnService | OnComponent},
		AnnotationMetrics:                 {on: OnService | OnComponent},
		AnnotationTargetUtilization:       {on: OnService | OnComponent},
		AnnotationLoggerSecretName:        unused,
		AnnotationLoggerSecretPath:        unused,
		AnnotationLoggerSecretFile:        unused,
		AnnotationStorageReadOnly:         {on: onPods, check: isTrueOrFalse, odd: inLowerCase},
		AnnotationContainerPrometheusPort: {on: onPods, check: isPort},
		AnnotationContainerPrometheusPath: {on: onPods},
	}
	for _, key := range []string{
		AnnotationS3Endpoint, AnnotationS3Region, AnnotationS3VerifySSL, AnnotationS3UseHTTPS, AnnotationS3UseVirtualBucket,
		AnnotationS3UseAccelerate, AnnotationS3UseAnonCredential, AnnotationS3CABundleConfigMap, AnnotationS3CABundle,
	} {
		rules[key] = secret
	}
	for _, key := range OwnAnnotations() {
		rules[key] = annotationRule{on: OnService}
	}
	return rules
}

// knownAnnotations and namesByPrefix, the last parts of the known keys by what stands before the slash, are made once.
var (
	knownAnnotations = annotationRules()          //nolint:gochecknoglobals // made once and only read
	namesByPrefix    = byPrefix(knownAnnotations) //nolint:gochecknoglobals // made once and only read
)

func byPrefix(known map[string]annotationRule) map[string][]string {
	all := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		prefix, name, _ := strings.Cut(key, "/")
		all[prefix] = append(all[prefix], name)
	}
	return all
}

// maxOdd bounds the keys of one object that are compared with the known ones: more are no slips of the pen.
const maxOdd = 100

// knownLabels are labels that people mistake for annotations, and the other way round.
func knownLabels() []string { return []string{LabelVisibility, LabelKnativeVisibility} }

// ValidateAnnotations checks the annotations that this project reads: their values, and keys that are almost one of them.
func ValidateAnnotations(path *field.Path, annotations map[string]string, on Carrier) (field.ErrorList, []Warning) {
	var faults field.ErrorList
	var warnings []Warning
	compared := 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		rule, known := knownAnnotations[key]
		at := path.Key(key)
		switch {
		case !known:
			if compared++; compared > maxOdd {
				continue
			}
			if odd := almostAnnotation(key); odd != "" {
				warnings = append(warnings, Warning{at.String(), odd})
			}
			continue
		case rule.on&on == 0:
			warnings = append(warnings, Warning{at.String(), fmt.Sprintf("has no effect here; it belongs to %s", rule.on)})
			continue
		}
		if rule.check != nil {
			if fault := rule.check(at, annotations[key]); fault != nil {
				faults = append(faults, fault)
				continue
			}
		}
		if rule.odd != nil {
			if odd := rule.odd(annotations[key]); odd != "" {
				warnings = append(warnings, Warning{at.String(), odd})
			}
		}
	}
	return faults, warnings
}

// ValidateLabels says which labels of a service are meant to be annotations, or are almost right.
func ValidateLabels(path *field.Path, labels map[string]string) []Warning {
	var warnings []Warning
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := path.Key(key).String()
		value := labels[key]
		switch rule, annotation := knownAnnotations[key]; {
		case annotation && rule.on&OnService != 0:
			warnings = append(warnings, Warning{at, "is an annotation and has no effect as a label; move it to metadata.annotations"})
		case value != VisibilityClusterLocal && slices.Contains(knownLabels(), key) && looksLike(value, VisibilityClusterLocal):
			warnings = append(warnings, Warning{at, fmt.Sprintf("%q keeps nothing inside the cluster; did you mean %q?", value, VisibilityClusterLocal)})
		}
	}
	return warnings
}

var punctuation = strings.NewReplacer("-", "", "_", "", ".", "") //nolint:gochecknoglobals // made once and only read

func plainWord(text string) string { return strings.ToLower(punctuation.Replace(text)) }

// looksLike compares two words without their punctuation and case.
func looksLike(a, b string) bool {
	return plainWord(a) == plainWord(b) || spelling.Closest(a, []string{b}) != ""
}

// longName is how long the last part of a key has to be to be taken for one of ours under another prefix.
const longName = 10

// maxKey bounds the keys that are looked at; a longer one is no slip of the pen.
const maxKey = 80

// almostAnnotation says which known key an unknown one was probably meant to be; empty where it is somebody else's.
func almostAnnotation(key string) string {
	if len(key) > maxKey || strings.HasPrefix(key, InternalPrefix) {
		return ""
	}
	for _, label := range knownLabels() {
		if key == label {
			return "is a label and has no effect as an annotation; move it to metadata.labels"
		}
	}
	prefix, name, hasPrefix := strings.Cut(key, "/")
	if !hasPrefix {
		prefix, name = "", key
	}
	same := namesByPrefix[prefix]
	if len(same) > 0 {
		if best := closestName(name, same); best != "" {
			return fmt.Sprintf("is not known and has no effect; did you mean %q?", prefix+"/"+best)
		}
		if prefix+"/" == OwnPrefix {
			return "is not known and has no effect; known are " + strings.Join(same, ", ")
		}
		return ""
	}
	for _, known := range slices.Sorted(maps.Keys(namesByPrefix)) {
		for _, n := range namesByPrefix[known] {
			if strings.EqualFold(n, name) && len(n) >= longName {
				return fmt.Sprintf("is not known and has no effect; did you mean %q?", known+"/"+n)
			}
		}
	}
	return ""
}

// closestName finds a name that differs in a few letters, or only in how its words are joined.
func closestName(name string, known []string) string {
	for _, k := range known {
		if plainWord(name) == plainWord(k) {
			return k
		}
	}
	return spelling.Closest(name, known)
}

func isTrueOrFalse(path *field.Path, value string) *field.Error {
	if strings.EqualFold(value, "true") || strings.EqualFold(value, "false") {
		return nil
	}
	return field.NotSupported(path, value, []string{"true", "false"})
}

func inLowerCase(value string) string {
	if lower := strings.ToLower(value); lower != value {
		return fmt.Sprintf("%q is read by its letters and has no effect; write %q", value, lower)
	}
	return ""
}

func isUserID(path *field.Path, value string) *field.Error {
	if id, err := strconv.ParseInt(value, 10, 32); err != nil || id < 0 {
		return field.Invalid(path, value, "must be a user id, a whole number from 0 to 2147483647; write one in quotes")
	}
	return nil
}

func isObjectName(path *field.Path, value string) *field.Error {
	if len(validation.IsDNS1123Subdomain(value)) > 0 {
		return field.Invalid(path, value, "must be the name of a Secret; write lower-case letters, digits, '-' and '.', or remove it")
	}
	return nil
}

func isPort(path *field.Path, value string) *field.Error {
	if port, err := strconv.ParseUint(value, 10, 16); err != nil || port == 0 {
		return field.Invalid(path, value, "must be a port, a whole number from 1 to 65535; write it in quotes")
	}
	return nil
}
