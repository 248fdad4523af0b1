"""The load generators: how each is told to do the same, and how its answers are counted from its own output.

Each is called as its manual says for most speed on one core, with what it records by default.
"""

import json
import re
from pathlib import Path

from .machine import find, run, version

K6_SCRIPT = """
import http from "k6/http";
export const options = {options};
export default function () {{ http.get("{url}"); }}
export function handleSummary(data) {{ return {{ stdout: JSON.stringify(data.metrics) }}; }}
"""


class Generator:
    """A program and its commands; `text` is what it printed, `directory` is free for its files."""

    name = version_flag = None

    def __init__(self, program, directory):
        self.program, self.directory = program, Path(directory)

    def version(self):
        said = version(self.name, self.program, *self.version_flag.split())
        return said if self.name.split()[0] in said else f"{self.name} {said}"

    def closed(self, url, connections, seconds):
        """The command for so many connections as fast as they are answered."""
        raise NotImplementedError

    def open(self, url, rate, connections, seconds):
        """The command for a rate; None where it has none."""
        return None

    def answered(self, text):
        """How many answers with 200 there were."""
        raise NotImplementedError

    def times(self, text):
        """Its p90 and p99 in milliseconds."""
        raise NotImplementedError


class Headroom(Generator):
    name, version_flag = "headroom", "--version"

    def closed(self, url, connections, seconds, *flags):
        return [self.program, "load", url, "-c", connections, "-d", f"{seconds}s", "--workers", 1, "--json", *flags]

    def open(self, url, rate, connections, seconds, *flags):
        return self.closed(url, connections, seconds, "-r", f"{rate}/s", *flags)

    def answered(self, text):
        report = json.loads(text)
        account = report["accounting"]
        if account["answered"] != report["status"].get("200", 0) or account["failed"] or account["timed_out"]:
            raise RuntimeError(f"headroom met errors: {account} {report['failures']}")
        return account["answered"]

    def times(self, text):
        response = json.loads(text)["response_time_ms"]
        return response["p90"], response["p99"]


class Wrk(Generator):
    name, version_flag = "wrk", "-v"

    def closed(self, url, connections, seconds):
        return [self.program, "-t", 1, "-c", connections, "-d", f"{seconds}s", url]

    def answered(self, text):
        if "Non-2xx" in text or "Socket errors" in text:
            raise RuntimeError(f"wrk met errors:\n{text}")
        return int(re.search(r"(\d+) requests in", text).group(1))


class Wrk2(Wrk):
    name = "wrk2"

    def open(self, url, rate, connections, seconds):
        return [*self.closed(url, connections, seconds), "-R", rate, "--latency"]

    def times(self, text):
        found = (re.search(rf"{point}\.000%\s+([\d.]+)(us|ms|s|m)\b", text) for point in (90, 99))
        return tuple(float(hit.group(1)) * {"us": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}[hit.group(2)] for hit in found)


class Oha(Generator):
    name, version_flag = "oha", "--version"

    def closed(self, url, connections, seconds):
        return [self.program, "--no-tui", "--output-format", "json", "-c", connections, "-z", f"{seconds}s", url]

    def open(self, url, rate, connections, seconds):
        return [*self.closed(url, connections, seconds)[:-1], "-q", rate, url]

    def answered(self, text):
        return json.loads(text)["statusCodeDistribution"].get("200", 0)

    def times(self, text):
        points = json.loads(text)["latencyPercentiles"]
        return points["p90"] * 1e3, points["p99"] * 1e3


class OhaCorrected(Oha):
    name = "oha --latency-correction"

    def open(self, url, rate, connections, seconds):
        return [*super().open(url, rate, connections, seconds)[:-1], "--latency-correction", url]


class Bombardier(Generator):
    name, version_flag = "bombardier", "--version"

    def closed(self, url, connections, seconds):
        return [self.program, "-c", connections, "-d", f"{seconds}s", "-o", "json", "-p", "r", "-l", url]

    def answered(self, text):
        return json.loads(text)["result"]["req2xx"]


class Hey(Generator):
    name, version_flag = "hey", "-h"

    def closed(self, url, connections, seconds):
        return [self.program, "-cpus", 1, "-c", connections, "-z", f"{seconds}s", url]

    def answered(self, text):
        return int(re.search(r"\[200\]\s+(\d+) responses", text).group(1))

    def version(self):
        return "hey (it has no version)"


class Fortio(Generator):
    name, version_flag = "fortio", "version"

    def closed(self, url, connections, seconds, rate=0):
        return [self.program, "load", "-quiet", "-json", "-", "-c", connections, "-qps", rate, "-t", f"{seconds}s",
                "-p", "90,99", "-allow-initial-errors", url]

    def open(self, url, rate, connections, seconds):
        return self.closed(url, connections, seconds, rate)

    def answered(self, text):
        return self.report(text)["RetCodes"].get("200", 0)

    def times(self, text):
        points = self.report(text)["DurationHistogram"]["Percentiles"]
        return tuple(next(p["Value"] for p in points if p["Percentile"] == wanted) * 1e3 for wanted in (90, 99))

    def report(self, text):
        return json.loads(text[text.index("{"):])


class Vegeta(Generator):
    name, version_flag = "vegeta", "-version"

    def closed(self, url, connections, seconds, rate=0):
        (self.directory / "targets").write_text(f"GET {url}\n")
        return [self.program, "attack", f"-rate={rate}", f"-max-workers={connections}", f"-connections={connections}",
                f"-duration={seconds}s", f"-targets={self.directory}/targets", f"-output={self.directory}/vegeta.bin"]

    def open(self, url, rate, connections, seconds):
        return self.closed(url, connections, seconds, rate)

    def report(self):
        return json.loads(run([self.program, "report", "-type=json", self.directory / "vegeta.bin"]).text)

    def answered(self, text):
        return self.report()["status_codes"].get("200", 0)

    def times(self, text):
        latencies = self.report()["latencies"]
        return latencies["90th"] / 1e6, latencies["99th"] / 1e6


class VegetaUnbounded(Vegeta):
    name = "vegeta, unbounded"

    def open(self, url, rate, connections, seconds):
        command = self.closed(url, connections, seconds, rate)
        return [part for part in command if not str(part).startswith(("-max-workers", "-connections"))]


class K6(Generator):
    name, version_flag = "k6", "version"

    def script(self, url, options):
        options["summaryTrendStats"] = ["p(90)", "p(99)", "max"]
        path = self.directory / f"script-{len(list(self.directory.glob('script-*')))}.js"
        path.write_text(K6_SCRIPT.format(options=json.dumps(options), url=url))
        return [self.program, "run", "--quiet", "--no-usage-report", path]

    def closed(self, url, connections, seconds):
        return self.script(url, {"vus": connections, "duration": f"{seconds}s"})

    def open(self, url, rate, connections, seconds):
        load = {"executor": "constant-arrival-rate", "rate": rate, "timeUnit": "1s", "duration": f"{seconds}s",
                "preAllocatedVUs": connections, "maxVUs": connections}
        return self.script(url, {"scenarios": {"load": load}})

    def answered(self, text):
        metrics = json.loads(text)
        failed = metrics["http_req_failed"]["values"]["passes"]
        return metrics["http_reqs"]["values"]["count"] - failed

    def times(self, text):
        values = json.loads(text)["http_req_duration"]["values"]
        return values["p(90)"], values["p(99)"]


class H2load(Generator):
    name, version_flag = "h2load", "--version"

    def closed(self, url, connections, seconds, *flags):
        flags = flags or ("--h1",)
        return [self.program, *flags, "-t", 1, "-c", connections, "-D", seconds, url]

    def answered(self, text):
        good, *bad = map(int, re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text).groups())
        if any(bad):
            raise RuntimeError(f"h2load met errors:\n{text}")
        return good


class Ab(Generator):
    name, version_flag = "ab", "-V"

    def closed(self, url, connections, seconds):
        # It keeps a record of each request, for which it makes room before it begins.
        return [self.program, "-q", "-k", "-c", connections, "-t", seconds, "-n", 5_000_000, url]

    def answered(self, text):
        return int(re.search(r"Complete requests:\s+(\d+)", text).group(1))


PEERS = [Wrk, Oha, Bombardier, H2load, K6, Vegeta, Fortio, Hey, Ab]


def present(kinds, directory):
    """Those of them that this machine has, and the names of the others."""
    have, missing = [], []
    for kind in kinds:
        program = find(kind.name.split()[0].rstrip(","))
        have.append(kind(program, directory)) if program else missing.append(kind.name)
    return have, missing
