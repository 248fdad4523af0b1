"""Does a mirror touch live traffic? A tenth of it goes to shadows that behave and misbehave.

Two gateways before the same instances, one with a mirror and one without, are asked in turns at the same rate (open
model). Each request is a session of its own: the mirror's key is the number that the generator gives it. Compared are
the live times, the processor time of the serving threads, and the live answers' bytes; the mirror thread's own
processor time, the memory and the account of copies are reported beside them. After each turn with a mirror its last
copies come to their deadline before the next turn begins.

Where serving, load and mirror share two cores, the gateway's loop is late now and then, and its breaker on that holds
copies back: then a shadow was not tried. `--trip-at 1000` puts the breaker out of the way (milliseconds).

The mirror thread is moved off the serving core: what it costs is its own figure, and its core is a matter of deployment.
"""

import http.client
import os
import re
import sys
import time

from load.parts.machine import median, say, spread, target
from load.parts.runner import NotReady, attempt
from load.parts.servers import free_port

from . import pairs, shadow
from .site import MIRROR_CORE, OTHER_CORE, SPARE_CORE, Site, cpu_of, load

FRACTION, DEADLINE_S = 10, 1
MOST_CPU = 1.05
# Twice what the gateway lets its copies hold.
MOST_MEMORY = 128e6
# Of the copies, by the breaker on the gateway's own lag; above it the shadow was not tried.
MOST_HELD_BACK = 0.1
IDLE_PRIORITY = 19
POINTS = ("p50", "p95", "p99")
ANSWERS_COMPARED = 200

FILE = """
listen: 127.0.0.1:{port}
admin: 127.0.0.1:{admin}
workers: 1
access_log: {log}
limits: {{ connections: 4096 }}
pools:
  instances: {{ instances: [{instances}], balance: least_outstanding, idle_connections: 1024 }}
{mirror}
"""

OFF = """
routes:
  - { name: all, path_prefix: /, pool: instances }
"""

# For shadows that have to be tried however late the loop itself is; `admit_below` must not be above `trip_at`.
BREAKER = "    breaker: { trip_at: %dms }\n"

ON = """
  shadow: {{ instances: ["127.0.0.1:{shadow}"], balance: round_robin }}
mirrors:
  copies:
    pool: shadow
    fraction: {fraction}%
    methods: safe
    key: {{ header: X-Headroom-Arrival }}
    deadline: {deadline}s
{breaker}routes:
  - {{ name: all, path_prefix: /, pool: instances, mirror: copies }}
"""


def mirror(world):
    result = {"rate": world.options.rate, "fraction": FRACTION / 100, "deadline_s": DEADLINE_S,
              "trip_at_ms": world.options.trip_at or None, "runs": {}, "targets": [],
              "lines": [f"at {world.options.rate:,}/s, {FRACTION} % mirrored; differences are with - without a mirror"]}
    for how in world.options.shadows:
        say(f" a shadow that {how}")
        attempt(result, f"mirror: a shadow that {how}", beside, world, how, result)
    return result


def beside(world, how, result):
    options = world.options
    with Site(world) as site:
        site.start_instances()
        port = free_port()
        site.launch(SPARE_CORE, ["nice", "-n", IDLE_PRIORITY, sys.executable, shadow.__file__, how, port], port)
        instances = ", ".join(f'"127.0.0.1:{instance}"' for instance in site.instances)
        breaker = BREAKER % options.trip_at if options.trip_at else ""
        on = ON.format(shadow=port, fraction=FRACTION, deadline=DEADLINE_S, breaker=breaker)
        sides = {"with": site.start_gateway("with", FILE, instances=instances, mirror=on, log="with.log"),
                 "without": site.start_gateway("without", FILE, instances=instances, mirror=OFF, log="without.log")}
        move_mirror_thread(sides["with"])

        def measure(gateway, _=0, seconds=options.mirror_seconds):
            with cpu_of(gateway) as spent:
                with cpu_of(gateway) as live:
                    found = load(site, f"{gateway.url}/small", seconds, "-r", f"{options.rate}/s", "-c", 64,
                                 "--arrival-header")
                if gateway.name == "with":
                    time.sleep(DEADLINE_S + 0.3)
            million = sum(found["status"].values()) / 1e6
            serving = sum(seconds for thread, seconds in live.items() if not is_mirror(thread))
            own = sum(seconds for thread, seconds in spent.items() if is_mirror(thread))
            return {**found, "serving_cpu_s_per_million": serving / million, "mirror_cpu_s_per_million": own / million,
                    "rss_bytes": gateway.memory()[0]}

        for gateway in sides.values():
            measure(gateway, seconds=1)
        taken = pairs.rounds(options.pairs, sides, measure, lambda found: "{p50:.3f}/{p99:.3f} ms, {cpu:.1f} s".format(
            **found["ms"], cpu=found["serving_cpu_s_per_million"]))
        same = same_answers(sides)
        time.sleep(DEADLINE_S + 0.3)
        memory = {name: gateway.memory()[1] for name, gateway in sides.items()}
        copies = account(sides["with"].metrics())
    result["runs"][how] = {"rounds": taken, "same_answers": same, "peak_bytes": memory, "copies": copies}
    judge(how, taken, same, memory, copies, result)


def is_mirror(thread):
    return "mirror" in thread


def move_mirror_thread(gateway):
    """Off the serving core, and behind the generator where the two have to share a core."""
    threads = [int(thread) for thread, (name, _) in gateway.cpu_s().items() if is_mirror(name)]
    if not threads:
        raise NotReady("this part needs a gateway whose mirror has a thread of its own, with `mirror` in its name")
    for thread in threads:
        os.sched_setaffinity(thread, {MIRROR_CORE})
        if MIRROR_CORE == OTHER_CORE:
            os.setpriority(os.PRIO_PROCESS, thread, IDLE_PRIORITY)


def same_answers(sides):
    """How many of the answers through both gateways are byte for byte the same, but for the date."""
    same = 0
    connections = [http.client.HTTPConnection("127.0.0.1", side.port, timeout=5) for side in sides.values()]
    for number in range(ANSWERS_COMPARED):
        answers = []
        for connection in connections:
            connection.request("GET", "/large", headers={"X-Headroom-Arrival": f"compared {number}"})
            answer = connection.getresponse()
            head = [field for field in answer.getheaders() if field[0].lower() != "date"]
            answers.append((answer.status, head, answer.read()))
        same += answers[0] == answers[1]
    for connection in connections:
        connection.close()
    return same


def account(metrics):
    """The gateway's account of copies: how many were chosen, and what became of them."""
    of_copies = re.compile(r'headroom_mirror_(\w+?)(?:_total)?\{route="all",mirror="copies"(?:,(\w+)="(\w+)")?\}')
    copies = {}
    for sample, value in metrics.items():
        found = of_copies.fullmatch(sample)
        if found and value and not found[1].startswith(("time_ratio", "live_seconds", "shadow_seconds")):
            copies[" ".join(filter(None, (found[1], found[3])))] = value
    return copies


def ends(copies):
    """The chosen copies whose end is known, and those that are still on their way."""
    fates = ("compared", "dropped", "failed", "in_flight")
    return sum(value for name, value in copies.items() if name.split()[0] in fates)


def judge(how, taken, same, memory, copies, result):
    of, held_back = f"mirror: a shadow that {how}", copies.get("dropped tripped", 0) / max(copies.get("chosen", 0), 1)
    if held_back > MOST_HELD_BACK:
        result["lines"].append(f"{how}: not tried: the gateway was so late itself that it held back {held_back:.0%} of "
                               "the copies")

    def tried(kept):
        return kept if held_back <= MOST_HELD_BACK or kept is False else None

    for point in POINTS:
        words, kept = pairs.not_above(taken, "with", "without", lambda one: one["ms"][point])
        result["lines"].append(f"{how}: {point} {words}")
        if point != "p95":
            result["targets"].append(target(f"{of}, live {point}", "no difference", words, tried(kept)))
    found = pairs.ratios(taken, "with", "without", lambda one: one["serving_cpu_s_per_million"])
    own = spread(one["with"]["mirror_cpu_s_per_million"] for one in taken)
    more = (memory["with"] - memory["without"]) / 1e6
    result["lines"].append(f"{how}: mirror thread {own} CPU s per million live requests; peak memory "
                           f"{memory['with'] / 1e6:.1f} MB, {more:+.1f} MB")
    result["targets"] += [
        target(f"{of}, CPU of the serving threads, with / without", f"< {MOST_CPU}", spread(found, 3),
               tried(median(found) < MOST_CPU)),
        target(f"{of}, peak memory", f"under {MOST_MEMORY / 1e6:.0f} MB more", f"{more:+.1f} MB",
               tried(more < MOST_MEMORY / 1e6)),
        target(f"{of}, live answers as without a mirror", f"{ANSWERS_COMPARED}", f"{same}", same == ANSWERS_COMPARED),
        target(f"{of}, copies accounted for", f"{copies.get('chosen', 0):,.0f} chosen", f"{ends(copies):,.0f}: "
               + shown(copies), ends(copies) == copies.get("chosen", 0) > 0),
    ]


def shown(copies):
    return ", ".join(f"{name} {value:,.0f}" for name, value in copies.items())
