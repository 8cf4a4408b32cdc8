# Copyright 2026 The kserve-go Authors.
# SPDX-License-Identifier: Apache-2.0
"""Asks running services with the Python SDK of KServe: V1 REST, V2 REST in JSON and binary, V2 gRPC."""

import asyncio

import golden
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest, RESTConfig
from kserve.errors import InferenceError

loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)


def wait(coroutine):
    return loop.run_until_complete(asyncio.wait_for(coroutine, 30))


def request(g, binary):
    data = golden.rows(g)
    tensor = InferInput(name="input-0", shape=list(data.shape), datatype="FP64")
    tensor.set_data_from_numpy(data, binary_data=binary)
    return InferRequest(
        model_name=g["service"], infer_inputs=[tensor], request_id="ask-1", parameters={"binary_data_output": True} if binary else {})


def single(g, response):
    assert response.id == "ask-1", response.id
    assert response.model_name == g["service"], response.model_name
    assert [o.name for o in response.outputs] == ["output-0"], response.outputs
    golden.equal(g, response.outputs[0].as_numpy())


def v1(client, g):
    answer = wait(client.infer(golden.URL, {"instances": g["request"]["instances"]}, model_name=g["service"]))
    golden.equal(g, answer["predictions"], typed=False)


def v2(client, g, binary):
    single(g, wait(client.infer(golden.URL, request(g, binary), model_name=g["service"])))


def grpc(client, g, raw):
    ask = request(g, raw)
    ask.parameters = {}
    single(g, wait(client.infer(ask)))


def unknown(client):
    try:
        wait(client.infer(golden.URL, {"instances": [[1]]}, model_name="nobody"))
    except Exception as problem:
        assert "404" in str(problem) or "does not exist" in str(problem), problem
    else:
        raise AssertionError("an unknown model answers")


def true(value):
    assert value is True, value


async def clients():
    return (
        InferenceRESTClient(RESTConfig(protocol="v1", timeout=30)),
        InferenceRESTClient(RESTConfig(protocol="v2", timeout=30)),
        InferenceGRPCClient(url=golden.GRPC),
    )


def main():
    one, two, three = wait(clients())
    golden.check("kserve v2 server ready", lambda: true(wait(two.is_server_ready(golden.URL))))
    golden.check("kserve v2 server live", lambda: true(wait(two.is_server_live(golden.URL))))
    golden.check("kserve grpc server ready", lambda: true(wait(three.is_server_ready())))
    golden.check("kserve grpc server live", lambda: true(wait(three.is_server_live())))
    golden.check("kserve v1 unknown model", lambda: unknown(one))
    for g in golden.services():
        name = g["service"]
        golden.check(f"kserve v1 {name} ready", lambda name=name: true(wait(one.is_model_ready(golden.URL, name))))
        golden.check(f"kserve v2 {name} ready", lambda name=name: true(wait(two.is_model_ready(golden.URL, name))))
        golden.check(f"kserve grpc {name} ready", lambda name=name: true(wait(three.is_model_ready(name))))
        golden.check(f"kserve v1 {name}", lambda g=g: v1(one, g))
        golden.check(f"kserve v2 {name}", lambda g=g: v2(two, g, False))
        golden.check(f"kserve v2 binary {name}", lambda g=g: v2(two, g, True))
        golden.check(f"kserve grpc {name}", lambda g=g: grpc(three, g, False))
        golden.check(f"kserve grpc raw {name}", lambda g=g: grpc(three, g, True))
    golden.finish()


if __name__ == "__main__":
    main()
