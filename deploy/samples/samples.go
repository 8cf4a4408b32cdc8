// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package samples carries the models of the sample services inside kserve, so that a sample needs no network.
//
// Called by: cli/run, which serves them to itself as the S3 bucket of this package; cli/cluster, which serves them in a cluster.
// Next: storage/sampleserver.
package samples

import (
	"embed"
	"fmt"
	"io/fs"
)

// Bucket is the bucket that the samples' storageUris name: s3://kserve-samples/iris is models/iris.
const Bucket = "kserve-samples"

//go:embed cluster models store
var files embed.FS

// Store is the bucket as objects of a cluster.
func Store() []byte { return read("store/store.yaml") }

// Access is what a namespace needs so that its services can read the bucket.
func Access() []byte { return read("cluster/s3.yaml") }

func read(name string) []byte {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("samples: %s is embedded: %v", name, err)) // impossible: the directive above names it
	}
	return b
}

// Models is the content of the bucket.
func Models() fs.FS {
	sub, err := fs.Sub(files, "models")
	if err != nil {
		panic(fmt.Sprintf("samples: the folder of models is embedded: %v", err)) // impossible: the directive above names it
	}
	return sub
}
