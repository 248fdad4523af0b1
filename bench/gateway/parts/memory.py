"""A gateway's memory with many idle connections, each of which has had one answer."""

import socket
import time

from .site import Site

CONNECTIONS = 1000


def memory(world):
    with Site(world) as site:
        site.start_instances()
        proxy = site.start_proxy("headroom")
        before, _ = proxy.memory()
        clients = []
        for _ in range(CONNECTIONS):
            client = socket.create_connection(("127.0.0.1", proxy.port), timeout=5)
            client.sendall(b"GET /small HTTP/1.1\r\nHost: bench\r\n\r\n")
            clients.append(client)
        for client in clients:
            if not client.recv(4096).startswith(b"HTTP/1.1 200"):
                raise RuntimeError("an idle client got no answer")
        time.sleep(0.5)
        now, _ = proxy.memory()
        for client in clients:
            client.close()
    each = (now - before) / CONNECTIONS / 1024
    found = f"{CONNECTIONS:,} idle connections: {now / 1e6:.1f} MB ({before / 1e6:.1f} MB before), {each:.1f} KiB each"
    return {"connections": CONNECTIONS, "rss_bytes_before": before, "rss_bytes": now, "lines": [found], "targets": []}
