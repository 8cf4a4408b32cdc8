# Copyright 2026 The kserve-go Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients of KServe in Python against a server with the models iris and echo: clients.py URL GRPC [NAME]."""

import asyncio
import queue
import sys

import numpy as np

URL, GRPC = sys.argv[1], sys.argv[2]
ROWS = [[6.8, 2.8, 4.8, 1.4], [5.1, 3.5, 1.4, 0.2]]


def equal(got, want):
    if got != want:
        raise AssertionError(f"want {want!r}, got {got!r}")


def fails(call, *texts):
    try:
        call()
    except Exception as e:  # each library has its own
        for text in texts:
            if text not in str(e):
                raise AssertionError(f"want an error with {text!r}, got {e!r}")
        return
    raise AssertionError("want an error")


async def sdk_rest():
    """kserve SDK over REST, V1 and V2."""
    from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig

    v1 = InferenceRESTClient(RESTConfig(protocol="v1"))
    equal(await v1.is_model_ready(URL, "iris"), True)
    equal(await v1.infer(URL, {"instances": ROWS}, model_name="iris"), {"predictions": [1, 0]})

    v2 = InferenceRESTClient(RESTConfig(protocol="v2"))
    equal(await v2.is_server_live(URL), True)
    equal(await v2.is_server_ready(URL), True)
    equal(await v2.is_model_ready(URL, "iris"), True)
    for binary in (False, True):
        x = InferInput("input-0", [2, 4], "FP32")
        x.set_data_from_numpy(np.array(ROWS, dtype=np.float32), binary_data=binary)
        request = InferRequest("iris", [x], request_id="r", parameters={"binary_data_output": True} if binary else None)
        answer = await v2.infer(URL, request, model_name="iris")
        equal(answer.id, "r")
        equal(answer.outputs[0].as_numpy().tolist(), [1, 0])
    x = InferInput("x", [3], "FP16")
    x.set_data_from_numpy(np.array([0.5, 1, -2], dtype=np.float16), binary_data=True)
    answer = await v2.infer(URL, InferRequest("echo", [x], parameters={"binary_data_output": True}), model_name="echo")
    equal(answer.outputs[0].as_numpy().tolist(), [0.5, 1.0, -2.0])

    words = InferInput("words", [2], "BYTES", data=["é", "b"])
    answer = await v2.infer(URL, InferRequest("echo", [words]), model_name="echo", headers={"x-request-id": "7"})
    equal(answer.outputs[0].data, ["é", "b"])

    explained = await v1.explain(URL, "iris", {"instances": ROWS})
    equal(explained["explanations"]["algorithm"], "linear")
    try:
        await v2.explain(URL, "iris", {"instances": ROWS})
    except Exception as e:
        equal("v2" in str(e), True)
    else:
        raise AssertionError("want an error: explanations are V1's")
    graph = InferenceRESTClient(RESTConfig(protocol="v1"))
    equal(await graph.infer(URL + "/v1/models/iris:predict", {"instances": ROWS}, is_graph_endpoint=True), {"predictions": [1, 0]})
    for client, data, status in ((v1, {"instances": ROWS}, "404"), (v2, InferRequest("nope", [words]), "404"), (v1, {"instances": [[1]]}, "400")):
        name = "iris" if status == "400" else "nope"
        try:
            await client.infer(URL, data, model_name=name)
        except Exception as e:
            equal(status in str(e), True)
        else:
            raise AssertionError("want an error " + status)


async def sdk_grpc():
    """kserve SDK over gRPC, with typed and raw contents."""
    from kserve import InferenceGRPCClient, InferInput, InferRequest

    client = InferenceGRPCClient(GRPC)
    equal(await client.is_server_live(), True)
    equal(await client.is_server_ready(), True)
    equal(await client.is_model_ready("iris"), True)
    for binary in (False, True):
        x = InferInput("input-0", [2, 4], "FP64")
        x.set_data_from_numpy(np.array(ROWS), binary_data=binary)
        answer = await client.infer(InferRequest("iris", [x], request_id="r"))
        equal(answer.id, "r")
        equal(answer.outputs[0].as_numpy().tolist(), [1, 0])
    try:
        await client.infer(InferRequest("nope", [x]))
    except Exception as e:
        equal("does not exist" in str(e), True)
    else:
        raise AssertionError("want an error for an unknown model")
    words = InferInput("words", [2], "BYTES")
    words.set_data_from_numpy(np.array([b"a", b"\xff"], dtype=object), binary_data=True)
    answer = await client.infer(InferRequest("echo", [words]), timeout=30)
    equal(answer.outputs[0].as_numpy().tolist(), [b"a", b"\xff"])
    await client.close()


def triton(kind):
    """tritonclient, its http or grpc half."""
    if kind == "http":
        import tritonclient.http as t

        client = t.InferenceServerClient(URL.removeprefix("http://"))
    else:
        import tritonclient.grpc as t

        client = t.InferenceServerClient(GRPC)
    equal(client.is_server_live(), True)
    equal(client.is_server_ready(), True)
    equal(client.is_model_ready("iris"), True)
    equal(client.is_model_ready("nope") if kind == "http" else False, False)
    name = lambda m: m["name"] if kind == "http" else m.name
    equal(name(client.get_server_metadata()), "kserve")
    equal(name(client.get_model_metadata("iris")), "iris")
    for binary in (False, True) if kind == "http" else (True,):
        more = {"binary_data": binary} if kind == "http" else {}
        # Without binary data this client says nothing of the body's type, which KServe's servers refuse.
        headers = {"headers": {"Content-Type": "application/json"}} if not binary else {}
        x = t.InferInput("input-0", [2, 4], "FP32")
        x.set_data_from_numpy(np.array(ROWS, dtype=np.float32), **more)
        answer = client.infer("iris", [x], request_id="r", outputs=[t.InferRequestedOutput("output-0", **more)], **headers)
        equal(answer.as_numpy("output-0").tolist(), [1, 0])
        equal(name({"name": answer.get_response()["id"]}) if kind == "http" else answer.get_response().id, "r")
        words = t.InferInput("words", [2, 2], "BYTES")
        words.set_data_from_numpy(np.array([["é", ""], ["a", "☃"]], dtype=object), **more)
        answer = client.infer("echo", [words], outputs=[t.InferRequestedOutput("words", **more)], **headers)
        got = [[v if isinstance(v, str) else v.decode() for v in row] for row in answer.as_numpy("words")]
        equal(got, [["é", ""], ["a", "☃"]])
        for kind_of in (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64):
            from tritonclient.utils import np_to_triton_dtype

            values = np.array([[0, 1, 1]]).astype(kind_of)
            y = t.InferInput("y", [1, 3], np_to_triton_dtype(np.dtype(kind_of)))
            y.set_data_from_numpy(values, **more)
            got = client.infer("echo", [y], outputs=[t.InferRequestedOutput("y", **more)], **headers).as_numpy("y")
            equal((got.dtype, got.tolist()), (values.dtype, values.tolist()))
    # Options that this server has no use for change nothing, and what can be used is.
    more = {"priority": 1, "timeout": 5_000_000, "parameters": {"a": "b"}}
    rows = t.InferInput("input-0", [2, 4], "FP32")
    rows.set_data_from_numpy(np.array(ROWS, dtype=np.float32))
    if kind == "http":
        more |= {"request_compression_algorithm": "gzip", "response_compression_algorithm": "gzip", "query_params": {"a": 1}}
        waiting = client.async_infer("iris", [rows], **more)
        equal(waiting.get_result().as_numpy("output-0").tolist(), [1, 0])
        fails(lambda: client.infer("iris", [rows], request_compression_algorithm="deflate"), "send gzip or none")
    else:
        more |= {"compression_algorithm": "gzip", "client_timeout": 30, "headers": {"x-request-id": "7"}}
        got = queue.Queue()
        client.async_infer("iris", [rows], lambda result, error: got.put(error or result.as_numpy("output-0").tolist()))
        equal(got.get(timeout=30), [1, 0])
        equal(client.infer("iris", [rows], **more).get_response().model_name, "iris")
    equal(client.infer("iris", [rows], **more).as_numpy("output-0").tolist(), [1, 0])
    fails(lambda: client.get_inference_statistics("iris"))
    fails(lambda: client.infer("iris", [x], outputs=[t.InferRequestedOutput("nope")]), "Unexpected inference output 'nope'")
    index = client.get_model_repository_index()
    names = [m["name"] for m in index] if kind == "http" else [m.name for m in index.models]
    equal(sorted(names), ["echo", "iris"])
    fails(lambda: client.register_system_shared_memory("a", "/a", 16))
    client.close()


CLIENTS = {
    "sdk-rest": lambda: asyncio.run(sdk_rest()),
    "sdk-grpc": lambda: asyncio.run(sdk_grpc()),
    "triton-http": lambda: triton("http"),
    "triton-grpc": lambda: triton("grpc"),
}

if __name__ == "__main__":
    for name in sys.argv[3:] or CLIENTS:
        CLIENTS[name]()
        print("ok", name)
