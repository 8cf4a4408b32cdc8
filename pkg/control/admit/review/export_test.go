// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package review

// TryBodies takes so much of the bound of bodies, if it is free.
func (b *Budget) TryBodies(n int64) bool { return b.bodies.TryAcquire(n) }

// ReleaseBodies gives it back.
func (b *Budget) ReleaseBodies(n int64) { b.bodies.Release(n) }

// TryParts is the same of the bound of parts.
func (b *Budget) TryParts(n int64) bool { return b.parts.TryAcquire(n) }
