// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/kserve-go/kserve-go/pkg/control/rollout"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

const (
	// maxAnswer bounds an answer in bytes: it is one number.
	maxAnswer = 64 << 10
	// maxToken bounds the file with the token.
	maxToken = 64 << 10
	// maxDetail bounds what is repeated of an error that a server tells.
	maxDetail = 200
	// mostConnections bounds the connections to the server.
	mostConnections = workers
)

var (
	errTooLong  = fmt.Errorf("the answer is longer than %d KiB", maxAnswer>>10)
	errToken    = errors.New("canaryAnalysis.bearerTokenFile of inferenceservice-config cannot be read by the controller")
	errRedirect = errors.New("the server sends requests on to another address, which is not followed")
)

// clients keeps the client of the present settings.
type clients struct {
	mu  sync.Mutex
	of  settings.CanaryAnalysis
	api promv1.API
	end func()
}

func (c *clients) client(st settings.CanaryAnalysis) (promv1.API, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api != nil && c.of == st {
		return c.api, nil
	}
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxConnsPerHost: mostConnections, MaxIdleConnsPerHost: mostConnections,
		IdleConnTimeout: time.Minute, TLSHandshakeTimeout: timeout(st), ResponseHeaderTimeout: timeout(st), MaxResponseHeaderBytes: maxAnswer,
	}
	client, err := api.NewClient(api.Config{Address: st.Address, Client: &http.Client{
		Transport:     &careful{base: base, tokenFile: st.BearerTokenFile},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}})
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	if c.end != nil {
		c.end()
	}
	c.of, c.api, c.end = st, promv1.NewAPI(client), base.CloseIdleConnections
	return c.api, nil
}

func timeout(st settings.CanaryAnalysis) time.Duration {
	return time.Duration(st.TimeoutSeconds) * time.Second
}

// ask takes every reading of one look. What goes wrong is a reading that is missing; a server that is silent once is not asked for the rest.
func (c *clients) ask(ctx context.Context, ask *Ask) []rollout.Reading {
	client, err := c.client(ask.Settings)
	readings := make([]rollout.Reading, len(ask.Queries))
	for i, q := range ask.Queries {
		readings[i] = rollout.Reading{Name: q.Name, Missing: rollout.ReasonNoAnswer}
		var missing string
		if err == nil || !unreachable(err) {
			readings[i].Value, missing, err = query(ctx, client, q.Text, timeout(ask.Settings))
		}
		if err != nil {
			readings[i].Detail = told(err, timeout(ask.Settings))
		}
		if err == nil || missing != "" {
			readings[i].Missing = missing
		}
	}
	return readings
}

// query asks for one number.
func query(ctx context.Context, client promv1.API, text string, limit time.Duration) (value float64, missing string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, _, _, err := client.Query(ctx, text, time.Time{}, promv1.WithTimeout(limit))
	if err != nil {
		return 0, rollout.ReasonNoAnswer, err //nolint:wrapcheck // told says it in words
	}
	switch v := answer.(type) {
	case nil: // "data": null is an answer to the library
		return 0, rollout.ReasonNoAnswer, answerError("the answer has no result")
	case *model.Scalar:
		value = float64(v.Value)
	case model.Vector:
		if len(v) > 1 {
			return 0, rollout.ReasonNoAnswer, answerError(fmt.Sprintf("the query gives %d series, one number is wanted: sum them up", len(v)))
		}
		if len(v) == 0 {
			return 0, rollout.ReasonNoData, answerError("there is nothing to measure yet")
		}
		if v[0] == nil || v[0].Histogram == nil && v[0].Timestamp == 0 {
			return 0, rollout.ReasonNoAnswer, errNoValue
		}
		if v[0].Histogram != nil {
			return 0, rollout.ReasonNoAnswer, answerError("the query gives a histogram, one number is wanted")
		}
		value = float64(v[0].Value)
	default:
		return 0, rollout.ReasonNoAnswer, answerError(fmt.Sprintf("the query gives a %s, one number is wanted", answer.Type()))
	}
	if math.IsNaN(value) {
		return 0, rollout.ReasonNoData, answerError("there is nothing to measure yet")
	}
	return value, "", nil
}

// errNoValue is for a series that the library reads as 0 at the beginning of time.
const errNoValue = answerError("the answer has a series without a value")

// unreachable says that another query would meet the same.
func unreachable(err error) bool {
	var answered *promv1.Error
	var judged answerError
	return !errors.As(err, &answered) && !errors.As(err, &judged) && !errors.Is(err, errTooLong)
}

// answerError is an answer that is no number.
type answerError string

func (e answerError) Error() string { return string(e) }

// told is an error in words, on one line and without the address: that is the operator's, and statuses are everybody's.
func told(err error, limit time.Duration) string {
	var answered *promv1.Error
	var judged answerError
	var number syscall.Errno
	switch {
	case errors.As(err, &judged):
		return judged.Error()
	case errors.Is(err, errTooLong), errors.Is(err, errRedirect), errors.Is(err, errToken):
		for next := err; next != nil; next = errors.Unwrap(next) {
			err = next
		}
		return err.Error()
	case errors.As(err, &answered):
		text := strings.Join(strings.Fields("the server refuses the query: "+string(answered.Type)+": "+answered.Msg), " ")
		if len(text) > maxDetail {
			text = strings.ToValidUTF8(text[:maxDetail], "") + "…"
		}
		return text
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return fmt.Sprintf("no answer within %s", limit)
	case errors.As(err, &number):
		return "the server cannot be reached: " + number.Error()
	}
	return "the server cannot be reached"
}

// careful adds the token to requests and bounds answers.
type careful struct {
	base      http.RoundTripper
	tokenFile string
}

func (c *careful) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.tokenFile != "" {
		token, err := readToken(c.tokenFile)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &boundedBody{ReadCloser: answer.Body, left: maxAnswer}
	return answer, nil
}

// readToken reads the token anew each time: it is replaced while the controller runs.
func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", errToken
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", errToken
	}
	return strings.TrimSpace(string(raw)), nil
}

type boundedBody struct {
	io.ReadCloser

	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err //nolint:wrapcheck // io.EOF is compared with ==
}
