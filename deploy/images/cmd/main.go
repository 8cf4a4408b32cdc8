// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd writes an OCI image layout for each binary and prints a table of them: go run ./deploy/images/cmd -bin bin -out bin/images.
// A program of anybody's own needs a title: go run ./deploy/images/cmd -title "Mean of rows" mean.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/kserve-go/kserve-go/deploy/images"
)

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder with the static binaries")
	flag.StringVar(&o.out, "out", "bin/images", "folder that gets a folder for each image")
	flag.StringVar(&o.prefix, "prefix", "kserve-go", "first part of every image's name")
	flag.StringVar(&o.tag, "tag", "latest", "tag of every image")
	flag.StringVar(&o.title, "title", "", "what the images are of, for programs that are none of this project's")
	flag.StringVar(&o.version, "version", "dev", "version that the labels tell")
	flag.StringVar(&o.revision, "revision", "", "commit that the labels tell")
	flag.Float64Var(&o.most, "max", 30, "megabytes that a pull of an image may transfer; larger is an error")
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	bin, out, prefix, tag, title, version, revision string
	most                                            float64
}

// titles names every binary that is deployed, and says what it is.
func titles() map[string]string {
	return map[string]string{
		"controller": "kserve-go controller", "webhook": "kserve-go admission webhook", "storage-initializer": "kserve-go storage initializer",
		"model-server": "kserve-go model server", "agent": "kserve-go agent", "router": "kserve-go inference graph router", "kserve": "kserve-go command line",
	}
}

// image makes and writes the image of one binary.
func (o *options) image(name string) (images.Written, error) {
	image, err := images.Build(images.Options{
		Name: name, Binary: filepath.Join(o.bin, name), Title: cmp.Or(titles()[name], o.title), Version: o.version, Revision: o.revision,
	})
	if err != nil {
		return images.Written{}, fmt.Errorf("build image of %s: %w", name, err)
	}
	return images.Write(filepath.Join(o.out, name), o.prefix+"/"+name+":"+o.tag, image)
}

func run(o options, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("name the binaries to make images of; there are %s", strings.Join(slices.Sorted(maps.Keys(titles())), ", "))
	}
	var strange []string
	for _, name := range names {
		if titles()[name] == "" && o.title == "" {
			strange = append(strange, name)
		}
	}
	if len(strange) > 0 {
		return fmt.Errorf("no binary of this project is called %s: say with -title what it is", strings.Join(strange, ", or "))
	}
	written, faults := make([]images.Written, len(names)), make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() { written[i], faults[i] = o.image(name) })
	}
	group.Wait()
	if err := errors.Join(faults...); err != nil {
		return err
	}
	var fault error
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, w := range written {
		megabytes := float64(w.Size) / 1e6
		fmt.Fprintf(table, "%s\t%s\t%.1f MB\n", w.Ref, w.Digest, megabytes)
		if megabytes > o.most {
			fault = errors.Join(fault, fmt.Errorf("%s has %.1f MB, more than %.0f", w.Ref, megabytes, o.most))
		}
	}
	return errors.Join(table.Flush(), fault)
}
