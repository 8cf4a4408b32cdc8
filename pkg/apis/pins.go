//go:build pins

package apis

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/stretchr/testify/require"
	_ "k8s.io/api/apps/v1"
	_ "k8s.io/api/autoscaling/v2"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apimachinery/pkg/util/validation/field"
	_ "sigs.k8s.io/yaml"
)
