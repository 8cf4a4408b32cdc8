// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import "cmp"

// Clash is a host that a route of a service has, and one of another service has as well.
type Clash struct {
	Host string
	// Namespace and Name of the other service.
	Namespace, Name string
}

// Less orders clashes, so that it is always the same one that is told.
func (c *Clash) Less(other *Clash) bool {
	return cmp.Or(cmp.Compare(c.Host, other.Host), cmp.Compare(c.Namespace, other.Namespace), cmp.Compare(c.Name, other.Name)) < 0
}
