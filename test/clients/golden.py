# Copyright 2026 The kserve-go Authors.
# SPDX-License-Identifier: Apache-2.0
"""What both client checks share: golden files, comparison and the count of what passed."""

import json
import os
import pathlib
import traceback

import numpy as np

URL = os.environ["KSERVE_URL"]
GRPC = os.environ["KSERVE_GRPC"]
DATATYPES = {"INT64": np.int64, "FP64": np.float64, "FP32": np.float32}

passed = failed = 0


def services():
    """Golden files of the services; those of the graphs have no model of their name."""
    files = sorted(pathlib.Path(os.environ["GOLDEN_DIR"]).glob("*.json"))
    skipped = {"sklearn-iris-other", "iris-from-inches", "iris-by-choice"}
    return [g for g in (json.loads(f.read_text()) for f in files) if g["service"] not in skipped]


def rows(golden):
    return np.array(golden["request"]["instances"], dtype=np.float64)


def equal(golden, got, typed=True):
    """Raises when got is not the golden predictions: value, shape and, where the wire carries it, type."""
    want = np.array(golden["predictions"], dtype=DATATYPES[golden["datatype"]])
    got = np.asarray(got)
    assert list(got.shape) == golden["shape"], f"shape {list(got.shape)}, want {golden['shape']}"
    if typed:
        assert got.dtype == want.dtype, f"type {got.dtype}, want {want.dtype}"
    tolerance = golden["tolerance"]
    np.testing.assert_allclose(got, want, rtol=tolerance["rel"], atol=tolerance["abs"])


def check(name, run):
    """Runs one check and counts it."""
    global passed, failed
    try:
        run()
    except Exception as problem:  # every kind of failure is a failed check, and the next one runs
        failed += 1
        print(f"FAILED {name}: {type(problem).__name__}: {problem}")
        if os.environ.get("VERBOSE"):
            traceback.print_exc()
    else:
        passed += 1
        print(f"ok     {name}")


def finish():
    """The last line is for the program that started this one."""
    print(json.dumps({"passed": passed, "failed": failed}), flush=True)
