// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/admit"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

const (
	certificate   = "kserve-webhook-server-cert"
	configuration = "inferenceservice.serving.kserve.io"
)

func document(tb testing.TB, ns, text string) *unstructured.Unstructured {
	tb.Helper()
	docs, err := cluster.Documents(text)
	require.NoError(tb, err)
	require.Len(tb, docs, 1)
	docs[0].SetNamespace(ns)
	return docs[0]
}

func service(name, fields string) string {
	return "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: " + name + ", annotations: {serving.kserve.io/deploymentMode: RawDeployment}}\n" +
		"spec: {predictor: {" + fields + "}}"
}

func TestObjectsAreJudgedOnTheWayIn(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	const runtime = "apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: %s}\n" +
		"spec: {containers: [{name: kserve-container, image: i}], supportedModelFormats: [{name: f, version: '1', autoSelect: true, priority: 1}]}"
	c.MustApply(t, ns, fmt.Sprintf(runtime, "first"))
	cases := map[string]struct{ object, says string }{
		"a right service":                     {service("a", "sklearn: {storageUri: 's3://b/m'}"), ""},
		"a source that nobody fetches":        {service("a", "sklearn: {storageUri: 'foo://b/m'}"), "spec.predictor.model.storageUri"},
		"two models":                          {service("a", "sklearn: {}, xgboost: {}"), "exactly one"},
		"an empty predictor":                  {service("a", ""), "exactly one"},
		"a priority that another has":         {fmt.Sprintf(runtime, "second"), "the runtime first"},
		"a graph without an entrance":         {"apiVersion: serving.kserve.io/v1alpha1\nkind: InferenceGraph\nmetadata: {name: g}\nspec: {nodes: {x: {routerType: Sequence, steps: [{serviceName: s}]}}}", "root"},
		"a right graph":                       {"apiVersion: serving.kserve.io/v1alpha1\nkind: InferenceGraph\nmetadata: {name: g}\nspec: {nodes: {root: {routerType: Sequence, steps: [{serviceName: s}]}}}", ""},
		"a model from where nobody pulls":     {"apiVersion: serving.kserve.io/v1alpha1\nkind: TrainedModel\nmetadata: {name: t}\nspec: {inferenceService: a, model: {framework: sklearn, memory: 1Gi, storageUri: 's3:///b'}}", "s3://bucket/path"},
		"a cluster's runtime without a fault": {"apiVersion: serving.kserve.io/v1alpha1\nkind: ClusterServingRuntime\nmetadata: {name: judged}\nspec: {containers: [{name: kserve-container, image: i}], supportedModelFormats: [{name: judged, version: '1', autoSelect: true, priority: 1}]}", ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := document(t, ns, test.object)
			if o.GetKind() == "ClusterServingRuntime" {
				o.SetNamespace("")
			}
			err := c.Client.Create(t.Context(), o, client.DryRunAll)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "panic")
		})
	}
}

func TestAServiceIsStoredWithItsDefaults(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	c.MustApply(t, ns, service("foo", "sklearn: {storageUri: 's3://b/m', protocolVersion: v2}"))
	var svc servingv1beta1.InferenceService
	key := client.ObjectKey{Namespace: ns, Name: "foo"}
	require.NoError(t, c.Client.Get(t.Context(), key, &svc))
	require.Nil(t, svc.Spec.Predictor.SKLearn)
	require.Equal(t, "sklearn", svc.Spec.Predictor.Model.ModelFormat.Name)
	require.Equal(t, "Standard", svc.Annotations["serving.kserve.io/deploymentMode"])
	require.Contains(t, svc.Finalizers, "inferenceservice.finalizers")
	// What is being deleted can be changed, whatever is wrong with it: else its finalizer could not go.
	require.NoError(t, c.Client.Delete(t.Context(), &svc))
}

func TestAPodGetsItsModel(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	c.MustApply(t, ns,
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s3, annotations: {serving.kserve.io/s3-endpoint: 'store:9000', serving.kserve.io/s3-usehttps: '0'}}\nstringData: {AWS_ACCESS_KEY_ID: a, AWS_SECRET_ACCESS_KEY: b}",
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: sa}\nsecrets: [{name: s3}]")
	pod := func(source string) *unstructured.Unstructured {
		return document(t, ns, "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {serving.kserve.io/inferenceservice: foo}, annotations: {internal.serving.kserve.io/storage-initializer-sourceuri: '"+source+"'}}\n"+
			"spec: {serviceAccountName: sa, containers: [{name: kserve-container, image: i}]}")
	}
	o := pod("s3://b/m")
	require.NoError(t, c.Client.Create(t.Context(), o))
	var got corev1.Pod
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKeyFromObject(o), &got))
	require.Equal(t, []string{"s3://b/m", "/mnt/models"}, got.Spec.InitContainers[0].Args)
	values := map[string]string{}
	for _, e := range got.Spec.InitContainers[0].Env {
		values[e.Name] = e.Value
	}
	require.Equal(t, "http://store:9000", values["AWS_ENDPOINT_URL"])
	require.Contains(t, values, "AWS_SECRET_ACCESS_KEY")

	missing := pod("s3://b/m")
	missing.SetName("q")
	missing.SetAnnotations(map[string]string{"internal.serving.kserve.io/storage-initializer-sourceuri": "s3://b/m", "serving.kserve.io/storageSecretName": "ghost"})
	require.ErrorContains(t, c.Client.Create(t.Context(), missing), `"ghost"`)

	other := pod("s3://b/m")
	other.SetName("r")
	other.SetLabels(nil)
	require.NoError(t, c.Client.Create(t.Context(), other))
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKeyFromObject(other), &got))
	require.Empty(t, got.Spec.InitContainers, "not ours")
}

// TestABadConfigMapChangesNothing is not parallel: the operator's settings are everybody's.
func TestABadConfigMapChangesNothing(t *testing.T) {
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	var cm corev1.ConfigMap
	key := client.ObjectKey{Namespace: cluster.System, Name: "inferenceservice-config"}
	require.NoError(t, c.Client.Get(t.Context(), key, &cm))
	good := cm.Data["ingress"]
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, c.Client.Get(ctx, key, &cm))
		cm.Data["ingress"] = good
		require.NoError(t, c.Client.Update(ctx, &cm))
	})
	cm.Data["ingress"] = "{"
	require.NoError(t, c.Client.Update(t.Context(), &cm))
	c.Eventually(t, "an event about the ConfigMap by the webhook", func(ctx context.Context) error {
		var events corev1.EventList
		if err := c.Client.List(ctx, &events, client.InNamespace(cluster.System)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == "InvalidSettings" && e.Source.Component == "kserve-webhook-server" && strings.Contains(e.Message, "ingress $: is not JSON") {
				return nil
			}
		}
		return errors.New("none")
	})
	require.NoError(t, answers(t.Context(), "http://"+c.Webhook.Health+"/readyz"))
	require.NoError(t, c.Client.Create(t.Context(), document(t, ns, service("a", "sklearn: {storageUri: 's3://b/m'}")), client.DryRunAll))
	text, err := fetch(t.Context(), "http://"+c.Webhook.Metrics+"/metrics")
	require.NoError(t, err)
	require.Contains(t, text, "kserve_settings_valid 0")
	require.Contains(t, text, `kserve_webhook_requests_total{operation="CREATE",outcome="patched",resource="inferenceservices/defaults"}`)
	require.Contains(t, text, `kserve_webhook_certificate_expiry_timestamp_seconds{certificate="serving"}`)
}

func fetch(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

func answers(ctx context.Context, url string) error {
	_, err := fetch(ctx, url)
	return err
}

// second runs a replica in this process, under the webhook's account, that serves 127.0.0.1 at an address of its own.
func second(t *testing.T, c *cluster.Cluster, change func(*admit.Options)) (review, health string, stop func()) {
	t.Helper()
	config, err := c.As(t.Context(), cluster.WebhookAccount)
	require.NoError(t, err)
	k := clientcmdapi.NewConfig()
	k.Clusters["api"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	k.AuthInfos["hook"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	k.Contexts["api"] = &clientcmdapi.Context{Cluster: "api", AuthInfo: "hook"}
	k.CurrentContext = "api"
	o := admit.NewOptions()
	o.Probe.Kubeconfig = t.TempDir() + "/kubeconfig"
	require.NoError(t, clientcmd.WriteToFile(*k, o.Probe.Kubeconfig))
	port := func() string {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		return l.Addr().String()
	}
	review, health = port(), port()
	host, number, err := net.SplitHostPort(review)
	require.NoError(t, err)
	o.Host, o.Probe.HealthAddr, o.Probe.MetricsAddr, o.ShutdownDelay = host, health, "127.0.0.1:0", 300*time.Millisecond
	_, err = fmt.Sscan(number, &o.Port)
	require.NoError(t, err)
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := admit.Run(ctx, o, zap.NewNop()); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	c.Eventually(t, "the second replica", func(ctx context.Context) error { return answers(ctx, "http://"+health+"/readyz") })
	return review, health, stop
}

// announced are the authorities that the API server trusts now.
func announced(ctx context.Context, c *cluster.Cluster) (*x509.CertPool, error) {
	var m admissionregistrationv1.MutatingWebhookConfiguration
	if err := c.Client.Get(ctx, client.ObjectKey{Name: configuration}, &m); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(m.Webhooks[0].ClientConfig.CABundle) {
		return nil, errors.New("no authority is announced")
	}
	return pool, nil
}

// served shakes hands with a replica as an API server does and returns what it serves.
func served(ctx context.Context, c *cluster.Cluster, address string) (*x509.Certificate, error) {
	pool, err := announced(ctx, c)
	if err != nil {
		return nil, err
	}
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: "kserve-webhook-server-service.kserve.svc", MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0], nil //nolint:forcetypeassert // what the dialer makes
}

// TestCertificatesRotateWithoutARefusal is not parallel: it counts on nobody else to change the certificate.
func TestCertificatesRotateWithoutARefusal(t *testing.T) {
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	address, _, _ := second(t, c, nil)
	before, err := served(t.Context(), c, address)
	require.NoError(t, err)

	stop, load := make(chan struct{}), sync.WaitGroup{}
	admitted := 0
	load.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := c.Client.Create(context.Background(), document(t, ns, service("a", "sklearn: {storageUri: 's3://b/m'}")), client.DryRunAll); err != nil {
				t.Errorf("request %d: %v", i, err)
				return
			}
			admitted++
		}
	})
	require.NoError(t, c.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.System, Name: certificate}}))
	c.Eventually(t, "the replicas serve another certificate", func(ctx context.Context) error {
		now, err := served(ctx, c, address)
		if err == nil && now.Equal(before) {
			err = errors.New("the old certificate is served")
		}
		return err
	})
	c.Eventually(t, "and the webhook process does", func(ctx context.Context) error {
		text, err := fetch(ctx, "http://"+c.Webhook.Metrics+"/metrics")
		if err == nil && strings.Contains(text, "kserve_webhook_certificate_rotations_total 0") {
			err = errors.New("not yet")
		}
		return err
	})
	close(stop)
	load.Wait()
	require.Positive(t, admitted)
}

func TestAReplicaThatStopsAnswersWhatItTook(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t)
	address, health, stop := second(t, c, nil)
	pool, err := announced(t.Context(), c)
	require.NoError(t, err)
	h := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "kserve-webhook-server-service.kserve.svc", MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}
	ask := func() error {
		body := `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u","operation":"DELETE"}}`
		response, err := h.Post("https://"+address+admit.PathService, "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err == nil && !strings.Contains(string(text), `"allowed":true`) {
			err = fmt.Errorf("%s %s", response.Status, text)
		}
		return err
	}
	require.NoError(t, ask())
	var stopped sync.WaitGroup
	stopped.Go(stop)
	c.Eventually(t, "the replica says that it stops", func(ctx context.Context) error {
		if err := answers(ctx, "http://"+health+"/readyz"); err == nil {
			return errors.New("ready")
		}
		return nil
	})
	require.NoError(t, ask(), "a replica that is not ready still answers for a while")
	stopped.Wait()
	require.Error(t, ask())
}

// TestADeletionDoesNotWaitForTheWebhook is of a cluster whose webhook is away, which is what an installation is left as that was taken away in the wrong
// order. All tests share the webhook: this one does not run in parallel.
func TestADeletionDoesNotWaitForTheWebhook(t *testing.T) {
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	require.NoError(t, w.Webhook.Stop())
	t.Cleanup(func() { require.NoError(t, w.Webhook.Start(context.Background())) })
	err := w.Client.Patch(t.Context(), w.service("m"), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"touched":"yes"}}}`)))
	require.ErrorContains(t, err, "failed calling webhook", "the webhook is away")
	w.available("m-predictor", 0)
	w.says("m", serving.ConditionReady, "MinimumReplicasUnavailable") // a status is written all the same
	require.NoError(t, w.Client.Delete(t.Context(), w.service("m")))
	gone(w, "m", &servingv1beta1.InferenceService{})
}
