// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// layer is a layer of files by path; one with nil content is a folder.
func layer(t *testing.T, content map[string][]byte) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range content {
		h := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if text == nil {
			h.Typeflag = tar.TypeDir
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	require.NoError(t, err)
	return l
}

// programs is a layer with programs of this machine and the libraries they want.
func programs(t *testing.T, names ...string) v1.Layer {
	t.Helper()
	content := map[string][]byte{}
	add := func(path, as string) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		content[as] = b
	}
	library := regexp.MustCompile(`(/[^ ]+) \(0x`)
	for _, name := range names {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		add(path, "bin/"+name)
		out, err := exec.Command("ldd", path).Output()
		if err != nil {
			continue // linked statically
		}
		for _, m := range library.FindAllStringSubmatch(string(out), -1) {
			add(m[1], strings.TrimPrefix(m[1], "/"))
		}
	}
	return layer(t, content)
}

// shellLayout writes an OCI layout of three layers: the last replaces one file of the second and takes another away.
func shellLayout(t *testing.T, config v1.Config) string {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, programs(t, "sh", "sleep"),
		layer(t, map[string][]byte{
			"etc/passwd": []byte("root:x:0:0::/root:/bin/sh\napp:x:1000:1001::/home/app:/bin/sh\n"), "etc/group": []byte("more:x:2000:app\n"),
			"app/text": []byte("old\n"), "app/gone": []byte("gone"),
		}),
		layer(t, map[string][]byte{"app/text": []byte("new\n"), "app/.wh.gone": {}, "empty": nil}),
	)
	require.NoError(t, err)
	img, err = mutate.Config(img, config)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "layout")
	path, err := layout.Write(dir, empty.Index)
	require.NoError(t, err)
	require.NoError(t, path.AppendImage(img))
	return dir
}

func containerConfig(cmd ...string) v1.Config { return v1.Config{Cmd: cmd} }

func load(t *testing.T, state, name, ref, dir string) {
	t.Helper()
	out, err := program("load", "--state", state, "--name", name, ref, dir).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "sha256:")
}

const tellAll = `
while read k a b rest; do case $k in Uid:|Gid:|Groups:|CapEff:) echo $k $a $b;; esac; done </proc/self/status
read x <text; echo $PWD $A $HOME $x; [ -e gone ] || echo nothing is gone; [ -d /empty ] && echo folder; [ -e /usr/bin ] || echo alone
`

// The image is loaded while a pod waits for it.
func TestPodOfAnImageThatIsLoadedMeanwhile(t *testing.T) {
	k, ns := shared(t)
	k.apply(t, ns, podYAML(`{containers: [{name: c, image: "r.test/shell:v1", imagePullPolicy: IfNotPresent}]}`))
	p := k.waitPod(t, ns, "p", waitingFor("ImagePullBackOff"))
	message := p.Status.ContainerStatuses[0].State.Waiting.Message
	require.Contains(t, message, `Back-off pulling image "r.test/shell:v1"`)
	require.Contains(t, message, `"sleep"`, "images that exist are named")
	load(t, k.state, "shared", "r.test/shell:v1", shellLayout(t, v1.Config{
		Entrypoint: []string{"/bin/sh", "-c"}, Cmd: []string{tellAll}, Env: []string{"A=b"}, User: "app", WorkingDir: "/app",
	}))
	p = k.waitPod(t, ns, "p", hasEnded)
	require.Equal(t, corev1.PodSucceeded, p.Status.Phase)
	log := k.kubectl(ns, "", "logs", "p")
	if k.oneUser() {
		require.Contains(t, log, "\n/app b /root new\nnothing is gone\nfolder\nalone\n")
	} else {
		require.Equal(t, "Uid: 1000 1000\nGid: 1001 1001\nGroups: 2000\nCapEff: 0000000000000000\n/app b /home/app new\nnothing is gone\nfolder\nalone\n", log)
	}
	require.Regexp(t, "sha256:[0-9a-f]{64}$", p.Status.ContainerStatuses[0].ImageID)

	t.Run("a user that is a name may be root", func(t *testing.T) {
		k, ns := shared(t)
		k.apply(t, ns, podYAML(`{containers: [{name: c, image: "r.test/shell:v1", imagePullPolicy: Never, securityContext: {runAsNonRoot: true}}]}`))
		p := k.waitPod(t, ns, "p", waitingFor("CreateContainerConfigError"))
		require.Contains(t, p.Status.ContainerStatuses[0].State.Waiting.Message, "non-numeric user (app)")
	})
	t.Run("as a volume", func(t *testing.T) {
		k, ns := shared(t)
		k.apply(t, ns, podYAML(`
  containers: [{name: c, image: sh, args: ["cat /v/app/text /s/text; touch /v/x 2>/dev/null || echo read-only"], volumeMounts: [{name: v, mountPath: /v}, {name: v, mountPath: /s, subPath: app}]}]
  volumes: [{name: v, image: {reference: "r.test/shell:v1"}}]`))
		p := k.waitPod(t, ns, "p", hasEnded)
		require.Equal(t, corev1.PodSucceeded, p.Status.Phase)
		require.Equal(t, "new\nnew\nread-only\n", k.kubectl(ns, "", "logs", "p"))
	})
}
