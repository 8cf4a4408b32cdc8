// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exchange reads the recorded exchanges with the reference servers and judges other servers' answers by them.
//
// Called by: test/conformance, tests of data/protocol.
// Next: test/conformance, which plays the exchanges against a running server.
package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Exchange is one request and its recorded answer: over REST, in HTTP and Answer, or gRPC, in Call; or the start of a server, in Start.
type Exchange struct {
	Folder, Group string // kserve-sklearn, v2-infer
	Name          string
	Varies        []string
	Fault         string
	Better        Better

	HTTP   *Request
	Answer *Answer
	Call   *Call
	Start  *Start

	// Second is set where the exchange was recorded from another implementation than the one that is asked.
	Second *Second
}

// Start is a server's start: its command, and its end or what it served.
type Start struct {
	Command  string
	ExitCode *int // nil when it served
	Served   map[string]Served
}

// Served is the answer to one path.
type Served struct {
	Status int
	Body   string
}

// Request is one HTTP request. A nil Body was not sent.
type Request struct {
	Method, Path string
	Headers      map[string]string
	Body         []byte
}

// Header is the value of a header whatever its case.
func (r *Request) Header(name string) string {
	for k, v := range r.Headers {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// Answer is one HTTP answer. Header names are lower-case.
type Answer struct {
	Status  int
	Headers map[string]string
	Body    []byte
	// Length and SHA256 stand for a body that was too long to keep.
	Length int
	SHA256 string
}

// Call is one gRPC call. Messages are in protobuf's JSON form; Raw is a request that is no message.
type Call struct {
	Method            string
	Request, Response json.RawMessage
	Raw               []byte
	Metadata          map[string]string
	Code, Details     string
}

// Better is what a right server answers where the recorded one was at fault. Empty fields ask nothing.
type Better struct {
	Status        oneOrMany[int]    `json:"status"`
	Code          oneOrMany[string] `json:"code"` // "not X" is any code but X
	ContentType   string            `json:"content-type"`
	Allow         string            `json:"allow"`
	Datatype      string            `json:"datatype"`
	Body          string            `json:"body"`
	HeadersAbsent []string          `json:"headers_absent"`
	Outputs       []string          `json:"outputs"`
}

type oneOrMany[T any] []T

func (l *oneOrMany[T]) UnmarshalJSON(text []byte) error {
	var one T
	if json.Unmarshal(text, &one) == nil {
		*l = oneOrMany[T]{one}
		return nil
	}
	return json.Unmarshal(text, (*[]T)(l))
}

// file is one entry as it is written.
type file struct {
	Name          string
	Method        string
	Request       json.RawMessage
	RequestBase64 []byte `json:"request_base64"`
	Response      json.RawMessage
	Metadata      map[string]string
	Code, Details string
	Varies        []string
	Fault         string
	Better        json.RawMessage
	Command       string
	ExitCode      *int `json:"exit_code"`
	Served        map[string]Served
}

type fileRequest struct {
	Method, Path string
	Headers      map[string]string
	Body         *string
	BodyBase64   *[]byte `json:"body_base64"`
	BodySpec     *struct {
		Prefix, Repeat, Separator, Suffix string
		Count                             int
	} `json:"body_spec"`
}

type fileAnswer struct {
	Status     int
	Headers    map[string]string
	Body       string
	BodyBase64 []byte `json:"body_base64"`
	BodyLength int    `json:"body_length"`
	BodySHA256 string `json:"body_sha256"`
}

// Read reads <dir>/<folder>/<group>.json.
func Read(dir, folder, group string) ([]Exchange, error) {
	path := filepath.Join(dir, folder, group+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read exchanges: %w", err)
	}
	var entries []file
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("read exchanges of %s: %w", path, err)
	}
	out := make([]Exchange, 0, len(entries))
	for i := range entries {
		e, err := entries[i].exchange()
		if err != nil {
			return nil, fmt.Errorf("read exchange %q of %s: %w", entries[i].Name, path, err)
		}
		e.Folder, e.Group = folder, group
		out = append(out, e)
	}
	return out, nil
}

// Groups are the names of a folder's files, sorted, without .json.
func Groups(dir, folder string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, folder, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list exchanges: %w", err)
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(p), ".json")
	}
	slices.Sort(paths)
	return paths, nil
}

func (f *file) exchange() (Exchange, error) {
	e := Exchange{Name: f.Name, Varies: f.Varies, Fault: f.Fault}
	if f.Better != nil {
		strict := json.NewDecoder(bytes.NewReader(f.Better))
		strict.DisallowUnknownFields() // a check that this program does not know must not pass unseen
		if err := strict.Decode(&e.Better); err != nil {
			return e, fmt.Errorf("read better: %w", err)
		}
	}
	switch {
	case f.Code != "":
		e.Call = &Call{
			Method: f.Method, Request: f.Request, Response: f.Response, Raw: f.RequestBase64,
			Metadata: f.Metadata, Code: f.Code, Details: f.Details,
		}
	case f.Command != "":
		e.Start = &Start{Command: f.Command, ExitCode: f.ExitCode, Served: f.Served}
	case f.Request != nil:
		return e, f.rest(&e)
	}
	return e, nil
}

func (f *file) rest(e *Exchange) error {
	var req fileRequest
	if err := json.Unmarshal(f.Request, &req); err != nil {
		return err
	}
	e.HTTP = &Request{Method: req.Method, Path: req.Path, Headers: req.Headers}
	switch {
	case req.Body != nil:
		e.HTTP.Body = []byte(*req.Body)
	case req.BodyBase64 != nil:
		e.HTTP.Body = *req.BodyBase64
	case req.BodySpec != nil:
		s := req.BodySpec
		body := s.Prefix + strings.Repeat(s.Repeat+s.Separator, max(s.Count-1, 0))
		if s.Count > 0 {
			body += s.Repeat
		}
		e.HTTP.Body = []byte(body + s.Suffix)
	}
	if e.HTTP.Body == nil && (req.Body != nil || req.BodyBase64 != nil) {
		e.HTTP.Body = []byte{}
	}
	var a fileAnswer
	if err := json.Unmarshal(f.Response, &a); err != nil {
		return err
	}
	body := []byte(a.Body)
	if a.BodyBase64 != nil {
		body = a.BodyBase64
	}
	e.Answer = &Answer{
		Status: a.Status, Headers: a.Headers, Body: body,
		Length: a.BodyLength, SHA256: a.BodySHA256,
	}
	return nil
}
