// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// imageVolumes says, as an advice that nothing depends on, that the operator mounts model images as volumes and the cluster is too old for
// that. A cluster that has not told its version leaves what was said before.
func (o *observer) imageVolumes() {
	if o.in.Settings == nil || o.in.Settings.Storage.OCI() != settings.OCINative {
		return
	}
	if o.in.Release == "" {
		if old := find(o.old.Conditions, servingv1beta1.OCIImageVolumeCompatible); old != nil {
			o.conditions.keep(*old)
		}
		return
	}
	minor, known := minorOf(o.in.Release)
	var reason, lacks string
	switch {
	case !known || minor >= 35:
		return
	case minor < 31:
		reason, lacks = servingv1beta1.ReasonImageVolumeUnsupported, "has no image volumes"
	case minor < 33:
		reason, lacks = servingv1beta1.ReasonImageVolumeSubPathUnsupported, "cannot mount a folder of an image volume"
	default:
		reason, lacks = servingv1beta1.ReasonImageVolumeAlpha, "has image volumes only where the feature gate ImageVolume is on"
	}
	o.conditions.put(servingv1beta1.OCIImageVolumeCompatible, fact{status: corev1.ConditionFalse, reason: reason, tell: true, message: fmt.Sprintf(
		"the operator mounts model images as volumes (storageInitializer.ociModelMode: native), but Kubernetes %s %s; 1.35 and later have all that is needed", o.in.Release, lacks)})
}

// minorOf reads the minor version of Kubernetes 1 from a release such as v1.34.1 or v1.31.2-gke.100.
func minorOf(release string) (minor int, known bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(release, "v"), "1.")
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	minor, err := strconv.Atoi(rest[:end])
	return minor, err == nil
}
