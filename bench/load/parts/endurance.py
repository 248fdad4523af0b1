"""Many connections at once, and a long run: what they cost in memory and processor time."""

import json
import resource
import subprocess
import time

from .generators import Headroom
from .machine import GENERATOR_CORE, pinned, process_cpu, process_memory, say, target
from .servers import nginx

WANTED = 50_000
MEMORY = 1_000_000_000


def connections(world):
    """Users who think between requests, each on a connection that is held open, over several local addresses."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted = world.options.held
    held = min(wanted, hard - 100)
    workers = max(2, -(-held // int(hard * 0.7)))
    # A port of one local address is one connection; the usual range has 28,000 of them.
    local = [f"127.0.1.{number + 1}" for number in range(-(-held // 10_000))]
    flags = [flag for address in local for flag in ("--local-address", address)]
    with nginx(world.directory, workers=workers, connections=min(hard - 100, held + 1_000)) as server:
        headroom = Headroom(world.headroom, world.directory)
        command = headroom.closed(server.url("http"), held, world.options.held_seconds, "--think", "3s", *flags)
        child = subprocess.Popen(pinned(GENERATOR_CORE, command), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        peak, most = 0, 0
        while child.poll() is None:
            try:
                peak = max(peak, process_memory(child.pid)[1])
                most = max(most, server.active())
            except (OSError, AttributeError):  # it has ended, or the server has no descriptor for this question
                pass
            time.sleep(0.25)
        report = json.loads(child.stdout.read())
    found = f"{most:,} held at once, {peak / 1e6:.0f} MB at the peak"
    if held < wanted:
        found += f"; the hard limit of descriptors here is {hard:,}, so {held:,} is the most that can be asked for"
    say(f"  {found}")
    whole = most >= held and peak < MEMORY
    return {
        "asked": held, "hard_limit": hard, "held": most, "peak_bytes": peak, "bytes_per_connection": peak / max(most, 1),
        "local_addresses": local, "accounting": report["accounting"], "failures": report["failures"],
        "connections_opened": report["connections_opened"], "validity": report["validity"],
        "targets": [target(f"connections: {wanted:,} held open, or the most that the host allows", "under 1 GB", found, whole)],
        "lines": [f"{found}; {peak / max(most, 1):,.0f} bytes each; account {report['accounting']}"],
    }


def soak(world):
    """A modest rate for a long time: memory is flat, and a request costs at the end what it cost at the beginning."""
    rate, seconds = world.options.soak_rate, world.options.soak_seconds
    with nginx(world.directory) as server:
        headroom = Headroom(world.headroom, world.directory)
        command = headroom.open(server.url("http"), rate, world.options.connections, seconds)
        child = subprocess.Popen(pinned(GENERATOR_CORE, command), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        began, samples = time.monotonic(), []
        step = min(5.0, seconds / 20)
        while child.poll() is None:
            try:
                now, cpu, (memory, _) = time.monotonic() - began, process_cpu(child.pid), process_memory(child.pid)
                samples.append({"at_s": now, "cpu_s": cpu, "rss_bytes": memory})
            except (OSError, AttributeError):
                break
            time.sleep(step - (time.monotonic() - began) % step)
        report = json.loads(child.stdout.read())
        child.wait()
    # The first moments load the program; what it is for begins after them.
    samples = [one for one in samples if step <= one["at_s"] <= seconds]
    window = min(60.0, seconds / 5)
    first = cost(samples, samples[0]["at_s"], window, rate)
    last = cost(samples, samples[-1]["at_s"] - window, window, rate)
    minutes = [cost(samples, at, window, rate) for at in steps(samples[0]["at_s"], samples[-1]["at_s"] - window, window)]
    noise = max(minutes) / min(minutes) - 1
    settled = [one["rss_bytes"] for one in samples if one["at_s"] >= seconds / 10]
    grown = settled[-1] - settled[0]
    account = report["accounting"]
    flat = grown <= 1 << 20
    say(f"  {first:.2f} -> {last:.2f} s per million, {grown / 1024:.0f} KiB more memory")
    return {
        "rate": rate, "seconds": seconds, "samples": samples, "accounting": account, "validity": report["validity"],
        "cpu_s_per_million": {"first": first, "last": last, "all": minutes},
        "targets": [
            target(f"soak: {rate:,}/s for {seconds} s, memory", "flat (under 1 MiB more after the first tenth)",
                   f"{settled[0] / 1e6:.2f} to {settled[-1] / 1e6:.2f} MB", flat),
            target(f"soak: CPU per request, last {window:.0f} s / first", f"1 within the noise ({noise:.1%} between windows)",
                   f"{last / first:.3f}", abs(last / first - 1) <= max(noise, 0.05)),
            target("soak: arrivals accounted for", f"{rate * seconds:,} answered", f"{account['answered']:,} answered",
                   account["answered"] == rate * seconds),
        ],
        "lines": [f"memory after a tenth of the time {settled[0] / 1e6:.2f} MB, at the end {settled[-1] / 1e6:.2f} MB; "
                  f"CPU s per million, window by window: {', '.join(f'{one:.2f}' for one in minutes)}"],
    }


def steps(start, end, width):
    while start <= end + 1e-9:
        yield start
        start += width


def cost(samples, start, length, rate):
    """Processor seconds per million requests between two instants, by the samples nearest to them."""
    near = [min(samples, key=lambda one: abs(one["at_s"] - at)) for at in (start, start + length)]
    return (near[1]["cpu_s"] - near[0]["cpu_s"]) / ((near[1]["at_s"] - near[0]["at_s"]) * rate) * 1e6
