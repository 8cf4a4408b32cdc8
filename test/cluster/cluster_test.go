// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster_test applies InferenceServices to a cluster on this machine, as a person would, and looks at what becomes of them: what
// status says, what the model answers, what is left afterwards. One cluster serves all tests, each of them in a namespace of its own.
//
// Called by: make test-cluster, make test-cluster-rootless.
// Next: cmd/kserve, whose `local up` starts the cluster.
package cluster_test

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// enabled is the variable that lets the tests start a cluster: they need binaries and images that `make test-cluster` builds.
const enabled = "KSERVE_TEST_CLUSTER"

// scenario is a test by the sentence that it proves.
type scenario struct {
	name string
	run  func(*space)
}

func TestCluster(t *testing.T) {
	if os.Getenv(enabled) == "" {
		t.Skip("needs a cluster: make test-cluster")
	}
	before := takeStock(t)
	w := up(t)
	t.Run("together", func(t *testing.T) {
		for _, s := range together() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.run(w.space(t))
			})
		}
	})
	// What disturbs the whole cluster goes alone.
	for _, s := range alone() {
		t.Run(s.name, func(t *testing.T) { s.run(w.space(t)) })
	}
	t.Run("the shipped roles were enough", w.rolesWereEnough)
	if !w.keep {
		t.Run("nothing is left of the cluster", func(t *testing.T) { w.down(t, before) })
	}
}

func together() []scenario {
	return []scenario{
		{"iris from S3 answers in every protocol", irisFromS3},
		{"iris from a web server answers gRPC on the service's port", irisFromWeb},
		{"a model that is not there", modelNotThere},
		{"credentials that are wrong", wrongCredentials},
		{"a model that is damaged", damagedModel},
		{"an image that cannot be had", imageNotThere},
		{"an initializer that needs too much memory", hungryInitializer},
		{"a pod that no node has room for", noRoom},
		{"what the webhook refuses", refused},
		{"a model is replaced under load", replacedUnderLoad},
		{"more load, more pods", scaledByLoad},
		{"deleting leaves nothing", deletedWhole},
		{"the samples", allSamples},
	}
}

func alone() []scenario {
	return []scenario{
		{"the controller is killed", controllerKilled},
		{"another controller leads", leaderChanges},
		{"a webhook is killed", webhookKilled},
		{"the API server restarts", apiServerRestarts},
		{"a canary gets its share, and no request is lost when it goes", canaries},
	}
}

// began is when the clock of the progress lines started.
var began = time.Now()

// tell prints a line at once; `go test` holds back what t.Log says.
func tell(format string, args ...any) {
	fmt.Fprintf(os.Stdout, "%7.1fs %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}
