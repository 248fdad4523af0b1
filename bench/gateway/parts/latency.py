"""What a proxy adds to a response time at a rate that is far from its limit, in the open model.

Response times count from when a request was due. The instances alone are the reference: what stands above theirs is the
proxy's. Judged is whether headroom's times are distinguishably above another's: the pairs' mean difference, and whether
its 95 % interval lies above zero.
"""

from load.parts.machine import median, spread, target

from . import pairs
from .proxies import PROXIES
from .site import Proxy, Site, load

QUANTILES = ("p50", "p99")


def latency(world):
    options = world.options
    with Site(world) as site:
        site.start_instances()
        sides = {name: site.start_proxy(name) for name in PROXIES}
        sides["direct"] = Proxy("direct", None, site.instances[0])

        def measure(side, _=0, seconds=options.latency_seconds):
            return load(site, f"{side.url}/small", seconds, "-r", f"{options.rate}/s", "-c", 64)

        for side in sides.values():
            measure(side, seconds=1)
        taken = pairs.rounds(options.pairs, sides, measure,
                             lambda found: "{p50:.3f}/{p99:.3f}".format(**found["ms"]))
    lines = [f"at {options.rate:,}/s {'p50 ms':>30} {'p99 ms':>26} {'p50 added':>10} {'p99 added':>10}"]
    for name in sides:
        added = [median(pairs.differences(taken, name, "direct", lambda one: one["ms"][point])) for point in QUANTILES]
        lines.append(f"{name:10} " + " ".join(f"{spread((one[name]['ms'][point] for one in taken), 3):>26}"
                                             for point in QUANTILES) + "".join(f" {one:>10.3f}" for one in added))
    targets = []
    for other in ("nginx", "haproxy"):
        for point in QUANTILES:
            words, kept = pairs.not_above(taken, "headroom", other, lambda one: one["ms"][point])
            targets.append(target(f"latency: {point} at {options.rate:,}/s, headroom beside {other}",
                                  "not distinguishably above", words, kept))
    return {"rate": options.rate, "rounds": taken, "targets": targets, "lines": lines}
