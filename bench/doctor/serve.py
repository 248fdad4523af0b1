#!/usr/bin/env python3
"""A threaded HTTP service, as people write them: a thread for each connection, or a pool of threads.

    serve.py PORT [--threads 8] [--backlog 128] [--accept 20ms] [--stall 500ms/1s]

--accept is what the accepting thread does for each connection before it hands it over (a lookup of the client's name);
--stall is what it does now and then instead of accepting (rotating a log). Neither takes processor time. The work of a
request is that of work.py. The log has a line for each connection that could not be accepted.
"""

import argparse
import queue
import socket
import sys
import threading
import time

import work


def milliseconds(text):
    return float(text[:-2]) / 1e3 if text.endswith("ms") else float(text.rstrip("s"))


def serve(connection):
    with connection, connection.makefile("rb") as stream:
        while (first := stream.readline()):
            length, close = 0, b"HTTP/1.0" in first
            while (line := stream.readline().strip()):
                name, _, value = line.lower().partition(b":")
                if name == b"content-length":
                    length = int(value)
                elif name == b"connection":
                    close = value.strip() == b"close"
            stream.read(length)
            try:
                body, status = work.answer(), b"200 OK"
            except OSError as error:
                body, status = str(error).encode(), b"503 Service Unavailable"
            last = b"Connection: close\r\n" if close else b""
            connection.sendall(b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n" % (status, last, len(body)) + body)
            if close:
                return


def safely(connection):
    try:
        serve(connection)
    except (OSError, ValueError):
        pass


def pool(waiting):
    while True:
        safely(waiting.get())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--backlog", type=int, default=128)
    parser.add_argument("--accept", type=milliseconds, default=0)
    parser.add_argument("--stall", default="0s/1s")
    options = parser.parse_args()
    length, every = map(milliseconds, options.stall.split("/"))
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((options.host, options.port))
    listener.listen(options.backlog)
    waiting = queue.Queue()
    for _ in range(options.threads):
        threading.Thread(target=pool, args=(waiting,), daemon=True).start()
    due = time.monotonic() + every
    while True:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            print(f"accept: {error}", file=sys.stderr, flush=True)
            time.sleep(0.1)
            continue
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if options.accept:
            time.sleep(options.accept)
        if options.threads:
            waiting.put(connection)
        else:
            threading.Thread(target=safely, args=(connection,), daemon=True).start()
        if length and time.monotonic() >= due:
            time.sleep(length)
            due = time.monotonic() + every


if __name__ == "__main__":
    main()
