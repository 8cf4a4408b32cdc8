// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// Version is the name of this version of the API.
const Version = "v1beta1"

var (
	// SchemeGroupVersion is the group and version of every kind of this package.
	SchemeGroupVersion = schema.GroupVersion{Group: serving.GroupName, Version: Version}

	// SchemeBuilder collects what AddToScheme does.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme teaches a scheme the kinds of this package.
	AddToScheme = SchemeBuilder.AddToScheme
)

// InferenceServiceKind is the kind of an InferenceService.
const InferenceServiceKind = "InferenceService"

// Resource returns the qualified name of a resource of this package.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &InferenceService{}, &InferenceServiceList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
