"""Processor time per request, everything on: headroom beside nginx and HAProxy, calm and at the limit.

Calm, wrk asks as fast as it is answered. At the limit, users of a closed model with exponential think times make a load
that the proxies do not set (10,000/s); half of it passes and half is refused, so that all three do the same work.
Processor time is the kernel's account of the proxy's process, all threads.
"""

from load.parts.machine import median, say, spread, target
from load.parts.runner import attempt

from . import pairs
from .proxies import PROXIES
from .site import BODIES, Site, cpu_of, load, wrk

CONNECTIONS = (64, 1000)
OFFERED, LIMIT = 10_000, {"limit": 5_000, "burst": 500}
LEAST_REFUSED = 0.25
MOST = {"nginx": 0.85, "haproxy": 1.0}

USERS = """
scenario: users
base: {url}
flows:
  - name: users
    steps:
      - get: /{body}
        think: {{ exponential: {think}us }}
"""


def cpu(world):
    result = {"unit": "processor seconds (user and system) per million requests", "runs": {}, "targets": [], "lines": []}
    for state, limit in (("calm", None), ("at the limit", LIMIT)):
        with Site(world) as site:
            site.start_instances()
            proxies = {name: site.start_proxy(name, limit) for name in PROXIES}
            for connections in CONNECTIONS:
                for body in BODIES:
                    name = f"{state}, {connections} connections, {BODIES[body]} B"
                    say(f" {name}")
                    case = (name, site, proxies, state, connections, body)
                    attempt(result, f"cpu: {name}", compare, result, *case)
    return result


def compare(result, name, site, proxies, state, connections, body):
    options = site.world.options
    ask = calm if state == "calm" else at_the_limit
    for proxy in proxies.values():  # warms caches, fills the pools of connections, and brings the limit into force
        ask(site, proxy, connections, body, 1)

    def measure(proxy, _):
        with cpu_of(proxy) as spent:
            found = ask(site, proxy, connections, body, options.seconds)
        cost = sum(spent.values())
        return {**found, "cpu_s": cost, "cpu_s_per_million": cost / found["requests"] * 1e6}

    taken = pairs.rounds(options.pairs, proxies, measure, lambda found: f"{found['cpu_s_per_million']:.2f}")
    result["runs"][name] = taken
    result["lines"] += [name, *table(taken)]
    for other, most in MOST.items():
        found = pairs.ratios(taken, "headroom", other, lambda one: one["cpu_s_per_million"])
        words, met = spread(found, 3), median(found) <= most
        if state != "calm" and not same_work(taken, other):
            words, met = f"{words}; not the same work: see the requests and refusals of each", None
        result["targets"].append(target(f"cpu: {name}, headroom / {other}", f"<= {most}", words, met))


def calm(site, proxy, connections, body, seconds):
    requests, refused = wrk(f"{proxy.url}/{body}", connections, seconds)
    if refused:
        raise RuntimeError(f"{proxy.name} refused {refused} of {requests} requests, calm as it should be")
    return {"requests": requests, "requests_per_s": requests / seconds, "refused": 0}


def at_the_limit(site, proxy, connections, body, seconds):
    think = connections / OFFERED * 1e6
    scenario = site.write("users.yaml", USERS, url=proxy.url, body=body, think=int(think))
    found = load(site, None, seconds, "--scenario", scenario, "-c", connections)
    requests = sum(found["status"].values())
    return {"requests": requests, "requests_per_s": requests / seconds, "refused": found["status"].get("503", 0),
            "connections_opened": found["connections_opened"], "validity": found["validity"]}


def same_work(taken, other):
    """Whether both had about as many requests, of which about as many were refused, and enough of them.

    Not so on a machine that is too busy for the load.
    """
    ours, theirs = ([one[name] for one in taken] for name in ("headroom", other))
    requests = median(one["requests"] for one in ours) / median(one["requests"] for one in theirs)
    refused = [median(one["refused"] / one["requests"] for one in side) for side in (ours, theirs)]
    return 0.9 <= requests <= 1.1 and abs(refused[0] - refused[1]) <= 0.05 and min(refused) >= LEAST_REFUSED


def table(taken):
    lines = []
    for name in taken[0]:
        of = [one[name] for one in taken]
        refused = sum(one["refused"] for one in of) / sum(one["requests"] for one in of)
        lines.append(f"  {name:10} {spread(one['cpu_s_per_million'] for one in of):>26}  "
                     f"{median(one['requests_per_s'] for one in of):>9,.0f} requests/s, {refused:.0%} refused")
    return lines
