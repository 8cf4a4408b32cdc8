// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// One cluster without a node answers three questions about the API server.
func TestAPIServerForTests(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	log := filepath.Join(t.TempDir(), "audit.log")
	c := start(t, state, "api", "--no-node", "--discard", "--audit-log", log)
	require.Equal(t, log, c.AuditLog)

	t.Run("a refusal is in the audit log", func(t *testing.T) {
		config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
		require.NoError(t, err)
		config.Impersonate.UserName = "system:serviceaccount:default:weak"
		weak, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		_, err = weak.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
		require.Error(t, err)
		until(t, "the line", func() bool {
			f, err := os.Open(log)
			require.NoError(t, err)
			defer f.Close()
			for lines := bufio.NewScanner(f); lines.Scan(); {
				var e struct {
					ImpersonatedUser struct{ Username string }
					ObjectRef        struct{ Resource string }
					ResponseStatus   struct{ Code int }
				}
				require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
				if e.ImpersonatedUser.Username == config.Impersonate.UserName && e.ObjectRef.Resource == "secrets" && e.ResponseStatus.Code == http.StatusForbidden {
					return true
				}
			}
			return false
		})
	})
	t.Run("a webhook on a port of this machine is reached", func(t *testing.T) {
		hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var review admissionv1.AdmissionReview
			if json.NewDecoder(r.Body).Decode(&review) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "heard and refused"}}
			_ = json.NewEncoder(w).Encode(review)
		}))
		defer hook.Close()
		fails, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
		_, err := c.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "hook"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "hook.example.com", FailurePolicy: &fails, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
				ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &hook.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})},
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}},
			}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		until(t, "the webhook to be asked", func() bool {
			_, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("refused"), metav1.CreateOptions{DryRun: []string{"All"}})
			return err != nil && err.Error() == `admission webhook "hook.example.com" denied the request: heard and refused`
		})
		require.NoError(t, c.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "hook", metav1.DeleteOptions{}))
	})
	t.Run("it is restarted", func(t *testing.T) {
		w, err := c.client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		done := make(chan string, 1)
		go func() {
			out, err := program("restart-apiserver", "--state", state, "--name", "api", "--for", "1s").CombinedOutput()
			if err != nil {
				out = append(out, err.Error()...)
			}
			done <- string(out)
		}()
		for range w.ResultChan() { //nolint:revive // until the watch is cut
		}
		refused := false
		for out := ""; out == ""; {
			select {
			case out = <-done:
				require.Contains(t, out, "the API server was away for")
			case <-time.After(20 * time.Millisecond):
				conn, err := net.Dial("tcp", c.Server[len("https://"):])
				if refused = refused || err != nil; err == nil {
					conn.Close()
				}
			}
		}
		require.True(t, refused, "it was away")
		_, err = c.client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("after"), metav1.CreateOptions{})
		require.NoError(t, err)
		until(t, "the controllers to go on", func() bool {
			_, err := c.client.CoreV1().ConfigMaps("default").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
			return err == nil
		})
	})
	c.stop(t)
}
