// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// UpOptions are what the flags of `kserve local up` set.
type UpOptions struct {
	Images   string
	Bare     bool
	Fresh    bool
	Samples  bool
	FullCRDs bool
	// GatewayAPI is nil where the cluster is to stay as it is.
	GatewayAPI *bool
	Wait       time.Duration
	Args       []string
	Output     output.Format
}

// BindFlags declares the flags.
func (o *UpOptions) BindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Images, "images", "", "folder with an OCI image layout per program (default: images beside kserve, else bin/images of this checkout)")
	flags.BoolVar(&o.Bare, "bare", false, "start Kubernetes only and install nothing")
	flags.BoolVar(&o.Fresh, "fresh", false, "throw away what an earlier cluster of this name stored")
	flags.BoolVar(&o.Samples, "samples", true, "serve the models of the samples inside the cluster, and let the namespace default read them")
	flags.BoolVar(&o.FullCRDs, "full-crds", false, "install the kinds with their whole schemas, for kubectl explain: takes seconds longer and 150 MB more")
	flags.BoolFunc("gateway-api", "reach services through the Gateway API instead of Ingresses: a canary's share of the requests needs it (default: as it was, at first Ingresses)", func(text string) error {
		on, err := strconv.ParseBool(text)
		o.GatewayAPI = &on
		return err
	})
	flags.DurationVar(&o.Wait, "wait", 3*time.Minute, "how long controller and webhook may take to be ready")
	flags.StringArrayVar(&o.Args, "cluster-flag", nil, "one more flag of kserve-cluster up, as --name=value; may be repeated")
	o.Output = output.Table
	flags.VarP(&o.Output, "output", "o", "how to print what there is when it is up")
}

func upCommand(t *Target, streams output.Streams) *cobra.Command {
	var o UpOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster and install KServe on it; a second time it installs what changed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return up(cmd.Context(), t, o, streams)
		},
	}
	o.BindFlags(cmd.Flags())
	return cmd
}

// result is what `kserve local up -o json` tells.
type result struct {
	record.Record
	Images  []loaded `json:"images,omitempty"`
	Seconds float64  `json:"seconds"`
}

func up(ctx context.Context, t *Target, o UpOptions, streams output.Streams) error {
	p, err := t.place()
	if err != nil {
		return err
	}
	say := newSteps(streams.Err)
	images, err := o.images()
	if err != nil {
		return err
	}
	r, done, err := (&launch{target: t, place: p, options: o, images: images, say: say}).started(ctx)
	if err != nil {
		return err
	}
	if !o.Bare {
		if err := done(); err != nil {
			return err
		}
		if err := install(ctx, r, o, images, say); err != nil {
			if ctx.Err() != nil {
				fmt.Fprintf(streams.Err, "the cluster runs; kserve local up%s goes on, kserve local down%s stops it\n", p.Flags(), p.Flags())
			}
			return err
		}
	}
	end := result{Record: *r, Images: images, Seconds: time.Since(say.started).Seconds()}
	if o.Output != output.Table {
		return output.Write(streams.Out, o.Output, end)
	}
	return summary(streams, p, end, o)
}

func (o *UpOptions) images() ([]loaded, error) {
	if o.Bare {
		return nil, nil
	}
	dir, err := imagesDir(o.Images)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%w", err)
	}
	images, err := layouts(dir)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%w", err)
	}
	return images, nil
}

// launch is one start of a cluster.
type launch struct {
	target  *Target
	place   *record.Place
	options UpOptions
	images  []loaded
	say     *steps
}

// started returns the running cluster, started if need be, and what waits until its images are loaded.
func (l *launch) started(ctx context.Context) (*record.Record, func() error, error) {
	t, p, o, images, say := l.target, l.place, l.options, l.images, l.say
	path := ""
	load := make(chan error, 1)
	begin := func() { go func() { load <- loadAll(ctx, path, p, images) }() }
	wait := func() error {
		if err := <-load; err != nil {
			return err
		}
		say.done("%d images", len(images))
		return nil
	}
	r, err := l.other(ctx)
	if err == nil {
		path, err = t.program(ctx, p)
	}
	if err == nil && r == nil {
		s := starter{place: p, program: path, args: o.Args, say: say, began: begin}
		if o.Fresh {
			s.args = append(s.args, "--fresh")
		}
		if r, err = s.start(ctx); !errors.Is(err, errOther) {
			return r, wait, err
		}
		r, err = l.other(ctx)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case r == nil:
		return nil, nil, exit.Errorf(exit.Failed, "%w, and that was stopped; start it again with kserve local up%s", errOther, p.Flags())
	case o.Fresh:
		return nil, nil, exit.Errorf(exit.Usage, "cluster %q runs, and --fresh would throw its objects away: stop it first with kserve local down%s", p.Name, p.Flags())
	case len(o.Args) > 0:
		return nil, nil, exit.Errorf(exit.Usage, "cluster %q runs already: --cluster-flag counts when it starts; stop it first with kserve local down%s", p.Name, p.Flags())
	}
	say.done("cluster %q runs already (process %d)", p.Name, r.PID)
	if found, err := t.find(ctx); err == nil && !sameFile(found, path) {
		say.done("it runs from another kserve-cluster than the one found now: down and up would change it")
	}
	begin()
	return r, wait, nil
}

// other is the cluster that runs already, or nothing. One that another process is just starting or ending is waited for.
func (l *launch) other(ctx context.Context) (*record.Record, error) {
	limit, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		pid, err := l.place.Owner()
		if err != nil || pid == 0 {
			return nil, err
		}
		r, err := l.place.Running()
		if !errors.Is(err, record.ErrNotRunning) {
			return r, err
		}
		l.say.wait("waiting for process %d, which starts or ends the cluster", pid)
		if !sleep(limit, pause) {
			return nil, exit.Errorf(exit.Busy, "%w", err)
		}
	}
}

func summary(streams output.Streams, p *record.Place, r result, o UpOptions) error {
	rows := [][]string{{"kubeconfig", r.Kubeconfig}, {"API server", r.Server}}
	if r.Gateway != "" {
		rows = append(rows, []string{"gateway", r.Gateway})
	}
	for i, what := range r.NotEnforced {
		title := ""
		if i == 0 {
			title = "not enforced"
		}
		rows = append(rows, []string{title, what})
	}
	if err := output.Rows(streams.Out, []string{"cluster", fmt.Sprintf("%s, up in %.1f s", r.Name, r.Seconds)}, rows); err != nil {
		return err
	}
	flags := p.Flags()
	next := []string{"kserve local kubectl" + flags + " get nodes", "kserve local down" + flags}
	if !o.Bare {
		next = []string{
			"kserve local kubectl" + flags + " apply -f deploy/samples/sklearn-iris.yaml",
			"kserve local kubectl" + flags + " wait --for=condition=Ready isvc/sklearn-iris --timeout=120s",
			"kserve predict sklearn-iris -n default" + predictFlags(p) + ` -d '{"instances": [[6.8, 2.8, 4.8, 1.4]]}'`,
			"kserve local status" + flags, "kserve local down" + flags,
		}
	}
	_, err := fmt.Fprintf(streams.Out, "\nnext:\n  %s\n", strings.Join(next, "\n  "))
	return err
}

// predictFlags name this cluster to `kserve predict`, which has its own words for it.
func predictFlags(p *record.Place) string {
	return strings.NewReplacer("--name=", "--cluster=").Replace(p.Flags())
}
