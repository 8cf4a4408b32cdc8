# Copyright 2026 The kserve-go Authors.
# SPDX-License-Identifier: Apache-2.0
"""KServe's Python server with one scikit-learn model, as its bundled runtime has it: what `make bench-server` compares with."""

import argparse
import pathlib

import joblib
from kserve import Model, ModelServer, model_server
from kserve.utils.utils import get_predict_input, get_predict_response


class SKLearn(Model):
    def __init__(self, name, model_dir):
        super().__init__(name)
        self.model_dir = model_dir

    def load(self):
        self.model = joblib.load(next(pathlib.Path(self.model_dir).glob("*.joblib")))
        self.ready = True
        return self.ready

    def predict(self, payload, headers=None):
        return get_predict_response(payload, self.model.predict(get_predict_input(payload)), self.name)


parser = argparse.ArgumentParser(parents=[model_server.parser])
parser.add_argument("--model_dir", required=True)
args, _ = parser.parse_known_args()
model = SKLearn(args.model_name, args.model_dir)
model.load()
ModelServer().start([model])
