// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is a Kubernetes object to be, with its kind filled in.
type Object interface {
	runtime.Object
	metav1.Object
}
