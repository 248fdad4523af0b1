"""A service that stands still for a second in every five: does the generator tell what its users would have met?

The service keeps a record of arrivals and departures. headroom puts the number of each arrival into a header, so that
each departure is joined with the instant at which its request was due: number / rate after the run's beginning. The
beginning is found from the record itself: no request can arrive before it is due, so the least of (arrival - due) over
all requests is the beginning, up to the shortest way through loopback (tens of microseconds).
"""

import csv
import json

from .generators import Fortio, Headroom, K6, Oha, OhaCorrected, Vegeta, VegetaUnbounded, Wrk2, present
from .machine import run, say, target
from .servers import sample_service

LENGTH_S, EVERY_S = 1, 5
# What a user meets who comes at any time: a fifth of them wait for the rest of a stall, evenly from 0 to 1 s.
EXPECTED_MS = {"p90": 500.0, "p99": 950.0}
PEERS = [Wrk2, OhaCorrected, VegetaUnbounded, Oha, K6, Vegeta, Fortio]


def stall(world):
    options = world.options
    rate, seconds, connections = options.stall_rate, options.stall_seconds, options.connections
    result = {"rate": rate, "seconds": seconds, "expected_ms": EXPECTED_MS, "headroom": {}, "peers": {}, "targets": []}
    result["lines"] = [f"{'':28} {'p90 ms':>9} {'p99 ms':>9}   (a user's: about 500 and 950)"]
    for bound in (connections, 0):
        found = joined(world, rate, seconds, bound)
        name = f"headroom -c {bound}"
        result["headroom"][name] = found
        said, true = found["said_ms"], found["true_ms"]
        result["lines"] += [f"{name:28} {said['p90']:>9.1f} {said['p99']:>9.1f}   joined by arrival: "
                            f"{true['p90']:.1f}, {true['p99']:.1f}; {found['joined']:,} joined; {found['validity']['verdict']}"]
        off = max(abs(said[point] / true[point] - 1) for point in ("p90", "p99"))
        result["targets"] += [
            target(f"stall: {name}, p90 and p99 against the service's record", "within 2 %", f"{off:.2%} off", off <= 0.02),
            target(f"stall: {name}, arrivals accounted for", f"{rate * seconds:,}", f"{found['accounted']:,}, "
                   f"{found['joined']:,} of them in the record", found["accounted"] == found["joined"] == rate * seconds),
        ]
    peers, result["missing"] = present(PEERS, world.directory)
    for peer in peers:
        try:
            with sample_service(world.headroom, "--stall", f"{LENGTH_S}s/{EVERY_S}s") as url:
                done = run(peer.open(url, rate, connections, seconds), may_end_with=(0, 99))
            p90, p99 = peer.times(done.text)
        except (RuntimeError, ValueError, KeyError, AttributeError) as error:
            say(f"  {peer.name} does not work here: {error!r}")
            result["missing"].append(f"{peer.name} (does not work here)")
            continue
        result["peers"][peer.name] = {"p90": p90, "p99": p99, "peak_mb": done.peak_bytes / 1e6}
        result["lines"].append(f"{peer.name:28} {p90:>9.1f} {p99:>9.1f}   {done.peak_bytes / 1e6:.0f} MB at its peak")
    if result["missing"]:
        result["lines"].append(f"not here: {', '.join(result['missing'])}")
    return result


def joined(world, rate, seconds, bound):
    """A run of headroom: what it says, and what the service's record says of the same arrivals."""
    record = world.directory / "record.csv"
    headroom = Headroom(world.headroom, world.directory)
    with sample_service(world.headroom, "--stall", f"{LENGTH_S}s/{EVERY_S}s", "--record", record) as url:
        done = run(headroom.open(url, rate, bound, seconds, "--arrival-header"))
    report = json.loads(done.text)
    rows = arrivals(record)
    start = beginning(rows, rate)
    times = sorted((departure - start) / 1e6 - number * 1e3 / rate for number, (_, departure) in rows.items())
    say(f"  -c {bound}: {len(rows):,} joined")
    return {
        "said_ms": {point: report["response_time_ms"][point] for point in ("p90", "p99")},
        "true_ms": {"p90": quantile(times, 0.90), "p99": quantile(times, 0.99)},
        "accounting": report["accounting"],
        "accounted": sum(count for fate, count in report["accounting"].items() if fate != "scheduled"),
        "joined": len(rows),
        "connections_opened": report["connections_opened"],
        "validity": report["validity"],
        "peak_mb": done.peak_bytes / 1e6,
    }


def arrivals(record):
    """Arrival and departure in ns, by the generator's number of the arrival."""
    with open(record, newline="") as file:
        return {int(row["generator_arrival"]): (int(row["arrival_ns"]), int(row["departure_ns"]))
                for row in csv.DictReader(file) if row["generator_arrival"]}


def beginning(rows, rate):
    return min(arrival - number * 1e9 / rate for number, (arrival, _) in rows.items())


def quantile(ordered, part):
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]
