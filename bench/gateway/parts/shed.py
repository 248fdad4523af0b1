"""Is shedding cheap, and do those who are admitted notice?

Cost: the same wrk asks a route that refuses all but one request a second, and one that lets all pass to an instance.
Notice: a service that takes 20 ms and has room for all that the limit lets pass is asked at 0.8 times the limit and at
ten times the limit, in turns; only the times of admitted requests are compared.
"""

from load.parts.machine import median, spread, target
from load.parts.servers import free_port

from . import pairs
from .site import OTHER_CORE, Site, cpu_of, load, wrk

LIMIT, CALM, FLOOD = 200, 0.8, 10
SERVICE = ["--wait", "20ms", "--threads", 32, "--body", 100]
WITHIN = 0.10

FILE = """
listen: 127.0.0.1:{port}
admin: 127.0.0.1:{admin}
workers: 1
access_log: shed.log
limits: {{ connections: 8192 }}
pools:
  instances: {{ instances: [{instances}], balance: least_outstanding, idle_connections: 1024 }}
  service: {{ instances: ["127.0.0.1:{service}"], balance: least_outstanding, idle_connections: 1024 }}
service_levels:
  in time: {{ target: 5s, window: 10s }}
rate_classes:
  nearly none: {{ rate: 1/s }}
  nearly all: {{ rate: 1000000/s, burst: 1000000 }}
  limit: {{ rate: {limit}/s, burst: 5 }}
routes:
  - {{ name: refused, host: refused, path_prefix: /, pool: instances, service_level: in time, rate_class: nearly none }}
  - {{ name: limited, host: limited, path_prefix: /, pool: service, service_level: in time, rate_class: limit }}
  - {{ name: passed, path_prefix: /, pool: instances, service_level: in time, rate_class: nearly all }}
"""


def shed(world):
    with Site(world) as site:
        site.start_instances()
        service = free_port()
        command = [world.headroom, "sample-service", "--listen", f"127.0.0.1:{service}", *SERVICE]
        site.launch(OTHER_CORE, command, service)
        instances = ", ".join(f'"127.0.0.1:{instance}"' for instance in site.instances)
        gateway = site.start_gateway("shed", FILE, instances=instances, service=service, limit=LIMIT)
        cost, notice = costs(site, gateway), times(site, gateway)
    return {"cost": cost["rounds"], "ten_times": notice["rounds"], "targets": cost["targets"] + notice["targets"],
            "lines": cost["lines"] + notice["lines"]}


def costs(site, gateway):
    options = site.world.options

    def measure(host, _=0, seconds=options.seconds):
        with cpu_of(gateway) as spent:
            requests, refused = wrk(f"{gateway.url}/small", 64, seconds, "-H", f"Host: {host}")
        return {"requests": requests, "refused": refused, "cpu_s": sum(spent.values()),
                "cpu_s_per_million": sum(spent.values()) / requests * 1e6}

    sides = {"refused": "refused", "passed": "passed"}
    for host in sides.values():
        measure(host, seconds=1)
    taken = pairs.rounds(options.pairs, sides, measure, lambda found: f"{found['cpu_s_per_million']:.2f}")
    if any(one["passed"]["refused"] or one["refused"]["refused"] < 0.99 * one["refused"]["requests"] for one in taken):
        raise RuntimeError("the two routes do not do what they are for")
    found = pairs.ratios(taken, "refused", "passed", lambda one: one["cpu_s_per_million"])
    lines = [f"CPU s per million {name}: {spread(one[name]['cpu_s_per_million'] for one in taken)}" for name in sides]
    return {"rounds": taken, "lines": lines, "targets": [
        target("shed: CPU of a refusal / of an answer from upstream", "< 0.5", spread(found, 3), median(found) < 0.5)]}


def times(site, gateway):
    options = site.world.options
    # Enough admitted requests for a p95 that a few of them do not make.
    seconds = max(options.seconds, 4)

    def measure(factor, _=0, seconds=seconds):
        return load(site, f"{gateway.url}/", seconds, "-r", f"{round(LIMIT * factor)}/s", "-c", 0, "-H", "Host: limited")

    sides = {"calm": CALM, "ten times": FLOOD}
    for factor in sides.values():
        measure(factor, seconds=1)
    taken = pairs.rounds(options.pairs, sides, measure, lambda found: "{p50:.2f}/{p95:.2f}".format(**found["ms"]))
    targets = []
    for point in ("p50", "p95"):
        found = pairs.ratios(taken, "ten times", "calm", lambda one: one["ms"][point])
        targets.append(target(f"shed: {point} of the admitted at {FLOOD} times the limit / calm", f"<= {1 + WITHIN:.2f}",
                              spread(found, 3), median(found) <= 1 + WITHIN))
    lines = []
    for name in sides:
        admitted = [one[name]["accounting"]["answered"] / seconds for one in taken]
        refused = [one[name]["accounting"]["shed"] / seconds for one in taken]
        p50, p95 = (spread(one[name]["ms"][point] for one in taken) for point in ("p50", "p95"))
        lines.append(f"{name}: admitted {median(admitted):,.0f}/s, shed {median(refused):,.0f}/s, "
                     f"p50 {p50}, p95 {p95} ms")
    return {"rounds": taken, "lines": lines, "targets": targets}
