"""KEDA's side of the external scaler protocol, with stubs made of the interface file.

Tells each step on standard output, waits for a line of standard input where the load has to change, and ends with an
error at the first answer that is not the expected one. Arguments: the folder of the interface file, the address, a
folder for the stubs.
"""

import socket
import sys
import threading
import time

import grpc
from grpc_tools import protoc

protos, address, folder = sys.argv[1:]
made = protoc.main(
    ["protoc", "-I" + protos, "--python_out=" + folder, "--grpc_python_out=" + folder, "externalscaler.proto"]
)
assert made == 0
sys.path.insert(0, folder)
import externalscaler_pb2 as messages
import externalscaler_pb2_grpc as stubs

PATIENCE = 60


def tell(word):
    print(word, flush=True)
    sys.stdin.readline()


def until(what, holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def refused(code, call):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code, error
        return error.details()
    raise AssertionError(f"not refused with {code}")


# A client that sends nothing, and one that stops in the middle of a request.
host, port = address.rsplit(":", 1)
silent = socket.create_connection((host, int(port)))
broken = socket.create_connection((host, int(port)))
broken.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00")

channel = grpc.insecure_channel(address)
scaler = stubs.ExternalScalerStub(channel)


def ref(**metadata):
    return messages.ScaledObjectRef(
        name="web", namespace="default", scalerMetadata={"scalerAddress": address, **metadata}
    )


def value(name="headroom-wanted-instances"):
    asked = messages.GetMetricsRequest(scaledObjectRef=ref(), metricName=name)
    answer = scaler.GetMetrics(asked, timeout=PATIENCE)
    (found,) = answer.metricValues
    assert found.metricName == name
    assert found.metricValueFloat == found.metricValue
    return found.metricValue


def active():
    return scaler.IsActive(ref(service="web"), timeout=PATIENCE).result


# What KEDA reads first: the metric of its autoscaler, with a target of one for each replica.
(spec,) = scaler.GetMetricSpec(ref(), timeout=PATIENCE).metricSpecs
assert (spec.metricName, spec.targetSize, spec.targetSizeFloat) == ("headroom-wanted-instances", 1, 1.0), spec

changes = []
stream = scaler.StreamIsActive(ref(service="web"))


def listen():
    try:
        for answer in stream:
            changes.append(answer.result)
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.CANCELLED:
            changes.append(error)


threading.Thread(target=listen, daemon=True).start()
until("the stream begins", lambda: changes)
assert (changes[-1], active(), value()) == (False, False, 0), changes
tell("inactive")

until("the stream sees the activation", lambda: changes[-1] is True)
until("the wanted size", lambda: value() == 3)
assert active()

details = refused(grpc.StatusCode.NOT_FOUND, lambda: scaler.IsActive(ref(service="other"), timeout=PATIENCE))
assert "`web`" in details and "`other`" in details, details
refused(grpc.StatusCode.NOT_FOUND, lambda: list(scaler.StreamIsActive(ref(service="other"), timeout=PATIENCE)))
details = refused(grpc.StatusCode.INVALID_ARGUMENT, lambda: value("requests"))
assert "headroom-wanted-instances" in details, details
refused(grpc.StatusCode.UNIMPLEMENTED, lambda: list(scaler.StreamMetricSpec(ref(), timeout=PATIENCE)))
unknown = channel.unary_unary("/externalscaler.ExternalScaler/Nothing")
refused(grpc.StatusCode.UNIMPLEMENTED, lambda: unknown(b"", timeout=PATIENCE))
# Not one of the calls that are open: taken for a change, and refused as one.
elsewhere = channel.unary_unary("/other.Service/IsActive")
refused(grpc.StatusCode.UNKNOWN, lambda: elsewhere(b"", timeout=PATIENCE))
nonsense = channel.unary_unary("/externalscaler.ExternalScaler/IsActive")
refused(grpc.StatusCode.INTERNAL, lambda: nonsense(b"\xff\xff\xff", timeout=PATIENCE))
tell("active")

until("the stream sees the end", lambda: changes[-1] is False)
until("no instance is wanted", lambda: value() == 0)
assert not active()
assert all(change in (True, False) for change in changes), changes
stream.cancel()
silent.close()
broken.close()
tell("done")
