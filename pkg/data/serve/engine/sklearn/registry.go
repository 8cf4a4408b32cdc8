// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

// newRegistry lists the classes that are served, by subpackage and name: see key.
func newRegistry() map[string]builder {
	r := map[string]builder{}
	addLinear(r)
	addTrees(r)
	addCompositions(r)
	addScalers(r)
	addImputers(r)
	addEncoders(r)
	addSVM(r)
	addBayes(r)
	addNeural(r)
	addNeighbours(r)
	addText(r)
	return r
}
