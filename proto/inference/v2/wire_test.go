// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferencev2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// published is the protocol's own table: field numbers that clients in other languages were generated with.
var published = map[string]string{
	"ServerLiveRequest":                            "",
	"ServerLiveResponse":                           "live=1 bool",
	"ServerReadyRequest":                           "",
	"ServerReadyResponse":                          "ready=1 bool",
	"ModelReadyRequest":                            "name=1 string, version=2 string",
	"ModelReadyResponse":                           "ready=1 bool",
	"ServerMetadataRequest":                        "",
	"ServerMetadataResponse":                       "name=1 string, version=2 string, extensions=3 repeated string",
	"ModelMetadataRequest":                         "name=1 string, version=2 string",
	"ModelMetadataResponse":                        "name=1 string, versions=2 repeated string, platform=3 string, inputs=4 repeated ModelMetadataResponse.TensorMetadata, outputs=5 repeated ModelMetadataResponse.TensorMetadata, properties=6 map<string,string>",
	"RepositoryIndexRequest":                       "repository_name=1 string, ready=2 bool",
	"RepositoryIndexResponse":                      "models=1 repeated RepositoryIndexResponse.ModelIndex",
	"RepositoryIndexResponse.ModelIndex":           "name=1 string, version=2 string, state=3 string, reason=4 string",
	"RepositoryModelLoadRequest":                   "model_name=1 string",
	"RepositoryModelLoadResponse":                  "model_name=1 string, isLoaded=2 bool",
	"RepositoryModelUnloadRequest":                 "model_name=1 string",
	"RepositoryModelUnloadResponse":                "model_name=1 string, isUnloaded=2 bool",
	"InferParameter":                               "bool_param=1 bool, int64_param=2 int64, string_param=3 string",
	"InferTensorContents":                          "bool_contents=1 repeated bool, int_contents=2 repeated int32, int64_contents=3 repeated int64, uint_contents=4 repeated uint32, uint64_contents=5 repeated uint64, fp32_contents=6 repeated float, fp64_contents=7 repeated double, bytes_contents=8 repeated bytes",
	"ModelInferRequest":                            "model_name=1 string, model_version=2 string, id=3 string, parameters=4 map<string,InferParameter>, inputs=5 repeated ModelInferRequest.InferInputTensor, outputs=6 repeated ModelInferRequest.InferRequestedOutputTensor, raw_input_contents=7 repeated bytes",
	"ModelInferResponse":                           "model_name=1 string, model_version=2 string, id=3 string, parameters=4 map<string,InferParameter>, outputs=5 repeated ModelInferResponse.InferOutputTensor, raw_output_contents=6 repeated bytes",
	"ModelMetadataResponse.TensorMetadata":         "name=1 string, datatype=2 string, shape=3 repeated int64",
	"ModelInferRequest.InferInputTensor":           "name=1 string, datatype=2 string, shape=3 repeated int64, parameters=4 map<string,InferParameter>, contents=5 InferTensorContents",
	"ModelInferRequest.InferRequestedOutputTensor": "name=1 string, parameters=2 map<string,InferParameter>",
	"ModelInferResponse.InferOutputTensor":         "name=1 string, datatype=2 string, shape=3 repeated int64, parameters=4 map<string,InferParameter>, contents=5 InferTensorContents",
}

func TestFieldNumbersArePublished(t *testing.T) {
	found := map[string]string{}
	var walk func(protoreflect.MessageDescriptors)
	walk = func(messages protoreflect.MessageDescriptors) {
		for i := range messages.Len() {
			m := messages.Get(i)
			if m.IsMapEntry() {
				continue
			}
			var fields []string
			for j := range m.Fields().Len() {
				fields = append(fields, describe(m.Fields().Get(j)))
			}
			found[short(m)] = strings.Join(fields, ", ")
			walk(m.Messages())
		}
	}
	walk(inferencev2.File_inference_v2_grpc_predict_v2_proto.Messages())
	require.Equal(t, published, found)
}

func describe(f protoreflect.FieldDescriptor) string {
	kind := f.Kind().String()
	switch {
	case f.IsMap():
		value := f.MapValue().Kind().String()
		if f.MapValue().Message() != nil {
			value = short(f.MapValue().Message())
		}
		kind = fmt.Sprintf("map<%s,%s>", f.MapKey().Kind(), value)
	case f.Message() != nil:
		kind = short(f.Message())
	}
	if f.IsList() {
		kind = "repeated " + kind
	}
	return fmt.Sprintf("%s=%d %s", f.Name(), f.Number(), kind)
}

func short(m protoreflect.MessageDescriptor) string {
	return strings.TrimPrefix(string(m.FullName()), "inference.")
}

func TestServiceIsPublished(t *testing.T) {
	service := inferencev2.File_inference_v2_grpc_predict_v2_proto.Services().ByName("GRPCInferenceService")
	require.EqualValues(t, "inference.GRPCInferenceService", service.FullName())
	var methods []string
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		require.False(t, m.IsStreamingClient() || m.IsStreamingServer(), m.Name())
		require.Equal(t, string(m.Name())+"Request", string(m.Input().Name()))
		require.Equal(t, string(m.Name())+"Response", string(m.Output().Name()))
		methods = append(methods, string(m.Name()))
	}
	slices.Sort(methods)
	require.Equal(t, []string{
		"ModelInfer", "ModelMetadata", "ModelReady", "RepositoryIndex", "RepositoryModelLoad", "RepositoryModelUnload",
		"ServerLive", "ServerMetadata", "ServerReady",
	}, methods)
}

func TestBytesOfAHandMadeRequestAreRead(t *testing.T) {
	var input []byte
	input = protowire.AppendString(protowire.AppendTag(input, 1, protowire.BytesType), "input-0")
	input = protowire.AppendString(protowire.AppendTag(input, 2, protowire.BytesType), "FP32")
	input = protowire.AppendBytes(protowire.AppendTag(input, 3, protowire.BytesType), []byte{1, 4})
	var body []byte
	body = protowire.AppendString(protowire.AppendTag(body, 1, protowire.BytesType), "iris")
	body = protowire.AppendBytes(protowire.AppendTag(body, 5, protowire.BytesType), input)
	body = protowire.AppendBytes(protowire.AppendTag(body, 7, protowire.BytesType), make([]byte, 16))

	var got inferencev2.ModelInferRequest
	require.NoError(t, proto.Unmarshal(body, &got))
	require.True(t, proto.Equal(&inferencev2.ModelInferRequest{
		ModelName:        "iris",
		Inputs:           []*inferencev2.ModelInferRequest_InferInputTensor{{Name: "input-0", Datatype: "FP32", Shape: []int64{1, 4}}},
		RawInputContents: [][]byte{make([]byte, 16)},
	}, &got))
}
