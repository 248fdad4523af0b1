"""What a good client gets while others do harm: silent clients, slow bodies, a flood of resets, reloads of 10,000 routes.

Each proxy has one thread, 2,000 connections and, on one path, ten requests in flight, and is protected as its
documentation says: nginx by client_header_timeout, client_body_timeout and limit_conn; HAProxy by timeout http-request,
http-buffer-request (so that this time holds for bodies too) and maxconn of the server; headroom by its defaults, and once
more with `buffer_body`. The good client asks 50 times a second on a new connection each time, and waits 2 s at most.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from load.parts.machine import find, pinned, say, target
from load.parts.servers import free_port

from .site import OTHER_CORE, Proxy, Site

CLIENTS = Path(__file__).with_name("attackers.py")
CONNECTIONS, PLACES, ROUTES, RATE = 2_000, 10, 10_000, 50
SILENT, BODIES, RESETS = 4_000, 40, 3_000
# The attack has begun by then, and the good client's first second is not measured.
LEAD = 1.5

HEADROOM = """
listen: 127.0.0.1:{port}
admin: 127.0.0.1:{admin}
workers: 1
access_log: headroom.log
limits: {{ connections: {connections} }}
pools:
  instances: {{ instances: [{instances}], idle_connections: 1024 }}
concurrency_limits:
  few: {{ limit: {places} }}
routes:
{more}
  - {{ name: limited, path_prefix: /limited, pool: instances, concurrency: few{buffer} }}
  - {{ name: all, path_prefix: /, pool: instances }}
"""

NGINX = """
worker_processes 1;
worker_rlimit_nofile 16384;
daemon off;
pid {dir}/nginx.pid;
error_log {dir}/nginx.error crit;
events {{ worker_connections {connections}; }}
http {{
    access_log {dir}/nginx.log combined buffer=64k flush=1s;
    client_header_timeout 5s;
    client_body_timeout 5s;
    client_body_temp_path {dir}/body2;
    proxy_temp_path {dir}/proxy2;
    fastcgi_temp_path {dir}/fastcgi2;
    uwsgi_temp_path {dir}/uwsgi2;
    scgi_temp_path {dir}/scgi2;
    limit_conn_zone $server_port zone=few:64k;
    upstream instances {{
        {servers}
        keepalive 1024;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_next_upstream off;
        location /limited {{ limit_conn few {places}; limit_conn_status 503; proxy_pass http://instances; }}
        location / {{ proxy_pass http://instances; }}
{more}
    }}
}}
"""

HAPROXY = """
global
    nbthread 1
    maxconn {connections}
defaults
    mode http
    retries 0
    timeout connect 1s
    timeout client 60s
    timeout server 60s
    timeout http-request 5s
    timeout http-keep-alive 60s
    timeout queue 500ms
frontend clients
    bind 127.0.0.1:{port} backlog 4096
    option http-buffer-request
    use_backend limited if {{ path_beg /limited }}
{more}
    default_backend instances
backend limited
    server limited 127.0.0.1:{first} maxconn {places}
backend instances
    http-reuse always
    {servers}
"""


def headroom(site, port, routes, buffer=""):
    more = "\n".join(f"  - {{ path: /r/{n}, pool: instances }}" for n in range(routes))
    instances = ", ".join(f'"127.0.0.1:{instance}"' for instance in site.instances)
    return site.gateway(HEADROOM, port, instances=instances, connections=CONNECTIONS, places=PLACES, more=more,
                        buffer=buffer), signal.SIGHUP


def buffered(site, port, routes):
    return headroom(site, port, routes, ", buffer_body: 128KiB")


def nginx(site, port, routes):
    servers = "\n        ".join(f"server 127.0.0.1:{instance} max_fails=0;" for instance in site.instances)
    more = "\n".join(f"        location = /r/{n} {{ proxy_pass http://instances; }}" for n in range(routes))
    # It needs two connections for each request.
    config = site.write("nginx.conf", NGINX, dir=site.directory, port=port, servers=servers, places=PLACES, more=more,
                        connections=CONNECTIONS)
    return [find("nginx"), "-p", site.directory, "-c", config], signal.SIGHUP


def haproxy(site, port, routes):
    servers = "\n    ".join(f"server s{instance} 127.0.0.1:{instance}" for instance in site.instances)
    more = "\n".join(f"    use_backend instances if {{ path /r/{n} }}" for n in range(routes))
    config = site.write("haproxy.cfg", HAPROXY, port=port, servers=servers, first=site.instances[0], places=PLACES,
                        more=more, connections=CONNECTIONS)
    return [find("haproxy"), "-W", "-db", "-f", config], signal.SIGUSR2


SIDES = {"headroom": headroom, "nginx": nginx, "haproxy": haproxy}


def attack(world):
    seconds = world.options.attack_seconds
    scenarios = {
        "silent clients": (SIDES, ["silent", SILENT], "/small", 0),
        "slow bodies": ({**SIDES, "headroom, buffer_body": buffered}, ["bodies", BODIES], "/limited", 0),
        "reset flood": (SIDES, ["resets", RESETS], "/small", 0),
        "reload of 10,000 routes": (SIDES, None, "/small", ROUTES),
    }
    found, lines = {}, []
    for name, (sides, how, path, routes) in scenarios.items():
        found[name] = {}
        for side, make in sides.items():
            found[name][side] = one = measure(world, make, how, path, routes, seconds)
            lines.append(f"{name:<24}{side:<23}{told(one)}")
            say(f"  {lines[-1]}")
    return {"found": found, "lines": lines, "targets": targets(found)}


def measure(world, make, how, path, routes, seconds):
    with Site(world) as site:
        site.start_instances()
        port = free_port()
        command, reload = make(site, port, routes)
        proxy = Proxy("", site.launch(0, command, port), port)
        harm = how and client(how[0], port, seconds + LEAD + 1, how[1])
        time.sleep(LEAD)
        good = client("good", port, seconds, RATE, path)
        if not how:
            reloads(proxy.process, reload, seconds)
        told_good = json.loads(good.communicate(timeout=seconds + 30)[0])
        if harm:
            harm.communicate(timeout=seconds + 30)
    times = told_good["ms"]
    at = lambda share: times[min(int(share * len(times)), len(times) - 1)] if times else None
    return {"answered": len(times), "refused": told_good["refused"], "p50": at(0.5), "p99": at(0.99),
            "longest": times[-1] if times else None}


def client(what, port, seconds, *more):
    command = pinned(OTHER_CORE, [sys.executable, CLIENTS, what, port, seconds, *more])
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def reloads(process, how, seconds):
    """Five reloads, evenly over the time."""
    for _ in range(5):
        time.sleep(seconds / 6)
        process.send_signal(how)


def told(one):
    if not one["answered"]:
        return f"none of {one['refused']} answered"
    return (f"{one['answered']} answered, {one['refused']} not, p50 {one['p50']:.1f}, p99 {one['p99']:.1f}, "
            f"longest {one['longest']:.1f} ms")


def targets(found):
    made = []
    for name, sides in found.items():
        ours = sides.get("headroom, buffer_body", sides["headroom"])
        share = ours["answered"] / max(ours["answered"] + ours["refused"], 1)
        made.append(target(f"attack: {name}: the good client is answered", ">= 99 %", f"{share:.1%}", share >= 0.99))
    flood = found["reset flood"]
    ours, theirs = flood["headroom"]["p99"], flood["nginx"]["p99"]
    if ours is not None and theirs is not None:
        made.append(target("attack: reset flood: p99 beside nginx's", f"<= {theirs * 1.2 + 1:.1f} ms", f"{ours:.1f} ms",
                           ours <= theirs * 1.2 + 1))
    return made
