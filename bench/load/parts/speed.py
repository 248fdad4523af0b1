"""Processor time per request, side by side: closed, open, tls and http2.

Generators take turns, so that whatever else the machine does meets each of them; each round gives one ratio per peer.
A run that a server's or another program's trouble spoilt is an error, and ends the part.
"""

from pathlib import Path

from .generators import PEERS, H2load, Headroom, Wrk, present
from .machine import median, run, say, spread, target
from .servers import nginx


def sample(generator, command):
    done = run(command)
    answered = generator.answered(done.text)
    if not answered:
        raise RuntimeError(f"no answers: `{' '.join(map(str, command))}`")
    return {
        "requests": answered,
        "requests_per_s": answered / done.wall_s,
        "user_s": done.user_s,
        "system_s": done.system_s,
        "wall_s": done.wall_s,
        "peak_mb": done.peak_bytes / 1e6,
        "cpu_s_per_million": done.cpu_s / answered * 1e6,
    }


def rounds(count, commands):
    """`count` rounds of all commands, a dictionary of name to (generator, command)."""
    taken = []
    for number in range(1, count + 1):
        taken.append({name: sample(*of) for name, of in commands.items()})
        costs = ", ".join(f"{name} {found['cpu_s_per_million']:.2f}" for name, found in taken[-1].items())
        say(f"  {number}: {costs}")
    return taken


def ratios(taken, ours, theirs):
    return [one[ours]["cpu_s_per_million"] / one[theirs]["cpu_s_per_million"] for one in taken]


def costs(taken):
    """One line a generator: seconds of processor time per million requests, requests a second, memory."""
    lines = [f"{'':28} {'CPU s per million':>26} {'requests/s':>12} {'peak MB':>9}"]
    for name in taken[0]:
        of = [one[name] for one in taken]
        lines.append(f"{name:28} {spread(one['cpu_s_per_million'] for one in of):>26} "
                     f"{median(one['requests_per_s'] for one in of):>12,.0f} {median(one['peak_mb'] for one in of):>9.1f}")
    return lines


def judged(what, taken, ours, theirs, most):
    found = ratios(taken, ours, theirs)
    return target(what, f"<= {most}", spread(found, 3), median(found) <= most)


def record(taken, commands, url):
    def words(command):  # where a program stood on this machine is nobody's business
        return " ".join([Path(str(command[0])).name, *(str(part) for part in command[1:])]).replace(url, "URL")

    shown = {name: words(command) for name, (_, command) in commands.items()}
    return {"commands": shown, "rounds": taken}


def closed(world):
    """headroom and wrk in pairs, then every peer that is here, in rounds with headroom."""
    options = world.options
    peers, missing = present(PEERS, world.directory)
    headroom = Headroom(world.headroom, world.directory)
    wrk = next((peer for peer in peers if isinstance(peer, Wrk)), None)
    result = {"missing": missing, "versions": {one.name: one.version() for one in [headroom, *peers]}, "targets": []}
    lines = []
    with nginx(world.directory) as server:
        url = server.url("http")
        command = {one.name: (one, one.closed(url, options.connections, options.seconds)) for one in [headroom, *peers]}
        sample(headroom, headroom.closed(url, options.connections, 1))  # warms the server's memory and the caches
        if wrk:
            pair = {name: command[name] for name in ("headroom", "wrk")}
            taken = rounds(options.pairs, pair)
            result["wrk"] = record(taken, pair, url)
            result["targets"].append(judged("closed: CPU per request, headroom / wrk", taken, "headroom", "wrk", 0.90))
            lines += costs(taken)
        others = {name: of for name, of in command.items() if name != "wrk"}
        for name in dead(peers, url, options.connections):
            missing.append(f"{name} (does not work here)")
            others.pop(name, None)
        taken = rounds(options.rounds, others)
        result["peers"] = record(taken, others, url)
        result["targets"] += [judged(f"closed: CPU per request, headroom / {name}", taken, "headroom", name, 1.0)
                              for name in others if name != "headroom"]
        lines += costs(taken)
    result["lines"] = lines + ([f"not here: {', '.join(missing)}"] if missing else [])
    return result


def dead(peers, url, connections):
    """The names of the peers that do not work here: they are named, and nothing ends for them."""
    for peer in peers:
        try:
            sample(peer, peer.closed(url, connections, 1))
        except (RuntimeError, ValueError, KeyError, AttributeError) as error:
            say(f"  {peer.name} does not work here: {error!r}")
            yield peer.name


def open_rate(world):
    """headroom at 80 % of its closed rate, beside wrk as fast as it goes."""
    options, headroom, peers = world.options, Headroom(world.headroom, world.directory), present([Wrk], world.directory)[0]
    if not peers:
        return {"targets": [target("open: CPU per request, headroom -r / wrk", "<= 1.0", "wrk is not here", None)]}
    with nginx(world.directory) as server:
        url = server.url("http")
        fastest = [sample(headroom, headroom.closed(url, options.connections, 2))["requests_per_s"] for _ in range(3)]
        rate = int(median(fastest) * 0.8)
        commands = {
            "headroom -r": (headroom, headroom.open(url, rate, options.connections, options.seconds)),
            "wrk": (peers[0], peers[0].closed(url, options.connections, options.seconds)),
        }
        taken = rounds(options.pairs, commands)
        what = f"open: CPU per request, headroom -r {rate}/s (80 % of its closed rate) / wrk"
        kept = [one["headroom -r"]["requests"] / (rate * options.seconds) for one in taken]
        return {
            **record(taken, commands, url),
            "rate": rate,
            "targets": [judged(what, taken, "headroom -r", "wrk", 1.0)],
            "lines": [*costs(taken), f"answered / scheduled at {rate}/s: {spread(kept, 4)}"],
        }


def tls(world):
    """HTTP/1.1 with keep-alive over TLS 1.3."""
    options, headroom = world.options, Headroom(world.headroom, world.directory)
    peers, missing = present([H2load, Wrk], world.directory)
    with nginx(world.directory) as server:
        url = server.url("tls")
        commands = {"headroom": (headroom, headroom.closed(url, options.connections, options.seconds, "-k"))}
        commands |= {one.name: (one, one.closed(url, options.connections, options.seconds)) for one in peers}
        taken = rounds(options.pairs, commands)
        targets = [judged("tls: CPU per request, headroom / h2load --h1", taken, "headroom", "h2load", 1.0)] \
            if "h2load" in commands else []
        return {**record(taken, commands, url), "missing": missing, "targets": targets, "lines": costs(taken)}


def http2(world):
    """HTTP/2 over TLS and in clear text, with 10 and with 100 streams on a connection."""
    options, headroom = world.options, Headroom(world.headroom, world.directory)
    peers, missing = present([H2load], world.directory)
    if not peers:
        return {"missing": missing, "targets": [target("http2: headroom / h2load", "<= 1.5", "h2load is not here", None)]}
    result = {"targets": [], "lines": [], "runs": {}}
    with nginx(world.directory) as server:
        for form in ("h2c", "h2"):
            for streams in (10, 100):
                url, connections = server.url(form), max(1, options.connections // (streams // 10))
                flags = ["--http2", "--streams", streams, *(["-k"] if form == "h2" else [])]
                commands = {
                    "headroom": (headroom, headroom.closed(url, connections, options.seconds, *flags)),
                    "h2load": (peers[0], peers[0].closed(url, connections, options.seconds, "-m", streams)),
                }
                name = f"{form}, {connections} connections of {streams} streams"
                say(f"  {name}")
                taken = rounds(options.pairs, commands)
                result["runs"][name] = record(taken, commands, url)
                result["targets"].append(judged(f"http2: CPU per request, headroom / h2load, {name}", taken,
                                                "headroom", "h2load", 1.5))
                result["lines"] += [name, *costs(taken)]
    return result
