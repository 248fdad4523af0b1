"""Clients that mean harm, and one that does not: each a program of its own, on loopback, for so many seconds.

    python3 attackers.py silent PORT SECONDS COUNT      connects COUNT times and sends nothing; again when it is closed
    python3 attackers.py bodies PORT SECONDS COUNT      COUNT uploads of a byte a second; again when one ends
    python3 attackers.py resets PORT SECONDS RATE       RATE times a second: connect, ask, reset; 50 at a time
    python3 attackers.py good PORT SECONDS RATE PATH    asks RATE times a second, each time on a new connection; JSON
"""

import json
import resource
import select
import socket
import struct
import sys
import time

PATIENCE = 2.0
AT_ONCE = 50
UPLOAD = b"POST /limited HTTP/1.1\r\nHost: bench\r\nContent-Length: 100000\r\n\r\n"


def request(path):
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n".encode()


def opened(port):
    """A connection that is on its way."""
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", port))
    return client


def held(port, end, count, sent=None):
    """Holds so many connections, whatever the other side does about it; sends each so much once, then a byte a second."""
    poll, clients, fresh, next_byte = select.epoll(), {}, set(), time.monotonic() + 1
    while time.monotonic() < end:
        for _ in range(min(count - len(clients), 500)):
            client = opened(port)
            clients[client.fileno()] = client
            fresh.add(client.fileno())
            poll.register(client, select.EPOLLIN | select.EPOLLRDHUP | (select.EPOLLOUT if sent else 0))
        for number, what in poll.poll(0.05):
            client = clients[number]
            if what & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP):
                # Answered or closed: on to the next.
                fresh.discard(number)
                clients.pop(number).close()
            elif number in fresh:
                fresh.discard(number)
                poll.modify(client, select.EPOLLIN | select.EPOLLRDHUP)
                quietly(client, sent)
        if sent and time.monotonic() >= next_byte:
            next_byte += 1
            for number, client in clients.items():
                if number not in fresh:
                    quietly(client, b"x")


def quietly(client, sent):
    try:
        client.send(sent)
    except OSError:  # it is gone, which the next poll says
        pass


def resets(port, end, rate):
    begun, count, live, ask = time.monotonic(), 0, [], request("/small")
    while (now := time.monotonic()) < end:
        if count >= (now - begun) * rate:
            time.sleep(0.0005)
            continue
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            client.connect(("127.0.0.1", port))
            client.send(ask)
        except OSError:
            pass
        live.append(client)
        count += 1
        if len(live) >= AT_ONCE:
            live.pop(0).close()
    return count


def good(port, end, rate, path):
    """What one client gets that asks as it should: times in ms of 200s, and how many others."""
    times, refused, ask, due = [], 0, request(path), time.monotonic()
    while due < end:
        time.sleep(max(0.0, due - time.monotonic()))
        began = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
                client.sendall(ask)
                answer = b""
                while part := client.recv(65536):
                    answer += part
            served = answer.startswith(b"HTTP/1.1 200")
        except OSError:
            served = False
        if served:
            # From when it was due, so that one that hangs is not counted once only.
            times.append((time.monotonic() - min(began, due)) * 1000)
        else:
            refused += 1
        due += 1 / rate
    return {"refused": refused, "ms": sorted(times)}


def main():
    what, port, seconds, amount = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    end = time.monotonic() + seconds
    if what == "silent":
        held(port, end, amount)
    elif what == "bodies":
        held(port, end, amount, UPLOAD)
    elif what == "resets":
        print(resets(port, end, amount))
    elif what == "good":
        print(json.dumps(good(port, end, amount, sys.argv[5])))


if __name__ == "__main__":
    main()
