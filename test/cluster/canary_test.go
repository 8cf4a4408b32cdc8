// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
	"github.com/kserve-go/kserve-go/test/process"
)

const (
	irisOther = "s3://models/iris-other"
	// manyAsked and atOnce are for what is counted.
	manyAsked = 10000
	atOnce    = 8
)

func httpRoutes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
}

// canary is what `spec` has beside the predictor for a canary with so many percent of the requests.
func canary(name, uri string, percent int) string {
	return fmt.Sprintf(`  canary:
  - trafficPercent: %d
    predictor:
      name: %s
      model: {modelFormat: {name: sklearn}, storageUri: %s}
`, percent, name, uri)
}

// gatewayAPI turns the cluster's Gateway API on or off, as a person would.
func (s *space) gatewayAPI(on bool) {
	s.Helper()
	out, err := s.local(s.Context(), "up", "--wait="+upLimit.String(), fmt.Sprintf("--gateway-api=%t", on))
	require.NoError(s, err, "%s", out)
}

// watched is a load from new connections and one from kept ones on the same service: whatever happens, none of their requests may fail.
type watched struct {
	*space
	way           way
	before, after *process.Golden
	loads         map[string]*load
	// shadow is how many answers of a kind had come before the model behind it became a shadow.
	shadow map[string]int
}

func (s *space) watched(v *isvc) *watched {
	w := &watched{space: s, way: s.throughGateway(v), before: golden(s.T, "sklearn-iris"), after: golden(s.T, "sklearn-iris-other"), loads: map[string]*load{}}
	for kind, keep := range map[string]bool{"new connections": false, "kept connections": true} {
		w.loads[kind] = s.steady(25, which(w.way, w.way.client(keep), v.Name, w.before, w.after))
	}
	w.seen("before", 10)
	return w
}

func (w *watched) seen(answer string, more int) {
	w.Helper()
	for _, l := range w.loads {
		l.seen(w.space, answer, more)
	}
}

// remember keeps how many answers of a kind have come.
func (w *watched) remember(answer string) {
	w.shadow = map[string]int{}
	for kind, l := range w.loads {
		l.mu.Lock()
		w.shadow[kind] = l.answers[answer]
		l.mu.Unlock()
	}
}

// unhurt expects that no request has failed so far.
func (w *watched) unhurt(until string) {
	w.Helper()
	for kind, l := range w.loads {
		l.mu.Lock()
		errs := l.errs
		l.mu.Unlock()
		if len(errs) > 0 {
			require.Failf(w, "requests failed", "%s, %s: %d, the first: %v", until, kind, len(errs), errs[0])
		}
	}
}

// canaries is the life of a canary: it comes, gets its share once it can answer, is taken over, comes again, is taken back, and comes as a
// shadow. None of that costs a request.
func canaries(s *space) {
	stable := model("split", iris)
	s.apply(stable)
	w := s.watched(s.ready("split"))
	s.gatewayAPI(true)
	defer s.gatewayAPI(false)
	s.routed("split")
	w.unhurt("from Ingress to HTTPRoute")

	s.apply(stable + canary("next", irisOther, 20))
	s.sharesOnlyWhenReady("split", "next", 20)
	s.count(w, 20)
	w.unhurt("while the canary comes")
	pods := s.podsOf("split-next-predictor")

	promoted := strings.Replace(model("split", irisOther), "  predictor:\n", "  predictor:\n    name: next\n", 1)
	s.apply(promoted)
	s.trackGone("split", "split-predictor")
	w.seen("after", 30)
	w.unhurt("while the canary is taken over")
	require.Subset(s, s.podsOf("split-next-predictor"), pods, "the canary's pods go on as the stable ones")

	s.apply(promoted + canary("third", iris, 50))
	s.sharesOnlyWhenReady("split", "third", 50)
	w.seen("before", 10)
	s.apply(promoted)
	s.trackGone("split", "split-third-predictor")
	w.seen("after", 30)
	w.unhurt("while the canary is taken back")

	w.remember("before")
	s.apply(strings.Replace(promoted, "annotations: {", `annotations: {kserve-go.dev/canary-shadow: third=100, `, 1) + canary("third", iris, 0))
	s.shadowed(w, "split", "third")
	w.unhurt("while the canary is a shadow")
	s.apply(promoted)
	s.trackGone("split", "split-third-predictor")

	s.grpcByRoute()
	s.byPath("split")
	w.unhurt("while the service gets a path too")
	for kind, l := range w.loads {
		l.end(s, kind)
	}
}

// grpcByRoute calls a model whose only port speaks gRPC through the HTTPRoutes of its host.
func (s *space) grpcByRoute() {
	s.Helper()
	s.apply(model("spoken", iris, `      ports: [{name: h2c, containerPort: 8081, protocol: TCP}]`))
	v := s.ready("spoken")
	s.routed("spoken")
	w, g := s.throughGateway(v), golden(s.T, "sklearn-iris")
	conn, err := w.overGRPC()
	require.NoError(s, err)
	defer conn.Close()
	live, err := inferencev2.NewGRPCInferenceServiceClient(conn).ServerLive(s.Context(), &inferencev2.ServerLiveRequest{})
	require.NoError(s, err, "ServerLive through the HTTPRoute, at once: the service is Ready")
	require.True(s, live.GetLive())
	got, err := w.askGRPC(s.Context(), "spoken", g)
	require.NoError(s, err)
	require.NoError(s, g.Compare(got))
}

// routed waits until the service is reached by HTTPRoutes alone.
func (s *space) routed(name string) {
	s.Helper()
	s.eventually(name+" is reached by HTTPRoutes", patience, func(ctx context.Context) error {
		if _, err := s.client.Resource(httpRoutes()).Namespace(s.ns).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if _, err := s.core.NetworkingV1().Ingresses(s.ns).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Ingress is there: %w", err)
		}
		return nil
	})
	s.await(name, "is Ready by HTTPRoutes", patience, isReady)
}

// sharesOnlyWhenReady follows the route until the canary has its share. It must have none before a pod of it can answer.
func (s *space) sharesOnlyWhenReady(name, canary string, percent int64) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	err := s.follow(ctx, httpRoutes(), name, func(u *unstructured.Unstructured) bool {
		share, found := canaryShare(u, canary)
		if !found {
			return false
		}
		d, err := s.core.AppsV1().Deployments(s.ns).Get(ctx, name+"-"+canary+"-predictor", metav1.GetOptions{})
		require.NoError(s, err)
		require.Positive(s, d.Status.AvailableReplicas, "the canary has a share of %d%% and no pod that answers", share)
		return share == percent
	})
	require.NoError(s, err, "the canary of %s gets %d%%", name, percent)
	s.await(name, "says that the canary is ready", patience, func(v *isvc) bool {
		return isReady(v) && len(v.Status.CanaryStatuses) == 1 && v.Status.CanaryStatuses[0].Ready
	})
}

// canaryShare is the weight of the backend that is the canary.
func canaryShare(u *unstructured.Unstructured, canary string) (int64, bool) {
	if u == nil {
		return 0, false
	}
	rules, _, _ := unstructured.NestedSlice(u.Object, "spec", "rules") // a route without any has no share either
	for _, rule := range rules {
		r, _ := rule.(map[string]any)
		refs, _, _ := unstructured.NestedSlice(r, "backendRefs")
		for _, ref := range refs {
			if b, _ := ref.(map[string]any); strings.Contains(fmt.Sprint(b["name"]), "-"+canary+"-") {
				share, ok := b["weight"].(int64)
				return share, ok
			}
		}
	}
	return 0, false
}

// trackGone waits until nothing is left of a predictor, stable or canary, and of all canaries.
func (s *space) trackGone(name, predictor string) {
	s.Helper()
	s.eventually(predictor+" goes", patience, func(context.Context) error {
		for _, o := range s.objects() {
			kind, object, _ := strings.Cut(o, "/")
			if kind != "HTTPRoute" && (object == predictor || strings.HasPrefix(object, predictor+"-")) {
				return fmt.Errorf("there is %s", o)
			}
		}
		return nil
	})
	s.await(name, "is Ready without a canary", patience, func(v *isvc) bool { return isReady(v) && len(v.Status.CanaryStatuses) == 0 })
}

// podsOf are the names of the pods of a Deployment.
func (s *space) podsOf(deployment string) []string {
	s.Helper()
	list, err := s.core.CoreV1().Pods(s.ns).List(s.Context(), metav1.ListOptions{LabelSelector: "app=isvc." + deployment})
	require.NoError(s, err)
	require.NotEmpty(s, list.Items)
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// count asks many times and counts who answers.
func (s *space) count(w *watched, percent int) {
	s.Helper()
	ask := which(w.way, w.way.client(true), "split", w.before, w.after)
	var asked, canary atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, atOnce)
	for range atOnce {
		all.Go(func() {
			for asked.Add(1) <= manyAsked {
				answer, err := ask(s.Context())
				if err != nil {
					errs <- err
					return
				}
				if answer == "after" {
					canary.Add(1)
				}
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		require.NoError(s, err)
	}
	s.note("%d of %d requests went to the canary with %d%%", canary.Load(), manyAsked, percent)
	require.InDelta(s, percent*manyAsked/100, canary.Load(), 0.02*manyAsked)
}

// byPath gives services a path on the shared domain, and asks as status prints it.
func (s *space) byPath(name string) {
	s.Helper()
	settings := s.core.CoreV1().ConfigMaps(system)
	cm, err := settings.Get(s.Context(), "inferenceservice-config", metav1.GetOptions{})
	require.NoError(s, err)
	var section map[string]any
	require.NoError(s, json.Unmarshal([]byte(cm.Data["ingress"]), &section))
	section["pathTemplate"] = "/serving/{{ .Namespace }}/{{ .Name }}"
	text, err := json.Marshal(section)
	require.NoError(s, err)
	patch, err := json.Marshal(map[string]any{"data": map[string]any{"ingress": string(text)}})
	require.NoError(s, err)
	_, err = settings.Patch(s.Context(), cm.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(s, err)
	s.await(name, "has read the settings", patience, isReady)
	w := way{name: "path", address: bare(s.record.Gateway), host: s.domain(section)}
	at := "/serving/" + s.ns + "/" + name + "/v1/models/" + name + ":predict"
	g := golden(s.T, "sklearn-iris-other")
	var raw []byte
	s.eventually("the service answers at its path", patience, func(ctx context.Context) (err error) {
		raw, err = w.post(ctx, w.client(false), at, v1Body(g))
		return err
	})
	var answer struct{ Predictions json.RawMessage }
	require.NoError(s, json.Unmarshal(raw, &answer))
	got, err := process.Flatten(answer.Predictions)
	require.NoError(s, err)
	require.NoError(s, g.Compare(got))
	_, err = w.post(s.Context(), w.client(false), "/serving/nowhere", v1Body(g))
	require.ErrorContains(s, err, http.StatusText(http.StatusNotFound), "no other path of the domain is taken")

	v := s.await(name, "is Ready at its path", patience, isReady)
	s.answers(s.throughGateway(v), name, g)
	body, err := json.Marshal(v1Body(g))
	require.NoError(s, err)
	require.Contains(s, s.predict(name, "-n", s.ns, "--cluster", clusterName, "--state", s.state(), "-d", string(body)), "predictions", "as status prints the URL")
}

func (s *space) domain(ingress map[string]any) string {
	s.Helper()
	domain, ok := ingress["ingressDomain"].(string)
	require.True(s, ok, "%v", ingress)
	return domain
}

// shadowed waits until the canary has been asked for predictions, and looks that nobody got its answers.
func (s *space) shadowed(w *watched, name, shadow string) {
	s.Helper()
	s.await(name, "has a shadow that is ready", patience, func(v *isvc) bool { return len(v.Status.CanaryStatuses) == 1 && v.Status.CanaryStatuses[0].Ready })
	canary := s.throughService(name + "-" + shadow)
	s.eventually("the canary gets copies", patience, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+canary.host+"/metrics", nil)
		if err != nil {
			return err
		}
		answer, err := canary.client(false).Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		if n := predictions(string(text)); n < 20 {
			return fmt.Errorf("it was asked %v times", n)
		}
		return nil
	})
	for kind, l := range w.loads {
		l.mu.Lock()
		n := l.answers["before"]
		l.mu.Unlock()
		require.Equal(s, w.shadow[kind], n, "%s: answers of the shadow", kind)
	}
}

// predictions reads out of a server's metrics how often it was asked for one.
func predictions(metrics string) float64 {
	n := 0.0
	for line := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(line, "request_predict_seconds_count"); ok {
			fields := strings.Fields(rest)
			v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			if err == nil {
				n += v
			}
		}
	}
	return n
}
