// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// keys by which the items of some lists are found, in this order of preference.
func keys(list string) []string {
	switch list {
	case "containers", "initContainers", "env", "volumes", "imagePullSecrets", "resourceClaims", "secrets":
		return []string{"name"}
	case "volumeMounts":
		return []string{"mountPath"}
	case "conditions":
		return []string{"type"}
	case "ports":
		return []string{"name", "port", "containerPort"}
	case "ownerReferences", "tolerations", "canaryStatuses", "canary":
		return []string{"name", "key"}
	}
	return nil
}

// lacks lists what a part demands and the whole does not have.
func lacks(part, whole any, path string) []string {
	switch want := part.(type) {
	case nil:
		if !isEmpty(whole) {
			return []string{fmt.Sprintf("%s: must be absent, is %s", path, text(whole))}
		}
		return nil
	case doc:
		if inner, ok := want["contains"]; ok && len(want) == 1 {
			return lacksText(inner, whole, path)
		}
		have, ok := whole.(doc)
		if !ok {
			if allNil(want) && whole == nil {
				return nil
			}
			return []string{fmt.Sprintf("%s: expected %s, is %s", path, text(part), text(whole))}
		}
		var out []string
		for _, k := range slices.Sorted(maps.Keys(want)) {
			out = append(out, lacks(want[k], have[k], path+"."+k)...)
		}
		return out
	case []any:
		return lacksItems(want, whole, path)
	}
	if !same(part, whole, path) {
		return []string{fmt.Sprintf("%s: expected %s, is %s", path, text(part), text(whole))}
	}
	return nil
}

func allNil(d doc) bool {
	for _, v := range d {
		if v != nil {
			return false
		}
	}
	return true
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case doc:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	}
	return false
}

func lacksText(want, have any, path string) []string {
	list, ok := want.([]any)
	if !ok {
		list = []any{want}
	}
	var out []string
	whole, ok := have.(string)
	if !ok && have != nil {
		whole = text(have)
	}
	for _, one := range list {
		if !strings.Contains(whole, fmt.Sprint(one)) {
			out = append(out, fmt.Sprintf("%s: does not contain %q, is %q", path, one, whole))
		}
	}
	return out
}

func lacksItems(want []any, whole any, path string) []string {
	have, ok := whole.([]any)
	if !ok && whole != nil {
		return []string{fmt.Sprintf("%s: expected a list, is %s", path, text(whole))}
	}
	last := path[strings.LastIndex(path, ".")+1:]
	if by := keys(last); by != nil && len(want) > 0 {
		var out []string
		for _, item := range want {
			key, name := keyOf(item, by)
			if key == "" {
				return []string{fmt.Sprintf("%s: an expected item has none of %v: %s", path, by, text(item))}
			}
			at := fmt.Sprintf("%s[%v]", path, name)
			i := slices.IndexFunc(have, func(h any) bool {
				d, isDoc := h.(doc)
				return isDoc && fmt.Sprint(d[key]) == fmt.Sprint(name)
			})
			if i < 0 {
				out = append(out, at+": missing")
				continue
			}
			out = append(out, lacks(item, have[i], at)...)
		}
		return out
	}
	if len(want) != len(have) {
		return []string{fmt.Sprintf("%s: expected %s, is %s", path, text(want), text(whole))}
	}
	var out []string
	for i := range want {
		out = append(out, lacks(want[i], have[i], fmt.Sprintf("%s[%d]", path, i))...)
	}
	return out
}

func keyOf(item any, by []string) (string, any) {
	d, _ := item.(doc)
	for _, k := range by {
		if v, ok := d[k]; ok {
			return k, v
		}
	}
	return "", nil
}

func same(a, b any, path string) bool {
	if text(a) == text(b) {
		return true
	}
	if !strings.Contains(path, "limits") && !strings.Contains(path, "requests") && !strings.Contains(path, "sizeLimit") || b == nil {
		return false
	}
	x, errX := resource.ParseQuantity(fmt.Sprint(a))
	y, errY := resource.ParseQuantity(fmt.Sprint(b))
	return errX == nil && errY == nil && x.Cmp(y) == 0
}

var pathPart = regexp.MustCompile(`\[([^\]]*)\]|([^.\[\]]+)`)

// at goes down a path: keys, and in lists an index or the name, type, mountPath, host or key of an item.
func at(v any, path string) any {
	for _, m := range pathPart.FindAllStringSubmatch(path, -1) {
		part := m[1] + m[2]
		switch list := v.(type) {
		case doc:
			v = list[part]
		case []any:
			i := slices.IndexFunc(list, func(item any) bool {
				d, _ := item.(doc)
				for _, k := range []string{"name", "type", "mountPath", "host", "key"} {
					if d[k] == part {
						return true
					}
				}
				return false
			})
			if n, err := strconv.Atoi(part); err == nil && n < len(list) && i < 0 {
				i = n
			}
			if i < 0 {
				return nil
			}
			v = list[i]
		default:
			return nil
		}
	}
	return v
}
