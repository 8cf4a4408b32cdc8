// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package predict sends one inference request over V1 REST, V2 REST or V2 gRPC and prints the answer and how long it took.
//
// Called by: cli.
// Next: any server of these protocols, among them the one that cli/run starts and the gateway of a local cluster.
package predict

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// The protocols that a request can be sent over.
const (
	V1   = "v1"
	V2   = "v2"
	GRPC = "grpc"
)

// maxAnswer bounds what a server may make this program hold.
const maxAnswer = 256 << 20

// errLong says that a server's answer has no end that this program waits for.
var errLong = errors.New("it is longer than this program takes")

func readAnswer(r io.Reader, most int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(raw)) > most {
		return nil, fmt.Errorf("%w: %d MiB", errLong, most>>20)
	}
	return raw, err
}

// Options are what the flags set.
type Options struct {
	Model    string // or, with Graph, a graph as name or namespace/name
	Graph    bool
	Protocol string // empty: as the request's body is written
	URL      string
	GRPCAddr string
	File     string
	Data     string
	Host     string
	Headers  []string
	Timeout  time.Duration
	Output   output.Format
	Cluster  live.Where // where to look for the service; without it URL and GRPCAddr are the server

	urlGiven, addressGiven bool
	seen                   *sighting // nil where no cluster was asked, and of graphs
}

// BindFlags declares the flags.
func (o *Options) BindFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&o.File, "file", "f", "", `JSON file with the request's body; "-" reads stdin`)
	flags.StringVarP(&o.Data, "data", "d", "", "the request's body, inline")
	flags.StringVarP(&o.Protocol, "protocol", "p", "", `v1, v2 or grpc; without it, v1 for {"instances": …} and v2 for {"inputs": …}`)
	flags.BoolVar(&o.Graph, "graph", false, "ask the InferenceGraph of this name (or namespace/name), as kserve run serves it, and no model")
	flags.StringVarP(&o.Cluster.Namespace, "namespace", "n", "", "ask the InferenceService of this namespace in a cluster, where its status says it is")
	flags.StringVar(&o.Cluster.Name, "cluster", "", "the cluster is the local one of this name (kserve local up --name)")
	flags.StringVar(&o.Cluster.State, "state", "", "folder that holds the folders of local clusters")
	flags.StringVar(&o.Cluster.Kubeconfig, "kubeconfig", "", "the cluster is that of this kubeconfig (default with -n: KUBECONFIG, else the local cluster that runs)")
	flags.StringVar(&o.Cluster.Context, "context", "", "context of the kubeconfig (default: its current one)")
	flags.StringVar(&o.URL, "url", "http://localhost:8080", "base URL of the server, for v1 and v2")
	flags.StringVar(&o.GRPCAddr, "grpc-address", "localhost:8081", "host:port of the server, for grpc")
	flags.StringVar(&o.Host, "host", "", "Host header, as a cluster's ingress routes by it")
	flags.StringArrayVarP(&o.Headers, "header", "H", nil, "further header, as 'Name: value'; may be repeated")
	flags.DurationVar(&o.Timeout, "timeout", 30*time.Second, "how long to wait for the answer")
	o.Output = output.Table
	flags.VarP(&o.Output, "output", "o", "table prints the answer's body, json and yaml wrap it with status and latency")
}

// Command is `kserve predict`.
func Command(streams output.Streams) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "predict MODEL (-f FILE | -d JSON)",
		Short: "Send one request over V1, V2 or gRPC; print the answer and its latency",
		Long: `Send one inference request to a running model and print the answer on stdout, the latency on stderr.

The body is JSON in V1 form, {"instances": [[…], …]}, or in V2 form, {"inputs": [{"name", "shape", "datatype", "data"}]}.
A rectangular V1 body can be sent over v2 and grpc too: it becomes one input named input-0.

With --namespace (or --cluster, or --kubeconfig) the model is an InferenceService of a cluster: its status tells its URL, and the gateway
of a local cluster is found by itself; so it is without these flags when no server listens at the default address. In other clusters --url names the ingress where the URL's host cannot be resolved.

An InferenceGraph that kserve run serves is asked with --graph, under /serving/<namespace>/<name>.`,
		Example: `  kserve predict sklearn-iris -d '{"instances": [[6.8, 2.8, 4.8, 1.4]]}'
  kserve predict sklearn-iris -p grpc -f request.json
  kserve predict sklearn-iris -n default -d '{"instances": [[6.8, 2.8, 4.8, 1.4]]}'
  kserve predict --graph iris-pipeline -d '{"instances": [[6.8, 2.8, 4.8, 1.4]]}'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Model = args[0]
			o.urlGiven, o.addressGiven = cmd.Flags().Changed("url"), cmd.Flags().Changed("grpc-address")
			return Run(cmd.Context(), o, streams)
		},
	}
	o.BindFlags(cmd.Flags())
	return cmd
}

// Answer is what came back.
type Answer struct {
	Model     string          `json:"model"`
	Protocol  string          `json:"protocol"`
	Target    string          `json:"target"`
	Status    string          `json:"status"`
	LatencyMS float64         `json:"latencyMs"`
	Body      json.RawMessage `json:"answer"`

	failed   bool
	notFound bool
	text     string // the body where it is no JSON
}

// Run sends the request that o describes and prints the answer.
func Run(ctx context.Context, o Options, streams output.Streams) error {
	if err := o.validate(); err != nil {
		return err
	}
	body, err := o.body(streams.In)
	if err != nil {
		return err
	}
	if o.Protocol == "" {
		o.Protocol = body.natural()
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	o.orLocal(ctx, streams.Err)
	if o.Cluster.Asked() {
		if err := o.find(ctx, streams.Err); err != nil {
			return err
		}
	}
	return o.send(ctx, body, streams)
}

func (o *Options) send(ctx context.Context, body *requestBody, streams output.Streams) error {
	var answer *Answer
	var err error
	switch o.Protocol {
	case V1:
		answer, err = o.sendV1(ctx, body)
	case V2:
		answer, err = o.sendV2(ctx, body)
	case GRPC:
		answer, err = o.sendGRPC(ctx, body)
	default:
		return exit.Errorf(exit.Usage, "--protocol %q is none of v1, v2, grpc", o.Protocol)
	}
	if err != nil {
		if exit.Code(err) == exit.Unreachable {
			o.explain(ctx, streams.Err)
		}
		return err
	}
	if err := answer.print(o.Output, streams); err != nil {
		return err
	}
	if answer.failed {
		o.explain(ctx, streams.Err)
	}
	if answer.notFound && !o.Cluster.Asked() {
		o.elsewhere(ctx, streams.Err)
	}
	if answer.failed {
		return exit.Silent(exit.Failed)
	}
	return nil
}

// elsewhere says, of a model that a server does not have, what the server has and where else it may be.
func (o *Options) elsewhere(ctx context.Context, stderr io.Writer) {
	if served := o.served(ctx); len(served) > 0 {
		fmt.Fprintf(stderr, "%s serves %s\n", o.server(), output.Line(output.Clip(strings.Join(served, ", "), widthOfNames)))
	}
	if !o.Graph {
		fmt.Fprintf(stderr, "if %s is an InferenceGraph that kserve run serves, it is at /serving/<namespace>/<name>: kserve predict --graph %s\n", o.Model, o.Model)
	}
	if clusters := o.clusters(); clusters != "" {
		fmt.Fprintln(stderr, clusters)
	}
}

const (
	widthOfNames = 400
	maxNames     = 1 << 20 // of a server's list of models
)

// served are the names of the models of a server that has the route of V1 which lists them; of others none is known.
func (o *Options) served(ctx context.Context) []string {
	if o.Protocol == GRPC || o.Host != "" {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(o.URL, "/")+"/v1/models", http.NoBody)
	if err != nil {
		return nil
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var list struct {
		Models []string `json:"models"`
	}
	if json.NewDecoder(io.LimitReader(response.Body, maxNames)).Decode(&list) != nil {
		return nil
	}
	return list.Models
}

// validate refuses flags that can reach no server.
func (o *Options) validate() error {
	switch {
	case o.Model == "":
		return exit.Errorf(exit.Usage, "the model's name is empty")
	case o.Graph && o.Protocol == GRPC:
		return exit.Errorf(exit.Usage, "graphs are served over HTTP: leave --protocol grpc out")
	case o.Graph && strings.Count(o.Model, "/") > 1:
		return exit.Errorf(exit.Usage, "%q is no graph: give its name, or namespace/name", o.Model)
	case o.Timeout <= 0:
		return exit.Errorf(exit.Usage, "--timeout %s leaves no time; give for example 30s", o.Timeout)
	}
	if _, port, err := net.SplitHostPort(o.GRPCAddr); o.Protocol == GRPC && (err != nil || port == "") {
		return exit.Errorf(exit.Usage, "--grpc-address %q is not like localhost:8081", o.GRPCAddr)
	}
	for _, h := range o.Headers {
		if _, _, err := header(h); err != nil {
			return err
		}
	}
	return nil
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// header splits a header flag. The rules of the wire are checked here: later they would look like a server that is away.
func header(flag string) (name, value string, err error) {
	name, value, ok := strings.Cut(flag, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !ok || name == "":
		return "", "", exit.Errorf(exit.Usage, "--header %q is not like 'Name: value'", flag)
	case !headerName.MatchString(name):
		return "", "", exit.Errorf(exit.Usage, "--header %q: a name holds letters, digits and '-' only", flag)
	case strings.ContainsFunc(value, unicode.IsControl):
		return "", "", exit.Errorf(exit.Usage, "--header %q: a value is one line without control characters", flag)
	}
	return name, value, nil
}

func (a *Answer) print(format output.Format, streams output.Streams) error {
	if format != output.Table {
		return output.Write(streams.Out, format, a)
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, a.Body, "", "  ") != nil {
		pretty.Reset()
		pretty.Write(a.Body)
	}
	if a.text != "" { // no JSON: as it came
		pretty.Reset()
		pretty.WriteString(strings.TrimRight(a.text, "\n"))
	}
	pretty.WriteByte('\n')
	text := pretty.String()
	if output.IsTerminal(streams.Out) { // which would obey what a stranger answered
		text = output.Text(text)
	}
	if _, err := io.WriteString(streams.Out, text); err != nil {
		return err
	}
	paint := output.NewPaint(streams.Err)
	status := paint.Good(a.Status)
	if a.failed {
		status = paint.Bad(a.Status)
	}
	_, err := fmt.Fprintf(streams.Err, "%s in %.1f ms over %s from %s\n", status, a.LatencyMS, a.Protocol, a.Target)
	return err
}

func (o *Options) body(stdin io.Reader) (*requestBody, error) {
	var raw []byte
	var err error
	switch {
	case o.File != "" && o.Data != "":
		return nil, exit.Errorf(exit.Usage, "--file and --data are both given; use one")
	case o.Data != "":
		raw = []byte(o.Data)
	case o.File == "-":
		raw, err = io.ReadAll(stdin)
	case o.File != "":
		raw, err = os.ReadFile(o.File)
	default:
		return nil, exit.Errorf(exit.Usage, "no request: give a JSON file with --file or the JSON itself with --data")
	}
	if err != nil {
		return nil, exit.Errorf(exit.Invalid, "read the request: %w", err)
	}
	return parseBody(raw)
}

func (o *Options) sendV1(ctx context.Context, body *requestBody) (*Answer, error) {
	if body.natural() == V2 {
		return nil, exit.Errorf(exit.Invalid, `the body has "inputs", which is the V2 form; send it with --protocol v2 or grpc`)
	}
	return o.post(ctx, o.path("/v1/models/"+url.PathEscape(o.Model)+":predict"), body.raw)
}

func (o *Options) sendV2(ctx context.Context, body *requestBody) (*Answer, error) {
	raw := body.raw
	if body.natural() == V1 {
		request, err := body.v2()
		if err != nil {
			return nil, err
		}
		if raw, err = json.Marshal(request); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
	}
	return o.post(ctx, o.path("/v2/models/"+url.PathEscape(o.Model)+"/infer"), raw)
}

// path is where a request goes: that of the model's protocol, or of the graph.
func (o *Options) path(model string) string {
	if !o.Graph {
		return model
	}
	if o.Cluster.Asked() { // it has a host of its own
		return "/"
	}
	namespace, name, ok := strings.Cut(o.Model, "/")
	if !ok {
		namespace, name = "default", o.Model
	}
	return "/serving/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}

func (o *Options) post(ctx context.Context, path string, body []byte) (*Answer, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, exit.Errorf(exit.Usage, "--url %q is not like http://localhost:8080", o.URL)
	}
	target := strings.TrimSuffix(base.String(), "/") + path
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "--url: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	for _, h := range o.Headers {
		name, value, err := header(h)
		switch {
		case err != nil:
			return nil, err
		case strings.EqualFold(name, "Host"):
			request.Host = value
		case strings.EqualFold(name, "Content-Type"):
			request.Header.Set(name, value)
		default:
			request.Header.Add(name, value)
		}
	}
	if o.Host != "" {
		request.Host = o.Host
	}
	start := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, o.unreachable(ctx, base.Host, err)
	}
	defer response.Body.Close()
	raw, err := readAnswer(response.Body, maxAnswer)
	took := time.Since(start)
	if errors.Is(err, errLong) {
		return nil, exit.Errorf(exit.Failed, "read the answer of %s: %w", base.Host, err)
	}
	if err != nil {
		return nil, o.unreachable(ctx, base.Host, err)
	}
	answer := &Answer{
		Model: o.Model, Protocol: o.Protocol, Target: target, Status: response.Status,
		LatencyMS: milliseconds(took), Body: asJSON(raw), failed: response.StatusCode >= 300, notFound: response.StatusCode == http.StatusNotFound,
	}
	if !json.Valid(raw) {
		answer.text = string(raw)
	}
	return answer, nil
}

func (o *Options) unreachable(ctx context.Context, address string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return exit.Errorf(exit.Unreachable, "no answer from %s within %s; --timeout waits longer", address, o.Timeout)
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if strings.Contains(err.Error(), "malformed HTTP") { // the error has no type; all that hangs on its text is the advice
		return exit.Errorf(exit.Unreachable, "the server at %s does not speak HTTP/1.1; is that its gRPC port? then use --protocol grpc --grpc-address %s", address, address)
	}
	if o.Cluster.Asked() {
		return exit.Errorf(exit.Unreachable, "reach %s: %w; --url (for grpc --grpc-address) names another way into the cluster", address, err)
	}
	advice := "start a server with: kserve run -f FILE"
	if clusters := o.clusters(); clusters != "" {
		advice += "; " + clusters
	}
	return exit.Errorf(exit.Unreachable, "reach %s: %w; %s", address, err, advice)
}

// asJSON keeps a body that is JSON and turns any other into a JSON text.
func asJSON(raw []byte) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if enc.Encode(string(raw)) != nil {
		return json.RawMessage(`""`)
	}
	return text.Bytes()
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
