// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runs is a pod that ends, and what must be true of it then.
type runs struct {
	before string // other objects
	pod    string // spec, indented by two
	phase  corev1.PodPhase
	log    string // of container c
	check  func(t *testing.T, p *corev1.Pod)
	users  bool // it needs users beside root
}

func TestPodsThatEnd(t *testing.T) {
	for name, c := range map[string]runs{
		"environment, in order, with references": {
			before: "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {FROM: map, key: value}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {SECRET: hidden}}\n---\n",
			pod: `
  containers:
  - name: c
    image: sh
    args: ["echo $FROM $P_SECRET $(A) $B $POD $CPU; hostname"]
    envFrom: [{configMapRef: {name: cm}}, {secretRef: {name: s}, prefix: P_}, {configMapRef: {name: none, optional: true}}]
    env: [{name: A, value: a}, {name: B, value: "$(A)-$$(A)"}, {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]
    resources: {limits: {cpu: "2"}}`,
			phase: corev1.PodSucceeded, log: "map hidden a a-$(A) p 2\np\n",
		},
		"volumes of every kind": {
			before: "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {k: from-map}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {p: from-secret}}\n---\n",
			pod: `
  initContainers:
  - {name: i, image: sh, args: ["echo from-init >/d/f; mkdir -p /d/sub; echo from-sub >/d/sub/g"], volumeMounts: [{name: d, mountPath: /d}]}
  containers:
  - name: c
    image: sh
    args: ["cat /d/f /cm/k /s/renamed /p/k; echo; cat /p/labels; echo; cat /only/g; test -s /p/token && echo token; touch /cm/k 2>/dev/null || echo read-only; df /m | tail -1 | cut -d' ' -f1"]
    volumeMounts: [{name: d, mountPath: /d}, {name: cm, mountPath: /cm}, {name: s, mountPath: /s}, {name: p, mountPath: /p}, {name: d, mountPath: /only, subPath: sub}, {name: m, mountPath: /m}]
  volumes:
  - {name: d, emptyDir: {}}
  - {name: m, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: cm, configMap: {name: cm}}
  - {name: s, secret: {secretName: s, items: [{key: p, path: renamed}]}}
  - {name: p, projected: {sources: [{configMap: {name: cm}}, {downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}, {serviceAccountToken: {path: token, audience: x}}]}}`,
			phase: corev1.PodSucceeded,
			log:   "from-init\nfrom-mapfrom-secretfrom-map\nl=\"v\"\nfrom-sub\ntoken\nread-only\ntmpfs\n",
		},
		"volumes below folders of the machine, which stay as they are": {
			before: "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {k: from-map}}\n---\n",
			pod: `
  containers:
  - name: c
    image: sh
    args: ["cat /etc/ssl/custom-certs/k /usr/share/kserve-local-test/deep/k; echo; [ $(ls /usr/share | wc -l) -gt 3 ] && echo and the others; echo x >/usr/share/kserve-local-test/d/x && echo written; touch /usr/share/x 2>/dev/null || echo refused"]
    securityContext: {readOnlyRootFilesystem: true}
    volumeMounts:
    - {name: cm, mountPath: /etc/ssl/custom-certs}
    - {name: d, mountPath: /usr/share/kserve-local-test/d}
    - {name: cm, mountPath: /usr/share/kserve-local-test/deep}
  volumes: [{name: cm, configMap: {name: cm}}, {name: d, emptyDir: {}}]`,
			phase: corev1.PodSucceeded, log: "from-mapfrom-map\nand the others\nwritten\nrefused\n",
			check: func(t *testing.T, _ *corev1.Pod) {
				require.NoDirExists(t, "/usr/share/kserve-local-test")
				require.NoDirExists(t, "/etc/ssl/custom-certs")
			},
		},
		"a folder and a file of the machine": {
			pod: `
  containers:
  - {name: c, image: sh, args: ["cmp /h/passwd /f && echo same"], volumeMounts: [{name: h, mountPath: /h, readOnly: true}, {name: f, mountPath: /f, readOnly: true}]}
  volumes: [{name: h, hostPath: {path: /etc, type: Directory}}, {name: f, hostPath: {path: /etc/passwd, type: File}}]`,
			phase: corev1.PodSucceeded, log: "same\n",
		},
		"more variables than one program can be told in one": {
			before: bigMap("one") + bigMap("two"),
			pod:    `{containers: [{name: c, image: sh, args: ["echo ${#A_one} ${#A_two}"], envFrom: [{configMapRef: {name: one}, prefix: A_}, {configMapRef: {name: two}, prefix: A_}]}]}`,
			phase:  corev1.PodSucceeded, log: "110000 110000\n",
		},
		"a hook after the start": {
			pod:   `{containers: [{name: c, image: sh, args: ["until [ -e /tmp/hooked ]; do sleep 0.1; done; echo hooked"], lifecycle: {postStart: {exec: {command: [touch, /tmp/hooked]}}}}]}`,
			phase: corev1.PodSucceeded, log: "hooked\n",
		},
		"a hook after the start that fails": {
			pod:   `{terminationGracePeriodSeconds: 0, containers: [{name: c, image: sh, args: ["sleep 1000"], lifecycle: {postStart: {exec: {command: ["false"]}}}}]}`,
			phase: corev1.PodFailed,
		},
		"a claim is provisioned and bound": {
			before: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: pvc}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n---\n",
			pod: `
  initContainers: [{name: i, image: sh, args: ["echo kept >/v/f"], volumeMounts: [{name: v, mountPath: /v}]}]
  containers: [{name: c, image: sh, args: ["cat /v/f"], volumeMounts: [{name: v, mountPath: /v, readOnly: true}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: pvc}}]`,
			phase: corev1.PodSucceeded, log: "kept\n",
		},
		"a failure tells its exit code and its message": {
			pod:   `{containers: [{name: c, image: sh, args: ["echo because >/dev/termination-log; exit 3"]}]}`,
			phase: corev1.PodFailed,
			check: func(t *testing.T, p *corev1.Pod) {
				end := p.Status.ContainerStatuses[0].State.Terminated
				require.Equal(t, int32(3), end.ExitCode)
				require.Equal(t, "because\n", end.Message)
			},
		},
		"a failure falls back to the log": {
			pod:   `{containers: [{name: c, image: sh, args: ["echo last words; exit 1"], terminationMessagePolicy: FallbackToLogsOnError}]}`,
			phase: corev1.PodFailed,
			check: func(t *testing.T, p *corev1.Pod) {
				require.Equal(t, "last words", p.Status.ContainerStatuses[0].State.Terminated.Message)
			},
		},
		"a program that is not there": {
			pod:   `{containers: [{name: c, image: sh, command: ["/no/such"]}]}`,
			phase: corev1.PodFailed,
			check: func(t *testing.T, p *corev1.Pod) {
				end := p.Status.ContainerStatuses[0].State.Terminated
				require.Equal(t, "StartError", end.Reason)
				require.Equal(t, int32(128), end.ExitCode)
			},
		},
		"too much memory": {
			pod:   `{containers: [{name: c, image: sh, args: ["python3 -c 'x=bytearray(200<<20); import time; time.sleep(60)'"], resources: {limits: {memory: 64Mi}}}]}`,
			phase: corev1.PodFailed,
			check: func(t *testing.T, p *corev1.Pod) {
				end := p.Status.ContainerStatuses[0].State.Terminated
				require.Equal(t, "OOMKilled", end.Reason)
				require.Equal(t, int32(137), end.ExitCode)
			},
		},
		"too much memory in a child of an init container, with a shell that would go on": {
			pod: `
  initContainers: [{name: i, image: sh, args: ["python3 -c 'x=bytearray(200<<20); import time; time.sleep(60)'; sleep 60; true"], resources: {limits: {memory: 64Mi}}}]
  containers: [{name: c, image: sh, args: ["true"]}]`,
			phase: corev1.PodFailed,
			check: func(t *testing.T, p *corev1.Pod) {
				end := p.Status.InitContainerStatuses[0].State.Terminated
				require.Equal(t, "OOMKilled", end.Reason)
				require.Equal(t, int32(137), end.ExitCode)
			},
		},
		"memory up to the limit": {
			pod:   `{containers: [{name: c, image: sh, args: ["python3 -c 'x=bytearray(64<<20); print(len(x)>>20)'"], resources: {limits: {memory: 128Mi}}}]}`,
			phase: corev1.PodSucceeded, log: "64\n",
		},
		"user, group and a root that is read-only": {
			pod: `
  securityContext: {runAsUser: 1234, runAsGroup: 2345, fsGroup: 3456}
  containers:
  - name: c
    image: sh
    args: ["id -u; id -g; id -G; touch /x 2>/dev/null || echo refused; touch /d/ok && stat -c %g /d/ok"]
    securityContext: {readOnlyRootFilesystem: true}
    volumeMounts: [{name: d, mountPath: /d}]
  volumes: [{name: d, emptyDir: {}}]`,
			users: true,
			phase: corev1.PodSucceeded,
			log:   "1234\n2345\n2345 3456\nrefused\n3456\n",
		},
		"the usual capabilities, and fewer": {
			pod: `
  initContainers: [{name: i, image: sh, args: ["grep -q 'CapBnd:.*0000000000000400' /proc/self/status"], securityContext: {capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}}]
  containers: [{name: c, image: sh, args: ["grep CapEff /proc/self/status | cut -f2; hostname x 2>/dev/null || echo refused"]}]`,
			phase: corev1.PodSucceeded, log: "00000000a80425fb\nrefused\n",
		},
		"volumes belong to the group": {
			before: "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {p: hidden}}\n---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: pvc}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n---\n",
			pod: `
  securityContext: {runAsUser: 1234, fsGroup: 3456, supplementalGroups: [4567]}
  containers:
  - name: c
    image: sh
    args: ["cat /s/p; echo; stat -L -c '%g %a' /s/p; for d in /d /m /v; do stat -c %g $d; touch $d/x && stat -c %g $d/x; done; id -G"]
    volumeMounts: [{name: s, mountPath: /s}, {name: d, mountPath: /d}, {name: m, mountPath: /m}, {name: v, mountPath: /v}]
  volumes: [{name: s, secret: {secretName: s, defaultMode: 0400}}, {name: d, emptyDir: {}}, {name: m, emptyDir: {medium: Memory}}, {name: v, persistentVolumeClaim: {claimName: pvc}}]`,
			users: true, phase: corev1.PodSucceeded, log: "hidden\n3456 440\n3456\n3456\n3456\n3456\n3456\n3456\n0 3456 4567\n",
		},
		"its active deadline passes": {
			pod:   `{activeDeadlineSeconds: 1, terminationGracePeriodSeconds: 1, containers: [{name: c, image: sleep}, {name: waits, image: nosuch}]}`,
			phase: corev1.PodFailed,
			check: func(t *testing.T, p *corev1.Pod) { require.Equal(t, "DeadlineExceeded", p.Status.Reason) },
		},
		"names outside of the cluster do not exist, and say so at once": {
			pod:   `{containers: [{name: c, image: sh, args: ["timeout 5 getent hosts example.com; echo $?"]}]}`,
			phase: corev1.PodSucceeded, log: "2\n",
		},
		"processes are its own": {
			pod:   `{containers: [{name: c, image: sh, args: ["P=$(ps -e -o comm=); echo \"$P\" | sort -u | tr '\\n' ' '"]}]}`,
			phase: corev1.PodSucceeded, log: "ps sh ",
		},
		"processes are the pod's when it shares them": {
			pod: `
  shareProcessNamespace: true
  containers:
  - {name: c, image: sh, args: ["until ps -e -o args= | grep -q '[s]leep 98765'; do sleep 0.1; done; P=$(ps -e -o pid=,args= | awk '/[s]leep 98765/{print $1; exit}'); cat /proc/$P/root/tmp/mine"]}
  - {name: other, image: sh, args: ["echo theirs >/tmp/mine; sleep 98765"]}`,
			log: "theirs\n",
		},
		"names and services": {
			before: "{apiVersion: v1, kind: Service, metadata: {name: api}, spec: {type: ExternalName, externalName: kubernetes.default.svc.cluster.local}}\n---\n",
			pod: `
  containers:
  - name: c
    image: sh
    args: ["python3 -c \"\nimport socket\nprint(socket.gethostbyname('kubernetes.default')); print(socket.gethostbyname('api'))\ns=socket.create_connection(('kubernetes.default',443),5); print('connected')\ntry: socket.gethostbyname('nosuch')\nexcept socket.gaierror: print('unknown')\n\""]`,
			phase: corev1.PodSucceeded, log: "10.96.0.1\n10.96.0.1\nconnected\nunknown\n",
		},
		"a sidecar ends after the work": {
			pod: `
  terminationGracePeriodSeconds: 1
  initContainers: [{name: side, image: sleep, restartPolicy: Always}]
  containers: [{name: c, image: sh, args: ["echo done"]}]`,
			phase: corev1.PodSucceeded, log: "done\n",
		},
		"an init container that fails": {
			pod: `
  initContainers: [{name: i, image: sh, args: ["exit 5"]}]
  containers: [{name: c, image: sh, args: ["echo never"]}]`,
			phase: corev1.PodFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, ns := shared(t)
			if c.users && k.oneUser() {
				t.Skip("this user has no other users to give to pods")
			}
			k.apply(t, ns, c.before+podYAML(c.pod))
			done := hasEnded
			if c.phase == "" {
				done = func(p *corev1.Pod) bool {
					return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Terminated != nil
				}
			}
			p := k.waitPod(t, ns, "p", done)
			if c.phase != "" {
				require.Equal(t, c.phase, p.Status.Phase)
			}
			if c.log != "" {
				require.Equal(t, c.log, k.kubectl(ns, "", "logs", "p", "-c", "c"))
			}
			if c.check != nil {
				c.check(t, p)
			}
		})
	}
}

// bigMap is a ConfigMap with one long value: two of them are more than the kernel takes in one string.
func bigMap(name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {%s: %s}}\n---\n", name, name, strings.Repeat("x", 110000))
}

// podYAML is a pod p with that spec, in flow or in block form, that never restarts.
func podYAML(spec string) string {
	head := "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {l: v}}\nspec:"
	if strings.HasPrefix(spec, "{") {
		return head + " " + strings.Replace(spec, "{", "{restartPolicy: Never, ", 1) + "\n"
	}
	return head + "\n  restartPolicy: Never" + spec + "\n"
}

func TestPodIsReadyAndAnswers(t *testing.T) {
	k, ns := shared(t)
	k.apply(t, ns, `
apiVersion: v1
kind: ConfigMap
metadata: {name: cm}
data: {k: old}
---
apiVersion: v1
kind: Service
metadata: {name: answers}
spec: {type: NodePort, selector: {app: web}, ports: [{name: http, port: 80, targetPort: http, nodePort: 30088}, {name: dns, port: 53, protocol: UDP, targetPort: 5353}]}
---
apiVersion: v1
kind: Service
metadata: {name: nobody}
spec: {selector: {app: nobody}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - name: c
    image: sh
    args: ["trap 'exit 0' TERM; echo first; echo second >&2; python3 -m http.server 8080 --directory /cm & wait"]
    ports: [{name: http, containerPort: 8080}]
    readinessProbe: {httpGet: {path: /k, port: http}}
    startupProbe: {tcpSocket: {port: http}}
    livenessProbe: {exec: {command: ["test", "-e", "/cm/k"]}}
    lifecycle: {preStop: {exec: {command: ["sh", "-c", "echo stopping >/proc/1/fd/1"]}}}
    volumeMounts: [{name: cm, mountPath: /cm}]
  volumes: [{name: cm, configMap: {name: cm}}]
`)
	k.waitPod(t, ns, "web", isReady)
	t.Run("a command's output, input and exit code", func(t *testing.T) {
		out, err := k.kubectlErr(ns, "typed", "exec", "-i", "web", "--", "sh", "-c", "cat; exit 7")
		require.Error(t, err)
		require.Contains(t, out, "typed")
		require.Contains(t, out, "exit code 7")
	})
	t.Run("a command has a terminal where it is asked for one", func(t *testing.T) {
		cmd := program()
		line := strings.Join(append(cmd.Args, "kubectl", "--name="+k.Name, "--state="+k.state, "-n", ns, "exec", "-it", "web", "--", "sh", "-c", "'test -t 0 && until stty size | grep -qx 33.77; do sleep 0.1; done && echo a terminal'"), " ")
		typed := exec.Command("script", "--quiet", "--return", "--command", "stty rows 33 cols 77; "+line, "/dev/null") // kubectl has to have one too
		typed.Env = cmd.Env
		out, err := typed.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "a terminal\r\n", "and its size")
	})
	t.Run("a port is forwarded", func(t *testing.T) {
		cmd := program("kubectl", "--name="+k.Name, "--state="+k.state, "-n", ns, "port-forward", "pod/web", ":8080")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		defer func() {
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
		}()
		var address string
		_, err = fmt.Fscanf(out, "Forwarding from %s", &address)
		require.NoError(t, err)
		resp, err := http.Get("http://" + address + "/k")
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "old", string(b))
	})
	t.Run("the service answers by its name", func(t *testing.T) {
		// The pod's readiness reaches the service's endpoints a moment later.
		until(t, "an answer through the service", func() bool {
			return k.kubectl(ns, "", "exec", "web", "--", "python3", "-c", "import urllib.request; print(urllib.request.urlopen('http://answers/k').read().decode())") == "old\n"
		})
	})
	t.Run("a mounted ConfigMap follows the object", func(t *testing.T) {
		k.kubectl(ns, "", "patch", "configmap", "cm", "-p", `{"data":{"k":"new"}}`)
		until(t, "the new content", func() bool { return k.kubectl(ns, "", "exec", "web", "--", "cat", "/cm/k") == "new" })
	})
	t.Run("logs of both streams, the last lines, with times", func(t *testing.T) {
		out := k.kubectl(ns, "", "logs", "web")
		require.Contains(t, out, "first\n")
		require.Contains(t, out, "second\n")
		out = k.kubectl(ns, "", "logs", "web", "--tail=1", "--timestamps")
		require.Equal(t, 1, strings.Count(out, "\n"))
		_, err := time.Parse(time.RFC3339Nano, strings.Fields(out)[0])
		require.NoError(t, err)
	})
	t.Run("its node port answers in the cluster and through the gate", func(t *testing.T) {
		const fetch = "import urllib.request; print(urllib.request.urlopen('http://10.88.0.1:30088/k').read().decode())"
		require.Equal(t, "new\n", k.kubectl(ns, "", "exec", "web", "--", "python3", "-c", fetch))
		cmd := program("forward", "--name="+k.Name, "--state="+k.state, "127.0.0.1:0", "127.0.0.1:30088")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		defer func() {
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
		}()
		var address string
		_, err = fmt.Fscanln(out, &address)
		require.NoError(t, err)
		resp, err := http.Get("http://" + address + "/k")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
	})
	t.Run("datagrams through a service", func(t *testing.T) {
		const server = "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(('',5353))\nwhile True:\n b,a=s.recvfrom(99); s.sendto(b'got '+b,a)"
		const client = "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.settimeout(1); s.sendto(b'it',('answers',53)); print(s.recv(99).decode())"
		serving := program("kubectl", "--name="+k.Name, "--state="+k.state, "-n", ns, "exec", "web", "--", "python3", "-c", server)
		require.NoError(t, serving.Start())
		until(t, "an answer", func() bool { return k.kubectl(ns, "", "exec", "web", "--", "python3", "-c", client) == "got it\n" })
		require.NoError(t, serving.Process.Kill())
		require.Error(t, serving.Wait())
	})
	t.Run("a service without endpoints refuses", func(t *testing.T) {
		const try = "import socket\ntry: socket.create_connection(('nobody',80),5)\nexcept ConnectionRefusedError: print('refused')"
		require.Equal(t, "refused\n", k.kubectl(ns, "", "exec", "web", "--", "python3", "-c", try))
	})
	t.Run("nobody without a certificate asks the node", func(t *testing.T) {
		const try = "import ssl,urllib.request\ntry: urllib.request.urlopen('https://10.88.0.1:10250/pods',context=ssl._create_unverified_context())\nexcept OSError as e: print(e)"
		require.Contains(t, k.kubectl(ns, "", "exec", "web", "--", "python3", "-c", try), "certificate required")
	})
	t.Run("its use is measured", func(t *testing.T) {
		until(t, "metrics", func() bool { return strings.Contains(k.kubectl(ns, "", "top", "pod", "web", "--no-headers"), "Mi") })
	})
	t.Run("deleted at once when its hook has run and it has ended", func(t *testing.T) {
		follows := program("kubectl", "--name="+k.Name, "--state="+k.state, "-n", ns, "logs", "-f", "--tail=1", "web")
		var log bytes.Buffer
		follows.Stdout = &log
		require.NoError(t, follows.Start())
		began := time.Now()
		out, err := k.kubectlErr(ns, "", "delete", "pod", "web")
		require.NoError(t, err, out)
		require.Less(t, time.Since(began), 25*time.Second, "not after its grace period")
		_, err = k.client.CoreV1().Pods(ns).Get(t.Context(), "web", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err))
		require.NoError(t, follows.Wait(), "the log ends with the pod")
		require.Contains(t, log.String(), "stopping\n")
	})
}

func TestAVolumeOfAClaimGoesWithIt(t *testing.T) {
	k, ns := shared(t)
	k.apply(t, ns, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: pvc}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}\n---\n"+
		podYAML(`{containers: [{name: c, image: sh, args: ["echo kept >/v/f"], volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: pvc}}]}`))
	require.Equal(t, corev1.PodSucceeded, k.waitPod(t, ns, "p", hasEnded).Status.Phase)
	claim, err := k.client.CoreV1().PersistentVolumeClaims(ns).Get(t.Context(), "pvc", metav1.GetOptions{})
	require.NoError(t, err)
	folder := filepath.Join(k.State, "volumes", claim.Spec.VolumeName)
	require.FileExists(t, filepath.Join(folder, "f"))
	k.apply(t, ns, strings.Replace(podYAML(`{containers: [{name: c, image: sh, args: ["cat /v/f"], volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: pvc}}]}`), "name: p", "name: next", 1))
	require.Equal(t, corev1.PodSucceeded, k.waitPod(t, ns, "next", hasEnded).Status.Phase)
	require.Equal(t, "kept\n", k.kubectl(ns, "", "logs", "next"), "what one pod left the next one finds")
	out, err := k.kubectlErr(ns, "", "delete", "pod/p", "pod/next", "pvc/pvc")
	require.NoError(t, err, out)
	until(t, "the volume to go", func() bool {
		_, err := k.client.CoreV1().PersistentVolumes().Get(t.Context(), claim.Spec.VolumeName, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	require.NoDirExists(t, folder)
}

func TestAVolumeThatCannotBeHadIsAnEvent(t *testing.T) {
	k, ns := shared(t)
	k.apply(t, ns, podYAML(`{containers: [{name: c, image: sh, args: ["true"], volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, hostPath: {path: /no/such/folder, type: Directory}}]}`))
	until(t, "the event", func() bool {
		return strings.Contains(k.kubectl(ns, "", "get", "events", "--field-selector=reason=FailedMount"), `set up volume "v": hostPath type check failed: /no/such/folder is not a directory`)
	})
}

// Pods come and go in numbers, and what they had goes with them.
func TestManyPodsLeaveNothing(t *testing.T) {
	k, ns := shared(t)
	const many = 40
	k.apply(t, ns, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: many}
spec:
  replicas: %d
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: sleep, resources: {requests: {cpu: 1m}, limits: {memory: 64Mi}}, volumeMounts: [{name: m, mountPath: /m}]}]
      volumes: [{name: m, emptyDir: {medium: Memory}}]
---
apiVersion: v1
kind: Pod
metadata: {name: node}
spec: {hostNetwork: true, terminationGracePeriodSeconds: 0, containers: [{name: c, image: sleep}]}
`, many))
	ready := func(n int32) {
		until(t, fmt.Sprintf("%d pods", n), func() bool {
			d, err := k.client.AppsV1().Deployments(ns).Get(t.Context(), "many", metav1.GetOptions{})
			return err == nil && d.Status.ReadyReplicas == n && d.Status.Replicas == n
		})
	}
	k.waitPod(t, ns, "node", isReady)
	had := func() (interfaces, folders int) {
		found, err := os.ReadDir(filepath.Join(k.State, "pods"))
		require.NoError(t, err)
		return strings.Count(k.kubectl(ns, "", "exec", "node", "--", "ls", "/sys/class/net"), "pod"), len(found)
	}
	ready(many)
	interfaces, folders := had()
	require.GreaterOrEqual(t, interfaces, many, "the test sees what it looks for")
	require.Greater(t, folders, many)
	out, err := k.kubectlErr(ns, "", "scale", "deployment/many", "--replicas=0")
	require.NoError(t, err, out)
	ready(0)
	until(t, "what the pods had to go", func() bool { // the last ones of other tests may be there still
		i, f := had()
		return i <= interfaces-many && f <= folders-many
	})
}

func waitingFor(reason string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Waiting != nil && c.State.Waiting.Reason == reason {
				return true
			}
		}
		return false
	}
}

func TestPodsThatCannotRunSaySo(t *testing.T) {
	for name, c := range map[string]struct{ spec, reason string }{
		"an image that nobody has":         {`{containers: [{name: c, image: "nosuch:1"}]}`, "ErrImagePull"},
		"an image, after a while":          {`{containers: [{name: c, image: "nosuch:1"}]}`, "ImagePullBackOff"},
		"an image that must not be pulled": {`{containers: [{name: c, image: "nosuch:1", imagePullPolicy: Never}]}`, "ErrImageNeverPull"},
		"a ConfigMap key that is missing":  {`{containers: [{name: c, image: sh, args: ["true"], env: [{name: A, valueFrom: {configMapKeyRef: {name: none, key: k}}}]}]}`, "CreateContainerConfigError"},
		"root where it is forbidden":       {`{containers: [{name: c, image: sh, args: ["true"], securityContext: {runAsNonRoot: true}}]}`, "CreateContainerConfigError"},
	} {
		t.Run(name, func(t *testing.T) {
			k, ns := shared(t)
			k.apply(t, ns, podYAML(c.spec))
			k.waitPod(t, ns, "p", waitingFor(c.reason))
			out, err := k.kubectlErr(ns, "", "delete", "pod", "p")
			require.NoError(t, err, out)
		})
	}
}

func TestPodsThatFailStartAgain(t *testing.T) {
	for name, spec := range map[string]string{
		"after an exit":            `{containers: [{name: c, image: sh, args: ["echo run; sleep 0.2; exit 1"]}]}`,
		"after its liveness probe": `{terminationGracePeriodSeconds: 1, containers: [{name: c, image: sh, args: ["echo run; sleep 1000"], livenessProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 1}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			k, ns := shared(t)
			k.apply(t, ns, strings.Replace(podYAML(spec), "restartPolicy: Never", "restartPolicy: Always", 1))
			p := k.waitPod(t, ns, "p", func(p *corev1.Pod) bool {
				return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].RestartCount >= 2 && p.Status.ContainerStatuses[0].LastTerminationState.Terminated != nil
			})
			require.NotZero(t, p.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
			require.Contains(t, k.kubectl(ns, "", "logs", "p", "--previous"), "run\n")
		})
	}
}

func TestForcedDeletionEndsProcesses(t *testing.T) {
	k, ns := shared(t)
	k.apply(t, ns, podYAML(`{terminationGracePeriodSeconds: 600, containers: [{name: c, image: sh, args: ["trap '' TERM; while :; do sleep 123456; done"]}]}`))
	k.waitPod(t, ns, "p", isReady)
	out, err := k.kubectlErr(ns, "", "delete", "pod", "p", "--grace-period=0", "--force")
	require.NoError(t, err, out)
	until(t, "its processes to end", func() bool {
		for _, p := range processesWith("sleep\x00123456\x00") {
			t.Log(p)
			return false
		}
		return true
	})
}

func TestContainerReadsWhatIsAttached(t *testing.T) {
	k, ns := shared(t)
	k.apply(t, ns, podYAML(`{containers: [{name: c, image: sh, args: ["while read x; do echo \"got $x\"; done; echo end"], stdin: true, stdinOnce: true}, {name: d, image: sleep}]}`))
	k.waitPod(t, ns, "p", isReady)
	out, err := k.kubectlErr(ns, "one\ntwo\n", "attach", "-i", "p", "-c", "c")
	require.NoError(t, err, out)
	require.Contains(t, out, "got one\ngot two\nend\n")
	out, err = k.kubectlErr(ns, "one\n", "attach", "-i", "p", "-c", "d")
	require.Error(t, err)
	t.Log(out)
}

func TestScalingByLoad(t *testing.T) {
	k, ns := shared(t)
	k.apply(t, ns, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: burn}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: sh, args: ["while :; do sleep 0.01; done"], resources: {requests: {cpu: 1m}}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: burn}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: burn}
  minReplicas: 1
  maxReplicas: 2
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`)
	until(t, "a second replica", func() bool {
		d, err := k.client.AppsV1().Deployments(ns).Get(t.Context(), "burn", metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == 2
	})
}
