#!/usr/bin/env python3
"""Clients that `headroom load` and wrk are not.

    clients.py burst HOST:PORT COUNT EVERY_S   browsers: every EVERY_S, COUNT of them connect at once, ask five times, and leave
    clients.py idle HOST:PORT COUNT            COUNT connections that ask once, and then stay open
    clients.py hammer HOST:PORT COUNT          one thread that asks over COUNT connections as fast as it can

At SIGINT, they end with a line of JSON: how many responses, how many failures, the time of connecting (p50 and p95, in ms).
"""

import email
import json
import random
import selectors
import signal
import socket
import sys
import threading
import time

ASK = b"GET / HTTP/1.1\r\nHost: service\r\n\r\n"
connects, good, failed = [], 0, 0
lock = threading.Lock()


def count(right):
    global good, failed
    with lock:
        good, failed = good + right, failed + (not right)


def response(stream):
    status, length = stream.readline(), 0
    while (line := stream.readline().strip()):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    stream.read(length)
    return b" 200 " in status


def browser(place, asks, stay=False):
    began = time.monotonic()
    try:
        with socket.create_connection(place, timeout=10) as one, one.makefile("rb") as stream:
            with lock:
                connects.append(time.monotonic() - began)
            for _ in range(asks):
                one.sendall(ASK)
                count(response(stream))
                time.sleep(random.uniform(0.01, 0.05))
            if stay:
                time.sleep(600)
    except OSError:
        count(False)


def start(*arguments):
    threading.Thread(target=browser, args=arguments, daemon=True).start()


def burst(place, number, every):
    while True:
        for _ in range(number):
            start(place, 5)
        time.sleep(every)


def idle(place, number):
    for _ in range(number):
        start(place, 1, True)
        time.sleep(0.003)
    time.sleep(600)


def hammer(place, number):
    selector = selectors.DefaultSelector()
    for _ in range(number):
        one = socket.create_connection(place, timeout=10)
        selector.register(one, selectors.EVENT_READ)
        one.sendall(ASK)
    while True:
        for key, _ in selector.select():
            # Responses are small, so one arrives in one piece. It is looked at as test scripts do.
            first, _, rest = key.fileobj.recv(65536).partition(b"\r\n")
            fields = email.message_from_bytes(rest)
            count(b" 200 " in first and len(fields.get_payload()) == int(fields["content-length"]))
            key.fileobj.sendall(ASK)


def stop(*_):
    times = sorted(connects) or [0]
    at = lambda share: round(1e3 * times[min(len(times) - 1, int(share * len(times)))], 1)
    print(json.dumps(dict(answered=good, failed=failed, connect_ms=dict(p50=at(0.5), p95=at(0.95)))), flush=True)
    sys.exit(0)


def main():
    signal.signal(signal.SIGINT, stop)
    kind, place, number = sys.argv[1], sys.argv[2].rsplit(":", 1), int(sys.argv[3])
    place = (place[0], int(place[1]))
    dict(burst=burst, idle=idle, hammer=hammer)[kind](place, number, *map(float, sys.argv[4:]))


if __name__ == "__main__":
    main()
