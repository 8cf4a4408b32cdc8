// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spelling finds what a person may have meant, for messages that ask "did you mean …?".
//
// Called by: apis/serving/v1beta1, control/{admit/review,resolve}, cli, cli/{cluster,manifest}.
// Next: nothing; it is a leaf.
package spelling

// Edits is how many bytes have to be added, taken away or changed to make b of a (the Levenshtein distance). It takes time in
// the product of the lengths: the caller keeps them short.
func Edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
