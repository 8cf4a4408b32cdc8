// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Predictor is a model written in Go. Predict may be called many times at once. It adds its outputs to out, keeps nothing of in, and
// answers a caller's mistake with a *protocol.Error of code Invalid; any other error is a 500 whose text only the log has.
//
// A Predictor may have more methods: those of Loader, Readier, Describer, engine.Explainer, engine.RowWise, Preprocessor, Postprocessor and
// io.Closer are called where it has them, and V1 of engine.Raw. A method that panics is answered 500, and the process lives on; a panic in
// a goroutine of the model's own ends it.
type Predictor interface {
	Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error
}

// Preprocessor is a transformer: what it makes of a request goes to the predictor. It may change in and answer it, and is called many times
// at once. A transformer may have the methods of Postprocessor, Loader, Readier, Describer, engine.Explainer and io.Closer too; with Predict
// it answers itself, and CallPredictor asks the predictor.
type Preprocessor interface {
	Preprocess(ctx context.Context, in *tensor.Request) (*tensor.Request, error)
}

// Postprocessor makes the answer of what the predictor answered. It may change answer and answer it.
type Postprocessor interface {
	Postprocess(ctx context.Context, answer *tensor.Response) (*tensor.Response, error)
}

// Loader reads what the model needs, from the directory of the flag model_dir, before the server is ready.
type Loader interface {
	Load(ctx context.Context, dir string) error
}

// Readier says whether the model wants requests now. While it does not, they are refused with 503, and the model and the server are not
// ready. It is asked before every prediction, and answers at once.
type Readier interface {
	Ready() bool
}

// Describer tells clients about the model. It is asked once, after Load.
type Describer interface {
	Metadata() engine.Metadata
}

// Run is the main of a program that serves one model written in Go, with every flag, protocol and limit of a model server:
//
//	func main() { os.Exit(serve.Run(mean{})) }
func Run(model Predictor) (code int) {
	return Command{About: aboutOf("Serves a model", model), Models: func(ctx context.Context, s Start) ([]Model, error) {
		m, err := newModel(model, s.Predictor, s.Forward)
		return started(ctx, s, model, m, err)
	}}.Main(os.Args[1:])
}

// RunTransformer is Run of a transformer, whose predictor the flags name:
//
//	func main() { os.Exit(serve.RunTransformer(resize{})) }
func RunTransformer(t Preprocessor) (code int) {
	return Command{About: aboutOf("Transforms requests and hands them to a predictor", t), Models: func(ctx context.Context, s Start) ([]Model, error) {
		m, err := NewTransformer(t, s.Predictor, s.Forward...)
		return started(ctx, s, t, m, err)
	}}.Main(os.Args[1:])
}

// RunExplainer is Run of an explainer: explanations are its own, made with CallPredictor, and predictions the predictor's, which the flags
// name:
//
//	func main() { os.Exit(serve.RunExplainer(&shap{})) }
func RunExplainer(e engine.Explainer) (code int) {
	return Command{About: aboutOf("Explains the predictions of a predictor", e), Models: func(ctx context.Context, s Start) ([]Model, error) {
		m, err := NewExplainer(e, s.Predictor, s.Forward...)
		return started(ctx, s, e, m, err)
	}}.Main(os.Args[1:])
}

func aboutOf(does string, what any) string {
	return fmt.Sprintf("%s over the V1 and V2 REST protocols and V2 gRPC: %T.\n", does, what)
}

// started lets what the person wrote read its files.
func started(ctx context.Context, s Start, own any, m engine.Model, err error) ([]Model, error) {
	if err != nil {
		return nil, err
	}
	if l, ok := own.(Loader); ok {
		if err := l.Load(ctx, s.ModelDir); err != nil {
			return nil, fmt.Errorf("load model %s: %w", s.ModelName, err)
		}
	}
	return []Model{{Name: s.ModelName, Model: m}}, nil
}

// NewModel makes a model for Server.Add. The error is a method that has the name of one that would be called, and another signature.
func NewModel(p Predictor) (engine.Model, error) { return newModel(p, nil, nil) }

func newModel(p Predictor, predictor *client.Client, forward []string) (engine.Model, error) {
	if err := checkMethods(p); err != nil {
		return nil, err
	}
	if m, ok := p.(engine.Model); ok && predictor == nil {
		_, pre := p.(Preprocessor)
		_, post := p.(Postprocessor)
		if !pre && !post {
			return m, nil
		}
	}
	c, err := newChain(p, predictor, forward)
	if err != nil {
		return nil, err
	}
	if raw, ok := p.(reader); ok {
		return &rawChain{chain: c, reader: raw}, nil
	}
	return c, nil
}

// NewTransformer makes a model for Server.Add of a transformer. Its caller closes the predictor's client, after the server. forward names
// headers of requests that go along, besides those of Forwarded. The error is a wrong method, as of NewModel, or a header that never goes.
func NewTransformer(t Preprocessor, predictor *client.Client, forward ...string) (engine.Model, error) {
	if err := checkMethods(t); err != nil {
		return nil, err
	}
	return newChain(t, predictor, forward)
}

// NewExplainer is NewTransformer of an explainer.
func NewExplainer(e engine.Explainer, predictor *client.Client, forward ...string) (engine.Model, error) {
	if err := checkMethods(e); err != nil {
		return nil, err
	}
	return newChain(e, predictor, forward)
}

func newChain(own any, predictor *client.Client, forward []string) (*chain, error) {
	to, err := newUpstream(predictor, forward)
	if err != nil {
		return nil, err
	}
	c := &chain{own: own, upstream: to, predict: to.predict}
	if p, ok := own.(Predictor); ok {
		c.predict = p.Predict
	}
	c.pre, _ = own.(Preprocessor)
	c.post, _ = own.(Postprocessor)
	c.explain, _ = own.(engine.Explainer)
	return c, nil
}

// reader is what engine.Raw has besides a model's methods.
type reader interface {
	V1(ctx context.Context, in *engine.RawRequest) (*engine.RawAnswer, error)
}

// checkMethods refuses a method that would be passed over because it is not quite what is called.
func checkMethods(own any) error {
	if own == nil {
		return fmt.Errorf("there is no model: expected a value with the method Predict, Preprocess or Explain")
	}
	t := reflect.TypeOf(own)
	for _, want := range []reflect.Type{
		reflect.TypeFor[Predictor](), reflect.TypeFor[Preprocessor](), reflect.TypeFor[Postprocessor](), reflect.TypeFor[Loader](),
		reflect.TypeFor[Readier](), reflect.TypeFor[Describer](), reflect.TypeFor[engine.Explainer](), reflect.TypeFor[io.Closer](), reflect.TypeFor[reader](),
		reflect.TypeFor[engine.RowWise](),
	} {
		method := want.Method(0)
		if got, ok := t.MethodByName(method.Name); ok && !t.Implements(want) {
			return fmt.Errorf("%s has a method %s that is %s; expected %s", t, method.Name, reflect.ValueOf(own).Method(got.Index).Type(), method.Type)
		}
	}
	return nil
}

// chain is what somebody wrote behind the contract of a model: a model, a transformer or an explainer before a predictor, or all in one.
type chain struct {
	own      any
	upstream *upstream
	pre      Preprocessor     // nil: requests go on as they came
	post     Postprocessor    // nil: answers do
	explain  engine.Explainer // nil: there are no explanations
	predict  func(context.Context, *tensor.Request, *tensor.Response) error
}

// Predict implements engine.Model.
func (c *chain) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	return c.run(ctx, in, out, c.predict)
}

// Explain implements engine.Explainer.
func (c *chain) Explain(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	if c.explain == nil {
		return errNoExplainer()
	}
	return c.run(ctx, in, out, c.explain.Explain)
}

// run answers a request by the steps that there are, of which middle is the one in the middle.
func (c *chain) run(ctx context.Context, in *tensor.Request, out *tensor.Response, middle func(context.Context, *tensor.Request, *tensor.Response) error) error {
	steps := &timing{}
	if x := exchangeOf(ctx); x != nil {
		steps = x.timing
	}
	req := in
	if c.pre != nil {
		began := time.Now()
		var err error
		req, err = c.pre.Preprocess(ctx, in)
		steps.own = time.Since(began)
		switch {
		case err != nil:
			return err
		case req == nil:
			return protocol.Errorf(protocol.Internal, "the transformer made no request")
		case req != in:
			req.ID, req.Model, req.Version = in.ID, in.Model, in.Version
		}
	}
	if c.post == nil {
		return middle(ctx, req, out)
	}
	answer := &tensor.Response{}
	if err := middle(ctx, req, answer); err != nil {
		return err
	}
	began := time.Now()
	result, err := c.post.Postprocess(ctx, answer)
	steps.ownAfter = time.Since(began)
	switch {
	case err != nil:
		return err
	case result == nil:
		return protocol.Errorf(protocol.Internal, "the transformer made no answer")
	}
	out.Outputs, out.Frame, out.Parameters = append(out.Outputs, result.Outputs...), result.Frame, result.Parameters
	return nil
}

// errNoExplainer has the words that clients of KServe know.
func errNoExplainer() error {
	return protocol.Errorf(protocol.Unsupported, "Could not find explainer_host.")
}

// RowWise implements engine.RowWise: requests are joined for a model whose owner says that they may be.
func (c *chain) RowWise() bool {
	r, ok := c.own.(engine.RowWise)
	return ok && r.RowWise()
}

// asks is the predictor that CallPredictor asks.
func (c *chain) asks() *upstream { return c.upstream }

// Ready implements Readier.
func (c *chain) Ready() bool {
	r, ok := c.own.(Readier)
	return !ok || r.Ready()
}

// Metadata implements engine.Model.
func (c *chain) Metadata() engine.Metadata {
	if d, ok := c.own.(Describer); ok {
		return d.Metadata()
	}
	return engine.Metadata{Platform: "go", Class: fmt.Sprintf("%T", c.own), Methods: []string{"predict"}}
}

// Close implements engine.Model.
func (c *chain) Close() error {
	if closer, ok := c.own.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// rawChain is a chain that reads V1 bodies itself.
type rawChain struct {
	*chain
	reader
}
