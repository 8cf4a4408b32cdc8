// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of the cluster binary.
//
// Called by: main.
// Next: launch.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/kserve-go/kserve-go/local/cluster"
	"github.com/kserve-go/kserve-go/local/control"
	"github.com/kserve-go/kserve-go/local/gate"
	"github.com/kserve-go/kserve-go/local/image"
	"github.com/kserve-go/kserve-go/local/launch"
	"github.com/kserve-go/kserve-go/local/place"
	"github.com/kserve-go/kserve-go/local/sandbox"
)

const usage = `kserve-cluster: Kubernetes on one machine, without containers

  kserve-cluster [up]        start a cluster, print "ready {...}", run until SIGTERM or Ctrl-C
  kserve-cluster down        stop it
  kserve-cluster status      print the record of a running cluster as JSON
  kserve-cluster kubeconfig  print the path of its kubeconfig
  kserve-cluster kubectl ... Kubernetes' own kubectl, for this cluster
  kserve-cluster restart-apiserver      cut every connection, end the API server and start another; --for says how long it is away
  kserve-cluster load REF DIR           make an OCI layout, or a folder with an image's files, the image REF
  kserve-cluster forward LOCAL TARGET   carry a port of this machine to host:port inside

Flags of up:
`

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run is the whole program but its exit code.
func Run(ctx context.Context, args []string, s Streams) error {
	name := "up"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	switch name {
	case "up":
		return up(ctx, args, s)
	case "down":
		return down(ctx, args, s)
	case "status":
		return status(args, s)
	case "kubeconfig":
		return kubeconfig(args, s)
	case "forward":
		return forward(ctx, args, s)
	case "load":
		return load(args, s)
	case control.RestartAPIServer:
		return restartAPIServer(ctx, args, s)
	case "kubectl":
		return kubectl(args, s)
	case sandbox.ClusterCommand:
		return launch.Inside(ctx)
	case "help":
		fmt.Fprint(s.Out, usage)
		return nil
	default:
		return fmt.Errorf("unknown command %q: want up, down, status, kubeconfig, load, kubectl, forward or restart-apiserver", name)
	}
}

// target are the flags that name a cluster.
type target struct {
	name, state string
}

func (t *target) bind(flags *pflag.FlagSet) {
	flags.StringVar(&t.name, "name", "default", "name of the cluster; several run side by side under different names")
	flags.StringVar(&t.state, "state", "", "folder that holds the folders of clusters (default $XDG_STATE_HOME/kserve/clusters)")
}

func (t *target) place() (*place.Place, error) {
	root := t.state
	if root == "" {
		var err error
		if root, err = place.Root(); err != nil {
			return nil, err
		}
	}
	p, err := place.At(root, t.name)
	if err != nil {
		return nil, err
	}
	p.Remover = launch.RemoveAll
	return p, nil
}

func newFlags(name string, s Streams) *pflag.FlagSet {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetOutput(s.Err)
	return flags
}

func up(ctx context.Context, args []string, s Streams) error {
	o := launch.Options{Out: s.Out, Err: s.Err}
	var t target
	var noNode, quiet, stdin bool
	flags := newFlags("up", s)
	flags.Usage = func() { fmt.Fprint(s.Err, usage, flags.FlagUsages()) }
	t.bind(flags)
	flags.BoolVar(&noNode, "no-node", false, "API server, etcd, controllers and scheduler only: pods stay pending; needs no namespaces")
	flags.BoolVar(&o.Cluster.NoControllers, "no-controllers", false, "with --no-node: API server and etcd only; nothing is made, counted or deleted but by clients")
	flags.IntVar(&o.Port, "port", 0, "port of 127.0.0.1 for the API server (default: that of last time, else any free one)")
	flags.BoolVar(&o.Fresh, "fresh", false, "throw away what an earlier cluster of this name stored")
	flags.BoolVar(&o.Discard, "discard", false, "throw the state away when the cluster stops")
	flags.BoolVar(&stdin, "stdin-lifeline", false, "stop when standard input ends: a test that holds the other end of a pipe leaves nothing behind, however it ends")
	flags.BoolVar(&quiet, "quiet", false, "print no progress")
	flags.StringVar(&o.Cluster.AuditLog, "audit-log", "", "file that the API server adds a line of JSON to for each answer: who, what, which code")
	flags.StringArrayVar(&o.Cluster.ExtraAPI, "api-flag", nil, "one more flag of the API server, as --name=value; may be repeated")
	flags.StringArrayVar(&o.Cluster.Images, "images", nil, "file with an image map; may be repeated, later ones win")
	flags.StringVar(&o.Cluster.NodeName, "node-name", "local", "name of the node")
	flags.StringVar(&o.Cluster.CPU, "cpu", "", "processors that the node offers to the scheduler (default: at least 16, or the machine's)")
	flags.StringVar(&o.Cluster.Memory, "memory", "", "memory that the node offers to the scheduler (default: at least 64Gi, or the machine's)")
	flags.IntVarP(&o.Cluster.Verbosity, "v", "v", 0, "verbosity of the log of Kubernetes, cluster.log in the state folder")
	flags.BoolVar(&o.Cluster.KubeletTimes, "kubelet-times", false, "probe and back off at a kubelet's times instead of quicker ones")
	if err := flags.Parse(args); err != nil {
		return ignoreHelp(err)
	}
	if o.Cluster.NoControllers && !noNode {
		return errors.New("--no-controllers needs --no-node: a node without controllers would run nothing")
	}
	p, err := t.place()
	if err != nil {
		return err
	}
	o.Cluster.Place, o.Cluster.Node = p, !noNode
	if o.Cluster.AuditLog != "" {
		if o.Cluster.AuditLog, err = filepath.Abs(o.Cluster.AuditLog); err != nil {
			return fmt.Errorf("resolve audit log: %w", err)
		}
	}
	for i := range o.Cluster.Images {
		if o.Cluster.Images[i], err = filepath.Abs(o.Cluster.Images[i]); err != nil {
			return fmt.Errorf("resolve image map: %w", err)
		}
	}
	if err := os.Chdir("/"); err != nil { // a cluster lives long and keeps no folder of others busy
		return fmt.Errorf("leave the current folder: %w", err)
	}
	if quiet {
		o.Err = io.Discard
	}
	if stdin {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() {
			_, _ = io.Copy(io.Discard, s.In) // any end is the end
			cancel()
		}()
	}
	return launch.Run(ctx, o)
}

func ignoreHelp(err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	return err
}

func down(ctx context.Context, args []string, s Streams) error {
	var t target
	var discard bool
	var timeout time.Duration
	flags := newFlags("down", s)
	t.bind(flags)
	flags.BoolVar(&discard, "discard", false, "throw the state away too")
	flags.DurationVar(&timeout, "timeout", 90*time.Second, "how long pods may take to end before they are killed")
	if err := flags.Parse(args); err != nil {
		return ignoreHelp(err)
	}
	p, err := t.place()
	if err != nil {
		return err
	}
	pid, err := p.Owner()
	if err != nil {
		return err
	}
	if pid != 0 {
		if err := stop(ctx, p, pid, timeout); err != nil {
			return err
		}
	}
	// Whoever held the name may have been killed, and its child as well.
	if err := launch.Sweep(p); err != nil {
		return err
	}
	if !discard {
		return nil
	}
	if err := p.Lock(); err != nil { // another start may have been quicker
		return fmt.Errorf("throw the state away: %w", err)
	}
	defer p.Unlock()
	return p.Remove()
}

// stop asks the process that holds the name to end, and kills it when it does not: the kernel then ends all it started.
func stop(ctx context.Context, p *place.Place, pid int, timeout time.Duration) error {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal process %d: %w", pid, err)
		}
		wait, cancel := context.WithTimeout(ctx, timeout)
		err := p.WaitFree(wait)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || sig == syscall.SIGKILL {
			return err
		}
	}
	return nil
}

func running(p *place.Place) (place.Record, error) {
	pid, err := p.Owner()
	if err != nil {
		return place.Record{}, err
	}
	if pid == 0 {
		return place.Record{}, fmt.Errorf("no cluster %q runs (state folder %s)", p.Name, p.Dir)
	}
	r, err := p.Record()
	if errors.Is(err, fs.ErrNotExist) || (err == nil && r.PID != pid) { // none yet, or that of a predecessor which was killed
		return place.Record{}, fmt.Errorf("cluster %q is starting or ending (process %d)", p.Name, pid)
	}
	return r, err
}

func status(args []string, s Streams) error {
	r, err := record(args, s)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	fmt.Fprintf(s.Out, "%s\n", b)
	return nil
}

func kubeconfig(args []string, s Streams) error {
	r, err := record(args, s)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.Out, r.Kubeconfig)
	return nil
}

func record(args []string, s Streams) (place.Record, error) {
	var t target
	flags := newFlags("status", s)
	t.bind(flags)
	if err := flags.Parse(args); err != nil {
		return place.Record{}, err
	}
	p, err := t.place()
	if err != nil {
		return place.Record{}, err
	}
	return running(p)
}

func forward(ctx context.Context, args []string, s Streams) error {
	var t target
	flags := newFlags("forward", s)
	t.bind(flags)
	if err := flags.Parse(args); err != nil {
		return ignoreHelp(err)
	}
	if flags.NArg() != 2 {
		return errors.New("forward: want LOCAL (127.0.0.1:port) and TARGET (host:port inside the cluster)")
	}
	p, err := t.place()
	if err != nil {
		return err
	}
	if _, err := running(p); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", flags.Arg(0))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintln(s.Out, l.Addr())
	return gate.Forward(ctx, l, p.Path("gate.sock"), flags.Arg(1))
}

// restartAPIServer returns when the new one is ready.
func restartAPIServer(ctx context.Context, args []string, s Streams) error {
	var t target
	var away time.Duration
	flags := newFlags(control.RestartAPIServer, s)
	t.bind(flags)
	flags.DurationVar(&away, "for", 0, "how long nobody answers between the end of one and the start of the other")
	if err := flags.Parse(args); err != nil {
		return ignoreHelp(err)
	}
	p, err := t.place()
	if err != nil {
		return err
	}
	if _, err := running(p); err != nil {
		return err
	}
	began := time.Now()
	if err := control.Send(ctx, p.Path(control.Socket), control.Order{Name: control.RestartAPIServer, For: away}); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "the API server was away for %.1f s\n", time.Since(began).Seconds())
	return nil
}

// load works whether the cluster runs or not: the map is read for each container that starts.
func load(args []string, s Streams) error {
	var t target
	flags := newFlags("load", s)
	t.bind(flags)
	if err := flags.Parse(args); err != nil {
		return ignoreHelp(err)
	}
	if flags.NArg() != 2 {
		return errors.New("load: want REF (the image's name) and DIR (an OCI layout, or a folder with the image's files)")
	}
	p, err := t.place()
	if err != nil {
		return err
	}
	ref := flags.Arg(0)
	if err := image.Load(cluster.ImageMap(p), ref, flags.Arg(1)); err != nil {
		return err
	}
	what, err := image.Describe(cluster.ImageMap(p), ref)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "image %q is %s\n", ref, what)
	return nil
}

// kubectl takes --name and --state before its own arguments.
func kubectl(args []string, s Streams) error {
	var t target
	flags := newFlags("kubectl", s)
	t.bind(flags)
	flags.SetInterspersed(false)
	own := 0
	for own < len(args) && (strings.HasPrefix(args[own], "--name=") || strings.HasPrefix(args[own], "--state=")) {
		own++
	}
	if err := flags.Parse(args[:own]); err != nil {
		return err
	}
	p, err := t.place()
	if err != nil {
		return err
	}
	args = args[own:]
	if path := p.Path("kubeconfig"); os.Getenv("KUBECONFIG") == "" || own > 0 {
		if strings.ContainsRune(path, filepath.ListSeparator) { // the variable holds a list
			args = append([]string{"--kubeconfig=" + path}, args...)
		} else if err := os.Setenv("KUBECONFIG", path); err != nil {
			return fmt.Errorf("name the kubeconfig: %w", err)
		}
	}
	return runKubectl(append([]string{"kubectl"}, args...), s)
}
