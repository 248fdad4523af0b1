"""The work of a request in the Python services, as the environment says.

    CPU_MS     processor time                       UPSTREAM   host:port that is asked by HTTP
    WAIT_MS    a wait without a shared resource     FRESH      1: a new connection to it for each request
    LOCK_MS    time under a lock of the process     DATABASE   host:port of PostgreSQL, which is sent QUERY
    BODY       bytes of the response
"""

import os
import socket
import struct
import threading
import time


def number(name):
    return float(os.environ.get(name, 0))


CPU, WAIT, LOCK_TIME = number("CPU_MS") / 1e3, number("WAIT_MS") / 1e3, number("LOCK_MS") / 1e3
UPSTREAM, FRESH = os.environ.get("UPSTREAM"), os.environ.get("FRESH") == "1"
DATABASE, QUERY = os.environ.get("DATABASE"), os.environ.get("QUERY", "select 1")
BODY = b"x" * int(number("BODY") or 100)
LOCK = threading.Lock()
KEPT = threading.local()


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def spin(seconds):
    finish = time.thread_time() + seconds
    while time.thread_time() < finish:
        sum(range(500))


class Postgres:
    """A connection to PostgreSQL: the simple query protocol, trusted without a password."""

    def __init__(self, place):
        self.socket = socket.create_connection(place, timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        words = b"user\0headroom\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!ii", 8 + len(words), 196_608) + words)
        self.until_ready()

    def until_ready(self):
        """The values of the first column of all rows until the server is ready for a query."""
        rows, failure = [], None
        while True:
            kind, length = struct.unpack("!ci", self.stream.read(5))
            body = self.stream.read(length - 4)
            if kind == b"D":
                size = struct.unpack("!i", body[2:6])[0]
                rows.append(None if size < 0 else body[6:6 + size])
            elif kind == b"E":
                failure = body
            elif kind == b"R" and body[:4] != b"\0\0\0\0":
                raise OSError("PostgreSQL wants a password")
            elif kind == b"Z":
                if failure:
                    raise OSError(failure.decode(errors="replace"))
                return rows

    def query(self, text):
        words = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", 4 + len(words)) + words)
        return self.until_ready()


class Upstream:
    """A connection to an HTTP service that states the lengths of its responses. It is closed from this side."""

    def __init__(self, place):
        self.socket = socket.create_connection(place, timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")

    def get(self):
        self.socket.sendall(b"GET / HTTP/1.1\r\nHost: upstream\r\n\r\n")
        status, length = self.stream.readline(), 0
        if not status:
            raise OSError("closed")
        while (line := self.stream.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return self.stream.read(length)

    def close(self):
        self.stream.close()
        self.socket.close()


def kept(name, make):
    if not hasattr(KEPT, name):
        setattr(KEPT, name, make())
    return getattr(KEPT, name)


def answer():
    """Does the work; the body of the response. OSError if a part of it fails."""
    spin(CPU)
    if WAIT:
        time.sleep(WAIT)
    if LOCK_TIME:
        with LOCK:
            time.sleep(LOCK_TIME)
    if DATABASE:
        kept("database", lambda: Postgres(address(DATABASE))).query(QUERY)
    if UPSTREAM and FRESH:
        one = Upstream(address(UPSTREAM))
        try:
            one.get()
        finally:
            one.close()
    elif UPSTREAM:
        try:
            kept("upstream", lambda: Upstream(address(UPSTREAM))).get()
        except OSError:
            del KEPT.upstream
            raise
    return BODY
