"""What 10,000 routes cost: processor time per request beside one route, and memory over five reloads."""

import signal
import time

from load.parts.machine import median, say, spread, target

from . import pairs
from .cpu import calm
from .site import Site, cpu_of

ROUTES, CONNECTIONS, RELOADS = 10_000, 64, 5
MOST = 1.1

FILE = """
listen: 127.0.0.1:{port}
admin: 127.0.0.1:{admin}
workers: 1
access_log: headroom.log
pools:
  instances: {{ instances: [{instances}], idle_connections: 1024 }}
routes:
{more}
  - {{ name: all, path_prefix: /, pool: instances }}
"""


def routes(world):
    options = world.options
    with Site(world) as site:
        site.start_instances()
        instances = ", ".join(f'"127.0.0.1:{instance}"' for instance in site.instances)
        start = lambda name, count: site.start_gateway(
            name, FILE, instances=instances,
            more="\n".join(f"  - {{ path_prefix: /r{n}/, pool: instances }}" for n in range(count)))
        sides = {"one": start("one", 0), f"{ROUTES:,}": start("many", ROUTES)}
        for proxy in sides.values():
            calm(site, proxy, CONNECTIONS, "small", 1)

        def measure(proxy, _):
            with cpu_of(proxy) as spent:
                found = calm(site, proxy, CONNECTIONS, "small", options.seconds)
            return {**found, "cpu_s_per_million": sum(spent.values()) / found["requests"] * 1e6}

        say(" one route and many")
        taken = pairs.rounds(options.pairs, sides, measure, lambda found: f"{found['cpu_s_per_million']:.2f}")
        found = pairs.ratios(taken, f"{ROUTES:,}", "one", lambda one: one["cpu_s_per_million"])
        many = sides[f"{ROUTES:,}"]
        memory = [many.memory()[0]]
        for _ in range(RELOADS):
            many.process.send_signal(signal.SIGHUP)
            time.sleep(2)
            memory.append(many.memory()[0])
    lines = [f"{name:>10}: {spread(one[name]['cpu_s_per_million'] for one in taken)} s per million requests"
             for name in sides]
    lines.append(f"memory with {ROUTES:,} routes, and after each of {RELOADS} reloads: "
                 + ", ".join(f"{resident / 1e6:.0f}" for resident in memory) + " MB")
    made = [target(f"routes: processor time with {ROUTES:,} / one", f"<= {MOST}", spread(found, 3), median(found) <= MOST)]
    return {"runs": taken, "rss_bytes": memory, "lines": lines, "targets": made}
