// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Where installations have the controller: KServe's own as well.
const (
	SystemNamespace = "kserve"
	ControllerName  = "kserve-controller-manager"
)

// Unattended says that no controller runs, so that a status is as old as its end. It says nothing where that cannot be seen: an ordinary user may not
// read the namespace, and the controller may run elsewhere.
func Unattended(ctx context.Context, client dynamic.Interface) (Cause, bool) {
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	d, err := client.Resource(deployments).Namespace(SystemNamespace).Get(ctx, ControllerName, metav1.GetOptions{})
	if err != nil {
		return Cause{}, false
	}
	ready, _, _ := unstructured.NestedInt64(d.Object, "status", "readyReplicas") // what is not there is 0
	wanted, said, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
	if !said {
		wanted = 1
	}
	if ready > 0 {
		return Cause{}, false
	}
	return Cause{Message: fmt.Sprintf(
		"the controller does not run (Deployment %s/%s: 0 of %d pods are ready), so all else that is said here may be out of date; kserve local logs controller, or the log of its pod, tells why",
		SystemNamespace, ControllerName, wanted)}, true
}
