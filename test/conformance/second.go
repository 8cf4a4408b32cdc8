// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"path"
	"slices"

	"github.com/kserve-go/kserve-go/test/conformance/exchange"
)

// seconds are folders that were recorded from another implementation of V2. A server of that kind, by its URL, is asked for the same
// answers; one of KServe's kind for the same outcomes, and where the two differ KServe's own answer to the request is right.
var seconds = []string{"mlserver", "mlserver-parallel"}

// firstFolder has KServe's own answers to many of the same requests.
const firstFolder = "kserve-sklearn"

// kserveAnswers are the statuses and codes that are right where the two implementations differ and KServe's answer was not recorded,
// by group/name or a path pattern of it, with the reason.
var kserveAnswers = []struct{ name, answer, why string }{
	{"codecs/*predict_proba*", "400", "no output has the name of a method: PREDICT_PROBA chooses it"},
	{"codecs/pd-outputs", "400", "no output has the name of a method: PREDICT_PROBA chooses it"},
	{"codecs/headers-parameter", "422", "a parameter is a text, a number or a truth value"},
	{"codecs/infer-stream", "404", "KServe's protocol has no such path"},
	{"codecs/generate", "404", "KServe's protocol has no such path"},
	{"grpc-infer/raw-and-contents", "INVALID_ARGUMENT", "an input has its elements in one place"},
	{"metadata/*", "200", "what the model's file tells is told"},
	{"routes/root-options", "405", "the path answers GET"},
	{"routes/*-head", "200", "HEAD goes wherever GET does"},
	{"routes/v2-models", "200", "the names of the models"},
	{"v2-binary/bytes-truncated", "400", "binary tensors are read"},
	{"v2-binary/datatype-[bfiu]*[0-9lt]", "200", "binary tensors are read"},
	{"v2-binary/json-request-*", "200", "outputs are binary where that is asked for"},
	{"v2-binary/binary-data-output-*", "200", "outputs are binary where that is asked for"},
	{"v2-binary/other-content-type", "400", "the body is said to be JSON, and is none"},
	{"v2-infer/datatype-fp16", "400", "FP16 has no form in JSON"},
	{"v2-infer/output-both", "400", "no output has the name of a method: PREDICT_PROBA chooses it"},
	{"v2-infer/output-proba", "400", "no output has the name of a method: PREDICT_PROBA chooses it"},
	{"v2-infer/output-named", "200", "the output's name is KServe's"},
	{"v2-infer/output-parameters", "200", "the output's name is KServe's"},
	{"v2-infer/output-twice", "200", "an output may be asked for again"},
	{"v2-infer/parameter-object", "422", "a parameter is a text, a number or a truth value"},
	{"v2-repository/index-bad", "400", "the answer to a wrong body of this path has the usual form"},
	{"v2-repository/index-get", "404", "KServe's routes do not know the path for other methods"},
	{"v2-repository/index-no-body", "200", "no body asks for everything"},
	{"v2-repository/load-*n", "503", "a model that cannot be loaded is not ready"},
	{"v2-repository/load-corrupt", "503", "a model that cannot be loaded is not ready"},
}

// second readies exchanges of another implementation for a server of KServe's kind.
func (r *Runner) second(all []exchange.Exchange) error {
	if len(all) == 0 || r.options.URL != "" || !slices.Contains(seconds, all[0].Folder) {
		return nil
	}
	var first []exchange.Exchange
	if groups, err := exchange.Groups(r.options.Dir, firstFolder); err != nil {
		return err
	} else if slices.Contains(groups, all[0].Group) {
		if first, err = exchange.Read(r.options.Dir, firstFolder, all[0].Group); err != nil {
			return err
		}
	}
	for i := range all {
		e := &all[i]
		e.Second = &exchange.Second{}
		if e.HTTP != nil {
			// The names of the one version and of the one output are the implementation's own.
			e.HTTP.Path = string(bytes.ReplaceAll([]byte(e.HTTP.Path), []byte("/versions/v1"), []byte("/versions/latest")))
			if e.HTTP.Header("Inference-Header-Content-Length") == "" {
				for _, name := range []string{`"name":"predict"`, `"name": "predict"`} {
					e.HTTP.Body = bytes.ReplaceAll(e.HTTP.Body, []byte(name), []byte(`"name":"output-0"`))
				}
			}
		}
		for j := range first {
			if first[j].Name == e.Name && e.Same(&first[j]) {
				e.Second.Twin = &first[j]
			}
		}
		for _, k := range kserveAnswers {
			if ok, _ := path.Match(k.name, e.Group+"/"+e.Name); ok {
				e.Second.Ours, e.Second.Why = k.answer, k.why
			}
		}
	}
	return nil
}
