"""Do requests leave when they are due? Against a bare timer loop, measured in turns with it on the same core.

Two witnesses: headroom's own lateness (actual start - intended start), and the service's record of arrivals, which has
the service's own wake-up in it. The service's view is the worse one, and is not judged but for the rate.
"""

import json

from .generators import Headroom
from .machine import median, run, say, spread, target
from .servers import sample_service
from .stall import arrivals, quantile

RATES = (1_000, 20_000)


def pacing(world):
    options = world.options
    result = {"runs": {}, "targets": [], "lines": [
        f"{'rate':>8} {'timer loop: late p99 µs':>26} {'headroom: late p99 µs':>26} {'ratio':>22} "
        f"{'gap error p99 µs: timer, service':>34}"]}
    for rate in RATES:
        turns = [turn(world, rate, options.pacing_seconds) for _ in range(options.pacing_turns)]
        result["runs"][str(rate)] = turns
        ratios = [one["headroom"]["late_us"]["p99"] / one["timer_loop"]["late_us"]["p99"] for one in turns]
        off = max(max(abs(one["rate_sent"] / rate - 1), abs(one["rate_arrived"] / rate - 1)) for one in turns)
        bare = spread((one["timer_loop"]["late_us"]["p99"] for one in turns), 1)
        ours = spread((one["headroom"]["late_us"]["p99"] for one in turns), 1)
        gaps = (median(one["timer_loop"]["gap_error_us"]["p99"] for one in turns),
                median(one["service"]["gap_error_us"]["p99"] for one in turns))
        result["lines"].append(f"{rate:>8} {bare:>26} {ours:>26} {spread(ratios):>22} {gaps[0]:>20.1f}, {gaps[1]:.1f}")
        result["targets"] += [
            target(f"pacing: p99 of lateness at {rate}/s, headroom / bare timer loop", "<= 2", spread(ratios),
                   median(ratios) <= 2),
            target(f"pacing: rate over the run at {rate}/s, sent and arrived", "within 0.1 %", f"{off:.3%} off", off <= 1e-3),
        ]
    return result


def turn(world, rate, seconds):
    bare = json.loads(run([world.timer_loop, rate, seconds]).text)
    record = world.directory / "record.csv"
    headroom = Headroom(world.headroom, world.directory)
    with sample_service(world.headroom, "--record", record) as url:
        report = json.loads(run(headroom.open(url, rate, world.options.connections, seconds, "--arrival-header")).text)
    late = {point: value * 1e3 for point, value in report["pacing"]["late_ms"].items() if isinstance(value, float)}
    at = [arrival for _, (arrival, _) in sorted(arrivals(record).items())]
    gaps = sorted(abs(after - before - 1e9 / rate) / 1e3 for before, after in zip(at, at[1:]))
    say(f"  {rate}/s: late p99 {late['p99']:.1f} µs, timer loop {bare['late_us']['p99']:.1f} µs")
    return {
        "timer_loop": bare,
        "headroom": {"late_us": late, "burst_1ms": report["pacing"]["burst_1ms"], "validity": report["validity"]},
        "service": {"gap_error_us": {"p50": quantile(gaps, 0.5), "p99": quantile(gaps, 0.99), "max": gaps[-1]}},
        "rate_sent": report["pacing"]["count"] / seconds,
        "rate_arrived": (len(at) - 1) / (max(at) - min(at)) * 1e9,
    }
