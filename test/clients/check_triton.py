# Copyright 2026 The kserve-go Authors.
# SPDX-License-Identifier: Apache-2.0
"""Asks running services with Triton's Python clients: V2 REST in JSON and binary, V2 gRPC.

It is a program of its own: this client and the SDK of KServe both register the protobuf package `inference`.
"""

import golden
import tritonclient.grpc
import tritonclient.http


# KServe takes a body without a Content-Type for binary, and this client names none of its own.
JSON = {"Content-Type": "application/json"}


def infer(module, client, g, headers=None, **encoding):
    data = golden.rows(g)
    tensor = module.InferInput("input-0", list(data.shape), "FP64")
    tensor.set_data_from_numpy(data, **encoding)
    answer = client.infer(
        g["service"], [tensor], outputs=[module.InferRequestedOutput("output-0", **encoding)], request_id="ask-2", headers=headers)
    golden.equal(g, answer.as_numpy("output-0"))
    response = answer.get_response()
    assert (response["id"] if isinstance(response, dict) else response.id) == "ask-2", response


def true(value):
    assert value is True, value


def refused(module, client):
    data = golden.np.zeros((1, 4))
    tensor = module.InferInput("input-0", [1, 4], "FP64")
    tensor.set_data_from_numpy(data)
    try:
        client.infer("nobody", [tensor])
    except tritonclient.utils.InferenceServerException as problem:
        assert "does not exist" in str(problem), problem
    else:
        raise AssertionError("an unknown model answers")


def named(metadata, name):
    got = metadata["name"] if isinstance(metadata, dict) else metadata.name
    assert got == name, metadata


def main():
    rest = tritonclient.http.InferenceServerClient(golden.URL.removeprefix("http://"), network_timeout=30, connection_timeout=30)
    rpc = tritonclient.grpc.InferenceServerClient(golden.GRPC)
    for kind, module, client in (("http", tritonclient.http, rest), ("grpc", tritonclient.grpc, rpc)):
        golden.check(f"triton {kind} live", lambda client=client: true(client.is_server_live()))
        golden.check(f"triton {kind} ready", lambda client=client: true(client.is_server_ready()))
        golden.check(f"triton {kind} server metadata", lambda client=client: named(client.get_server_metadata(), "kserve"))
        golden.check(f"triton {kind} unknown model", lambda module=module, client=client: refused(module, client))
    for g in golden.services():
        name = g["service"]
        for kind, client in (("http", rest), ("grpc", rpc)):
            golden.check(f"triton {kind} {name} ready", lambda client=client, name=name: true(client.is_model_ready(name)))
            golden.check(f"triton {kind} {name} metadata", lambda client=client, name=name: named(client.get_model_metadata(name), name))
        golden.check(f"triton http json {name}", lambda g=g: infer(tritonclient.http, rest, g, JSON, binary_data=False))
        golden.check(f"triton http binary {name}", lambda g=g: infer(tritonclient.http, rest, g, binary_data=True))
        golden.check(f"triton grpc {name}", lambda g=g: infer(tritonclient.grpc, rpc, g))
    golden.finish()


if __name__ == "__main__":
    main()
