"""Least outstanding requests beside round robin, as in the accounts case.

Four instances answer one request with one process at a time; nine calls of ten take 5 ms and a tenth of them 100 ms, as
the account's calls of third parties did beside the rest. A request that is given to an instance with a slow call waits
for it, while others are idle. In a round both gateways get the same requests in the same order at the same times (the
open model, seeded by the round's number). Twice: instances of one process at 60 % of what they can carry, where a wrong
choice costs most, and of six, as the account's were, at 80 %.
"""

import random
from pathlib import Path

from load.parts.machine import median, say, spread, target
from load.parts.runner import attempt
from load.parts.servers import free_port

from . import pairs
from .site import OTHER_CORE, Site, load

# Processes of an instance, and the share of what they can carry that is asked of them.
INSTANCES, SIZES = 4, {1: 0.6, 6: 0.8}
FAST_MS, SLOW_MS, SLOW_SHARE = 5, 100, 0.1
POINTS = ("p50", "p95", "p99")
SIDES = {"least outstanding": "least_outstanding", "round robin": "round_robin"}

FILE = """
listen: 127.0.0.1:{port}
admin: 127.0.0.1:{admin}
workers: 1
access_log: balance.log
limits: {{ connections: 8192 }}
pools:
  instances: {{ instances: [{instances}], balance: {balance}, idle_connections: 1024 }}
routes:
  - {{ name: all, path_prefix: /, pool: instances }}
"""


def balance(world):
    result = {"fast_ms": FAST_MS, "slow_ms": SLOW_MS, "slow_share": SLOW_SHARE, "busy": SIZES, "runs": {},
              "targets": [], "lines": []}
    for processes in SIZES:
        name = f"{INSTANCES} instances of {processes}"
        say(f" {name}")
        attempt(result, f"balance: {name}", one_size, result, name, world, processes)
    return result


def one_size(result, name, world, processes):
    options = world.options
    with Site(world) as site:
        site.instances = [free_port() for _ in range(INSTANCES)]
        for port in site.instances:
            command = [world.headroom, "sample-service", "--listen", f"127.0.0.1:{port}", "--workers", processes,
                       "--threads", 1, "--wait", f"{FAST_MS}ms", "--route", f"/slow wait={SLOW_MS}ms"]
            site.launch(OTHER_CORE, command, port)
        instances = ", ".join(f'"127.0.0.1:{port}"' for port in site.instances)
        gateways = {side: site.start_gateway(word, FILE, instances=instances, balance=word)
                    for side, word in SIDES.items()}
        mean_s = ((1 - SLOW_SHARE) * FAST_MS + SLOW_SHARE * SLOW_MS) / 1e3
        rate = round(INSTANCES * processes / mean_s * SIZES[processes])

        def measure(gateway, number=0, seconds=options.balance_seconds):
            found = load(site, None, seconds, "--targets", calls(site, gateway, rate * seconds, number),
                         "--format", "urls", "-r", f"{rate}/s", "-c", 0, "--arrivals", "poisson", "--seed", number)
            return {**found, "rate": rate}

        for gateway in gateways.values():
            measure(gateway, seconds=1)
        taken = pairs.rounds(options.pairs, gateways, measure, lambda found: "/".join(
            f"{found['ms'][point]:.1f}" for point in POINTS))
    result["runs"][name] = taken
    result["lines"].append(f"{name} at {rate}/s" + "".join(f"{point + ' ms':>28}" for point in POINTS))
    for side in SIDES:
        result["lines"].append(f"  {side:20}" + "".join(
            f"{spread((one[side]['ms'][point] for one in taken), 1):>28}" for point in POINTS))
    for point in ("p95", "p99"):
        found = pairs.ratios(taken, *SIDES, lambda one: one["ms"][point])
        result["targets"].append(target(f"balance: {name}, {point}, least outstanding / round robin", "< 1",
                                        spread(found, 3), median(found) < 1))


def calls(site, gateway, count, seed):
    """A file with so many calls, a tenth of them slow, in the same order for every gateway."""
    draw = random.Random(seed)
    slow = set(draw.sample(range(count), round(count * SLOW_SHARE)))
    file = Path(site.directory) / "calls.txt"
    file.write_text("".join(f"{gateway.url}/{'slow' if number in slow else 'fast'}\n" for number in range(count)))
    return file
