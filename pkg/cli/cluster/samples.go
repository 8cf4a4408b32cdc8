// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy/samples"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/storage/sampleserver"
)

// samplesImage is the image of this very program, which carries the models of the samples.
const samplesImage = imagePrefix + "/kserve:" + imageTag

// sampleObjects are the store of the samples' models and what lets the services of the namespace default read it.
func sampleObjects() ([]*unstructured.Unstructured, error) {
	store, err := decode(samples.Store())
	if err != nil {
		return nil, fmt.Errorf("read the samples' store: %w", err)
	}
	access, err := decode(samples.Access())
	if err != nil {
		return nil, fmt.Errorf("read the samples' credentials: %w", err)
	}
	for _, o := range access {
		o.SetNamespace("default")
	}
	return append(store, access...), nil
}

func decode(raw []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw))); ; {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			return nil, err
		}
		if string(content) == "null" { // comments alone
			continue
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(content); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
}

// samplesCommand is what the samples' store runs in its pod.
func samplesCommand(streams output.Streams) *cobra.Command {
	listen := ""
	cmd := &cobra.Command{
		Use:    "samples",
		Short:  "Serve the models of the samples as an S3 bucket, until SIGTERM",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveSamples(cmd.Context(), listen, streams)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", ":9000", "address to listen on")
	return cmd
}

func serveSamples(ctx context.Context, listen string, streams output.Streams) error {
	base, wait, err := sampleserver.New(map[string]fs.FS{samples.Bucket: samples.Models()}).Start(ctx, listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "serving s3://%s on %s\n", samples.Bucket, base)
	return wait()
}
