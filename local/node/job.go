// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/kserve-go/kserve-go/local/image"
	"github.com/kserve-go/kserve-go/local/limit"
	"github.com/kserve-go/kserve-go/local/network"
	"github.com/kserve-go/kserve-go/local/podlog"
	"github.com/kserve-go/kserve-go/local/runtime"
	"github.com/kserve-go/kserve-go/local/sandbox"
	"github.com/kserve-go/kserve-go/local/usage"
	"github.com/kserve-go/kserve-go/local/volume"
)

// What a container without files of its own sees of the machine. /etc and /var are never shown whole: a mount point below them would
// be made on the machine.
var ( //nolint:gochecknoglobals // constant lists
	hostDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt"}
	hostEtc  = []string{
		"/etc/passwd", "/etc/group", "/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/alternatives", "/etc/ld.so.cache",
		"/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/nsswitch.conf", "/etc/localtime", "/etc/protocols", "/etc/services", "/etc/mime.types",
	}
)

// job is all that is needed to start a container, taken from the worker before it goes on.
type job struct {
	node    *Node
	worker  *worker
	pod     *corev1.Pod
	spec    *corev1.Container
	sandbox *network.Pod
	shared  *runtime.Shared
	volumes map[string]volume.Volume
	runs    int32
	message string
	oom     func()
}

var runNumber atomic.Int64 //nolint:gochecknoglobals // makes container ids differ

func (c *container) job() *job {
	return &job{
		node: c.w.node, worker: c.w, pod: c.w.pod, spec: &c.spec, sandbox: c.w.sandbox, shared: c.w.shared, volumes: c.w.volumes,
		runs: c.status.RestartCount, message: c.messageFile(),
		oom: func() { c.w.post(func() { c.oom = true; c.kill() }) },
	}
}

func (c *container) messageFile() string {
	return filepath.Join(c.w.dir, "messages", c.spec.Name)
}

func (j *job) start() (*running, error) {
	img, err := j.node.Images.Find(j.spec.Image)
	if err != nil {
		return nil, &pullError{err}
	}
	user, err := j.user(img)
	if err != nil {
		return nil, err
	}
	env, vars, err := j.worker.environment(j.pod, j.spec, img, user)
	if err != nil {
		return nil, err
	}
	mounts, err := j.mounts(img, vars)
	if err != nil {
		return nil, err
	}
	root := &sandbox.Root{
		Scratch: filepath.Join(j.worker.dir, "roots", j.spec.Name), Image: img.RootFS, Mounts: mounts, Rootless: j.node.Rootless,
	}
	if img.RootFS == "" {
		root.HostDirs, root.HostEtc = append(slices.Clone(hostDirs), img.HostDirs...), hostEtc
	}
	spec := sandbox.Spec{Root: root, Args: j.args(img, vars), Env: env, Dir: img.WorkingDir, User: user}
	if j.spec.WorkingDir != "" {
		spec.Dir = j.spec.WorkingDir
	}
	if spec.Capabilities, err = j.capabilities(); err != nil {
		return nil, err
	}
	if sc := j.spec.SecurityContext; sc != nil {
		root.ReadOnly = sc.ReadOnlyRootFilesystem != nil && *sc.ReadOnlyRootFilesystem
		spec.NoNewPrivileges = sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation
	}
	r, err := j.launch(spec)
	if err == nil {
		r.image, r.stop = img.ID, stopSignal(img.StopSignal)
	}
	return r, err
}

// pullError says that an image cannot be had, for whatever reason.
type pullError struct{ err error }

func (e *pullError) Error() string { return e.err.Error() }
func (e *pullError) Unwrap() error { return e.err }

// stopSignal is what asks a program to end; an image may wish another than the usual one, by name or number.
func stopSignal(text string) syscall.Signal {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return syscall.Signal(n)
	}
	if s := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(text), "SIG")); s != 0 {
		return s
	}
	return syscall.SIGTERM
}

func (j *job) launch(spec sandbox.Spec) (*running, error) {
	path := podlog.Path(filepath.Join(j.worker.dir, "logs"), j.spec.Name, j.runs)
	log, err := podlog.Create(path)
	if err != nil {
		return nil, err
	}
	stdout, stderr := log.Stream("stdout"), log.Stream("stderr")
	o := runtime.Options{Spec: spec, Pod: j.sandbox, Stdout: stdout, Stderr: stderr}
	if j.shared != nil {
		o.SharedPID = j.shared.File
	}
	r := &running{env: spec.Env, dir: spec.Dir, user: spec.User, log: path, since: time.Now(), id: strconv.FormatInt(runNumber.Add(1), 10) + "-" + string(j.pod.UID)}
	if j.runs > 0 {
		r.prev = podlog.Path(filepath.Join(j.worker.dir, "logs"), j.spec.Name, j.runs-1)
	}
	watched := usage.Limit{Bytes: j.spec.Resources.Limits.Memory().Value()}
	if watched.Bytes > 0 && j.node.Limits.Mode != limit.Watcher {
		if r.group, err = j.node.Limits.Container(r.id, watched.Bytes); err != nil {
			log.Close()
			return nil, err
		}
		// Version 1 kills one process; as in version 2, it shall be all of them.
		watched.Exceeded, o.Admit = r.group.Exceeded, r.group.Admit
	}
	if j.spec.Stdin {
		read, write, perr := os.Pipe()
		if perr != nil {
			log.Close()
			r.release()
			return nil, fmt.Errorf("make input: %w", perr)
		}
		defer read.Close()
		o.Stdin, r.input = read, write
	}
	r.proc, err = runtime.Start(o)
	if err != nil {
		log.Close()
		r.release()
		return nil, err
	}
	r.watch = j.node.Usage.Add(r.proc.PID(), watched, j.oom)
	go func() {
		<-r.proc.Done()
		podlog.Flush(stdout)
		podlog.Flush(stderr)
		log.Close()
	}()
	return r, nil
}

// release lets go what belongs to a run that has ended.
func (r *running) release() {
	if r.input != nil {
		r.input.Close()
	}
	if r.group == nil {
		return
	}
	if err := r.group.Close(); err != nil {
		klog.ErrorS(err, "let memory limit go", "container", r.id)
	}
}

// args is the image's entrypoint and command, replaced as Kubernetes has it.
func (j *job) args(img *image.Image, vars map[string]string) []string {
	expand := func(in []string) []string {
		out := make([]string, 0, len(in))
		for _, s := range in {
			out = append(out, expansion.Expand(s, expansion.MappingFuncFor(vars)))
		}
		return out
	}
	args, tail := img.Entrypoint, img.Cmd
	if len(j.spec.Command) > 0 {
		args, tail = expand(j.spec.Command), nil
	}
	if len(j.spec.Args) > 0 {
		tail = expand(j.spec.Args)
	}
	return append(slices.Clone(args), tail...)
}

func (j *job) mounts(img *image.Image, vars map[string]string) ([]sandbox.Mount, error) {
	var out []sandbox.Mount
	if img.RootFS == "" && len(img.Entrypoint) > 0 && filepath.IsAbs(img.Entrypoint[0]) {
		out = append(out, sandbox.Mount{Source: img.Entrypoint[0], Target: img.Entrypoint[0], ReadOnly: true})
	}
	for _, f := range []string{"resolv.conf", "hosts", "hostname"} {
		out = append(out, sandbox.Mount{Source: filepath.Join(j.worker.dir, "etc", f), Target: "/etc/" + f})
	}
	if err := os.MkdirAll(filepath.Dir(j.message), 0o755); err != nil {
		return nil, fmt.Errorf("make message folder: %w", err)
	}
	if err := os.WriteFile(j.message, nil, 0o600); err != nil {
		return nil, fmt.Errorf("make message file: %w", err)
	}
	if err := os.Chmod(j.message, 0o666); err != nil {
		return nil, fmt.Errorf("make message file: %w", err)
	}
	target := j.spec.TerminationMessagePath
	if target == "" {
		target = corev1.TerminationMessagePathDefault
	}
	out = append(out, sandbox.Mount{Source: j.message, Target: target})
	// Parents come before what is mounted below them.
	all := slices.Clone(j.spec.VolumeMounts)
	slices.SortStableFunc(all, func(a, b corev1.VolumeMount) int { return len(a.MountPath) - len(b.MountPath) })
	for _, m := range all {
		v, ok := j.volumes[m.Name]
		if !ok {
			return nil, fmt.Errorf("mount %q: the pod has no such volume", m.Name)
		}
		source, err := subPath(v, m, vars)
		if err != nil {
			return nil, err
		}
		out = append(out, sandbox.Mount{Source: source, Target: m.MountPath, ReadOnly: m.ReadOnly || v.ReadOnly})
	}
	return out, nil
}

func subPath(v volume.Volume, m corev1.VolumeMount, vars map[string]string) (string, error) {
	sub := m.SubPath
	if m.SubPathExpr != "" {
		sub = expansion.Expand(m.SubPathExpr, expansion.MappingFuncFor(vars))
	}
	if sub == "" {
		return v.Path, nil
	}
	if !filepath.IsLocal(sub) {
		return "", fmt.Errorf("mount %q: subPath %q leads out of the volume", m.Name, sub)
	}
	// Through the volume's own root, so that a link in it leads nowhere else.
	root, err := os.OpenRoot(v.Path)
	if err != nil {
		return "", fmt.Errorf("open volume %q: %w", m.Name, err)
	}
	defer root.Close()
	if _, err := root.Stat(sub); errors.Is(err, os.ErrNotExist) {
		err = root.MkdirAll(sub, 0o777)
		if err != nil {
			return "", fmt.Errorf("make subPath %q: %w", sub, err)
		}
	} else if err != nil {
		return "", fmt.Errorf("mount %q: %w", m.Name, err)
	}
	return filepath.Join(v.Path, sub), nil
}

// user decides whom the program runs as: the container's word, the pod's, the image's. Nil leaves it root.
func (j *job) user(img *image.Image) (*sandbox.User, error) {
	uid, gid, err := img.Account()
	if err != nil {
		return nil, err
	}
	var groups []int64
	nonRoot := false
	if p := j.pod.Spec.SecurityContext; p != nil {
		set(&uid, p.RunAsUser)
		set(&gid, p.RunAsGroup)
		groups = append(groups, p.SupplementalGroups...)
		if p.FSGroup != nil {
			groups = append(groups, *p.FSGroup)
		}
		nonRoot = p.RunAsNonRoot != nil && *p.RunAsNonRoot
	}
	if c := j.spec.SecurityContext; c != nil {
		set(&uid, c.RunAsUser)
		set(&gid, c.RunAsGroup)
		if c.RunAsNonRoot != nil {
			nonRoot = *c.RunAsNonRoot
		}
	}
	if nonRoot {
		if err := j.notRoot(img, uid); err != nil {
			return nil, err
		}
	}
	if p := j.pod.Spec.SecurityContext; p == nil || p.SupplementalGroupsPolicy == nil || *p.SupplementalGroupsPolicy == corev1.SupplementalGroupsPolicyMerge {
		groups = append(groups, img.Groups(uid)...)
	}
	if j.node.OneUser || (uid == 0 && gid == 0 && len(groups) == 0) {
		return nil, nil // nil is root, see above
	}
	u := &sandbox.User{UID: int(uid), GID: int(gid)}
	for _, g := range groups {
		u.Groups = append(u.Groups, int(g))
	}
	return u, nil
}

// capabilities are what the container asks for; a privileged one keeps all.
func (j *job) capabilities() (*uint64, error) {
	var add, drop []string
	if sc := j.spec.SecurityContext; sc != nil {
		if sc.Privileged != nil && *sc.Privileged {
			return nil, nil //nolint:nilnil // nil takes none away
		}
		if c := sc.Capabilities; c != nil {
			for _, n := range c.Add {
				add = append(add, string(n))
			}
			for _, n := range c.Drop {
				drop = append(drop, string(n))
			}
		}
	}
	set, err := sandbox.Capabilities(add, drop)
	return &set, err
}

// notRoot refuses what a kubelet refuses: root, and an image's user by name, which might be root under another one.
func (j *job) notRoot(img *image.Image, uid int64) error {
	asked := (j.pod.Spec.SecurityContext != nil && j.pod.Spec.SecurityContext.RunAsUser != nil) ||
		(j.spec.SecurityContext != nil && j.spec.SecurityContext.RunAsUser != nil)
	name, _, _ := strings.Cut(img.User, ":")
	_, err := strconv.ParseInt(name, 10, 64)
	switch {
	case uid == 0 && asked:
		return errors.New("container's runAsUser breaks non-root policy: it has runAsNonRoot, and runAsUser is 0")
	case uid == 0:
		return errors.New("container has runAsNonRoot and image will run as root")
	case !asked && err != nil:
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root", name)
	}
	return nil
}

func set(to *int64, from *int64) {
	if from != nil {
		*to = *from
	}
}

// writeEtc writes the files of /etc that tell a pod its names.
func (w *worker) writeEtc(pod *corev1.Pod, address string) error {
	var resolv strings.Builder
	servers, search, options := []string{w.node.DNS}, []string{pod.Namespace + ".svc.cluster.local", "svc.cluster.local", "cluster.local"}, []string{"ndots:5"}
	if pod.Spec.DNSPolicy == corev1.DNSNone {
		servers, search, options = nil, nil, nil
	}
	if d := pod.Spec.DNSConfig; d != nil {
		servers, search = append(servers, d.Nameservers...), append(search, d.Searches...)
		for _, o := range d.Options {
			text := o.Name
			if o.Value != nil {
				text += ":" + *o.Value
			}
			options = append(options, text)
		}
	}
	for _, s := range servers {
		fmt.Fprintf(&resolv, "nameserver %s\n", s)
	}
	fmt.Fprintf(&resolv, "search %s\noptions %s\n", strings.Join(search, " "), strings.Join(options, " "))
	var hosts strings.Builder
	name := hostname(pod)
	fmt.Fprintf(&hosts, "127.0.0.1\tlocalhost\n::1\tlocalhost\n")
	if pod.Spec.Subdomain != "" {
		fmt.Fprintf(&hosts, "%s\t%s.%s.%s.svc.cluster.local\t%s\n", address, name, pod.Spec.Subdomain, pod.Namespace, name)
	} else {
		fmt.Fprintf(&hosts, "%s\t%s\n", address, name)
	}
	for _, a := range pod.Spec.HostAliases {
		fmt.Fprintf(&hosts, "%s\t%s\n", a.IP, strings.Join(a.Hostnames, "\t"))
	}
	dir := filepath.Join(w.dir, "etc")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	for file, text := range map[string]string{"resolv.conf": resolv.String(), "hosts": hosts.String(), "hostname": name + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil { //nolint:gosec // every user of the pod reads it
			return fmt.Errorf("write %s: %w", file, err)
		}
	}
	return nil
}

func hostname(pod *corev1.Pod) string {
	const maxHostname = 63
	name := pod.Name
	if pod.Spec.Hostname != "" {
		name = pod.Spec.Hostname
	}
	return strings.TrimRight(name[:min(len(name), maxHostname)], "-.")
}
