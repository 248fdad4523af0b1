"""What a part measures in: instances, proxies and generators on loopback, each a child process on its core.

The proxy under test has core 0 to itself. Instances, generators and the receiver of HAProxy's log share core 1. What a
mirror needs (its thread, the shadow) has cores of its own where there are more than two; else it is on core 1 too, at
the lowest priority, so that the generator's times are those of the live answers.
"""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from load.parts.machine import GENERATOR_CORE, SERVER_CORE, TICK, find, pinned, process_memory
from load.parts.runner import NotReady
from load.parts.servers import free_port

from .proxies import INSTANCES, PROXIES

PROXY_CORE, OTHER_CORE = SERVER_CORE, GENERATOR_CORE
SPARE_CORE = 2 if os.cpu_count() > 2 else OTHER_CORE
MIRROR_CORE = 3 if os.cpu_count() > 3 else SPARE_CORE
BODIES = {"small": 100, "large": 16 * 1024}


@dataclass
class Proxy:
    """A proxy that runs."""

    name: str
    process: subprocess.Popen
    port: int
    admin: int | None = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def cpu_s(self):
        """Processor seconds so far, by thread: name and seconds."""
        return thread_cpu(self.process.pid)

    def metrics(self):
        """A gateway's metrics: a dictionary from the name with its labels to the value."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=5) as answer:
            lines = [line for line in answer.read().decode().splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def memory(self):
        """Resident bytes, now and at the peak."""
        return process_memory(self.process.pid)


class Site:
    """One part's processes; `with Site(world) as site` ends each of them."""

    def __init__(self, world):
        self.world, self.directory = world, str(world.directory)
        self.processes, self.instances, self.admin, self.log = [], [], None, None

    def __enter__(self):
        # Keeps other users' nginx workers out of nothing that they need, should this run as root.
        os.chmod(self.directory, 0o755)
        return self

    def __exit__(self, *_):
        for process in reversed(list(self.processes)):
            self.stop(process)
        if self.log:
            self.log.close()

    def write(self, name, template, **values):
        path = Path(self.directory) / name
        path.write_text(template.format(**values))
        return str(path)

    def start_instances(self, count=4):
        """One nginx that listens in so many places: to a proxy, so many instances."""
        self.instances = [free_port() for _ in range(count)]
        (Path(self.directory) / "large").write_text("0123456789abcdef" * (BODIES["large"] // 16))
        listen = "\n        ".join(f"listen 127.0.0.1:{port} backlog=4096;" for port in self.instances)
        config = self.write("instances.conf", INSTANCES, dir=self.directory, listen=listen,
                            small="0123456789" * (BODIES["small"] // 10))
        self.launch(OTHER_CORE, [find("nginx"), "-p", self.directory, "-c", config], self.instances[0])

    def start_proxy(self, name, limit=None):
        port = free_port()
        self.admin = None
        return Proxy(name, self.launch(PROXY_CORE, PROXIES[name](self, port, limit), port), port, self.admin)

    def start_gateway(self, name, template, **values):
        """A headroom gateway with a file of the part's own."""
        port = free_port()
        process = self.launch(PROXY_CORE, self.gateway(template, port, name=name, **values), port)
        return Proxy(name, process, port, self.admin)

    def gateway(self, template, port, name="headroom", **values):
        """The command of a gateway, once headroom has accepted its file; its admin port is in `self.admin` then."""
        self.admin = free_port()
        file = self.write(f"{name}.yaml", template, port=port, admin=self.admin, **values)
        checked = subprocess.run([self.world.headroom, "config", "check", file], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, timeout=20)
        if checked.returncode:
            raise NotReady(f"this headroom does not accept the gateway file:\n{checked.stdout.rstrip()}")
        return [self.world.headroom, "gateway", file]

    def launch(self, core, command, port):
        process = subprocess.Popen(pinned(core, command), cwd=self.directory, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        for _ in range(200):
            if process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                threading.Thread(target=process.stderr.read, daemon=True).start()
                return process
            except OSError:
                time.sleep(0.05)
        process.kill()
        raise RuntimeError(f"`{Path(command[0]).name}` did not start: {process.stderr.read()}")

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.processes.remove(process)

    def receiver(self):
        """The port of a receiver of HAProxy's log."""
        self.log = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=receive, args=(self.log,), daemon=True).start()
        return self.log.getsockname()[1]


def receive(listener):
    def drain(connection):
        buffer = bytearray(1 << 20)
        while connection.recv_into(buffer):
            pass

    try:
        while True:
            threading.Thread(target=drain, args=(listener.accept()[0],), daemon=True).start()
    except OSError:  # the part has ended
        return


@contextmanager
def cpu_of(proxy):
    """Fills a dictionary with the processor seconds that each kind of thread spends inside the block."""
    spent, before = {}, proxy.cpu_s()
    yield spent
    for thread, (name, seconds) in proxy.cpu_s().items():
        spent[name] = spent.get(name, 0.0) + seconds - before.get(thread, (name, 0.0))[1]


def thread_cpu(pid):
    """Of each thread of a process its name and processor seconds."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found[task.name] = ((task / "comm").read_text().strip(), task_cpu(task))
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
    return found


def task_cpu(task):
    """In nanoseconds where the kernel counts them, else in ticks (user and system)."""
    exact = task / "schedstat"
    if exact.exists():
        return int(exact.read_text().split()[0]) / 1e9
    fields = (task / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def wrk(url, connections, seconds, *flags):
    """As fast as it is answered: how many answers, and how many of them were refusals."""
    command = [find("wrk"), "-t", 1, "-c", connections, "-d", f"{seconds}s", "--timeout", "10s", *flags, url]
    command = pinned(OTHER_CORE, command)
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=seconds + 30).stdout
    if "Socket errors" in text:
        raise RuntimeError(f"wrk met errors:\n{text}")
    requests = int(re.search(r"(\d+) requests in", text).group(1))
    if not requests:
        raise RuntimeError(f"no answer in {seconds} s: {url}")
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return requests, int(refused.group(1)) if refused else 0


def load(site, url, seconds, *flags):
    """A run of `headroom load`: its report, with the quantiles of the admitted requests in milliseconds."""
    table = Path(site.directory) / "times.hgrm"
    table.unlink(missing_ok=True)
    command = [site.world.headroom, "load", *([url] if url else []), "-d", f"{seconds}s", "--workers", 1, "--json",
               "--hgrm", table, *flags]
    done = subprocess.run(pinned(OTHER_CORE, command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=seconds + 60)
    if done.returncode:
        raise RuntimeError(f"headroom load ended with {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    account = report["accounting"]
    if account["failed"] or account["timed_out"] or account["unsent"]:
        raise RuntimeError(f"headroom load met errors: {account} {report['failures']}")
    return {"accounting": account, "status": report["status"], "validity": report["validity"],
            "connections_opened": report["connections_opened"], "ms": quantiles(table)}


def quantiles(table):
    """p50, p95 and p99 from HdrHistogram's table of percentiles."""
    rows = []
    for line in table.read_text().splitlines():
        if re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+", line):
            value, share, *_ = line.split()
            rows.append((float(share), float(value)))
    found = {name: next((value for share, value in rows if share >= wanted), None)
             for name, wanted in (("p50", 0.50), ("p95", 0.95), ("p99", 0.99))}
    if None in found.values():
        raise RuntimeError("no answers to take quantiles of")
    return found
