// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// ServerMetadata is the answer of GET /v2.
type ServerMetadata struct {
	Name, Version string
	Extensions    []string
}

// AppendJSON adds m to dst.
func (m ServerMetadata) AppendJSON(dst []byte) []byte {
	dst = jsontext.AppendString(append(dst, `{"name":`...), m.Name)
	dst = jsontext.AppendString(append(dst, `,"version":`...), m.Version)
	return append(appendStrings(append(dst, `,"extensions":`...), m.Extensions), '}')
}

// TensorMetadata describes one input or output; a dimension of -1 is free.
type TensorMetadata struct {
	Name  string
	Type  tensor.Type
	Shape []int64
}

// ModelMetadata is the answer of GET /v2/models/{name}.
type ModelMetadata struct {
	Name            string
	Versions        []string // nil prints null
	Platform        string
	Inputs, Outputs []TensorMetadata
	Features        []string // columns seen in training; nil prints nothing
}

// AppendJSON adds m to dst.
func (m ModelMetadata) AppendJSON(dst []byte) []byte {
	dst = jsontext.AppendString(append(dst, `{"name":`...), m.Name)
	dst = append(dst, `,"versions":`...)
	if m.Versions == nil {
		dst = append(dst, "null"...)
	} else {
		dst = appendStrings(dst, m.Versions)
	}
	dst = jsontext.AppendString(append(dst, `,"platform":`...), m.Platform)
	dst = appendTensors(append(dst, `,"inputs":`...), m.Inputs)
	dst = appendTensors(append(dst, `,"outputs":`...), m.Outputs)
	if m.Features != nil {
		dst = append(appendStrings(append(dst, `,"properties":{"feature_names":`...), m.Features), '}')
	}
	return append(dst, '}')
}

// Properties is what the gRPC answer has of them.
func (m ModelMetadata) Properties() map[string]string {
	if m.Features == nil {
		return nil
	}
	return map[string]string{"feature_names": string(appendStrings(nil, m.Features))}
}

func appendTensors(dst []byte, tensors []TensorMetadata) []byte {
	dst = append(dst, '[')
	for i, t := range tensors {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(append(dst, `{"name":`...), t.Name)
		dst = jsontext.AppendString(append(dst, `,"datatype":`...), t.Type.String())
		dst = append(dst, `,"shape":[`...)
		for j, n := range t.Shape {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, n, 10)
		}
		dst = append(dst, ']', '}')
	}
	return append(dst, ']')
}

func appendStrings(dst []byte, values []string) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(dst, v)
	}
	return append(dst, ']')
}

// AppendModels adds the list of model names: {"models":[…]}.
func AppendModels(dst []byte, names []string) []byte {
	return append(appendStrings(append(dst, `{"models":`...), names), '}')
}

// AppendModelReady adds the answer of a model's readiness: {"name":…,"ready":…}.
func AppendModelReady(dst []byte, name string, ready bool) []byte {
	return appendNamed(dst, name, "ready", ready)
}

// AppendModelLoad adds the answer of a model's loading: {"name":…,"load":true}.
func AppendModelLoad(dst []byte, name string) []byte {
	return appendNamed(dst, name, "load", true)
}

// AppendModelUnload adds the answer of a model's unloading: {"name":…,"unload":true}.
func AppendModelUnload(dst []byte, name string) []byte {
	return appendNamed(dst, name, "unload", true)
}

func appendNamed(dst []byte, name, key string, value bool) []byte {
	dst = jsontext.AppendString(append(dst, `{"name":`...), name)
	dst = append(append(append(dst, `,"`...), key...), `":`...)
	return append(strconv.AppendBool(dst, value), '}')
}

// AppendLive adds {"live":…}, and AppendReady {"ready":…}.
func AppendLive(dst []byte, live bool) []byte {
	return append(strconv.AppendBool(append(dst, `{"live":`...), live), '}')
}

// AppendReady adds the answer of the server's readiness.
func AppendReady(dst []byte, ready bool) []byte {
	return append(strconv.AppendBool(append(dst, `{"ready":`...), ready), '}')
}

// IndexEntry is one model of the repository index. State is READY, UNAVAILABLE, LOADING or UNLOADING.
type IndexEntry struct {
	Name, Version, State, Reason string
}

// AppendIndex adds the repository index: a list of {name, version, state, reason}.
func AppendIndex(dst []byte, entries []IndexEntry) []byte {
	dst = append(dst, '[')
	for i, e := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(append(dst, `{"name":`...), e.Name)
		dst = jsontext.AppendString(append(dst, `,"version":`...), e.Version)
		dst = jsontext.AppendString(append(dst, `,"state":`...), e.State)
		dst = append(jsontext.AppendString(append(dst, `,"reason":`...), e.Reason), '}')
	}
	return append(dst, ']')
}
