"""What the measurements stand on: cores, child processes with the kernel's account of them, versions."""

import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
PEERS = ROOT / "target" / "bench-peers"
SERVER_CORE, GENERATOR_CORE = 0, 1
TICK = os.sysconf("SC_CLK_TCK")


def find(tool):
    """Where a program is: installed by peers.sh, or in PATH; None where it is nowhere."""
    linked = PEERS / tool
    return str(linked) if linked.exists() else shutil.which(tool)


def pinned(core, command):
    return ["taskset", "-c", str(core), *map(str, command)]


@dataclass
class Done:
    """A child process that has ended."""

    text: str
    wall_s: float
    user_s: float
    system_s: float
    peak_bytes: int

    @property
    def cpu_s(self):
        return self.user_s + self.system_s


def run(command, core=GENERATOR_CORE, may_end_with=(0,), errors=subprocess.DEVNULL):
    """Runs a program on one core; its processor time is the kernel's account, with that of its children.

    Its peak memory is what was seen twice a second: the account's own peak has that of this program in it, which the
    child was for a moment.
    """
    began = time.monotonic()
    child = subprocess.Popen(pinned(core, command), stdout=subprocess.PIPE, stderr=errors, text=True)
    peak, ended = [0], threading.Event()
    watcher = threading.Thread(target=watch_memory, args=(child.pid, peak, ended))
    watcher.start()
    text = child.stdout.read()
    ended.set()
    watcher.join()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in may_end_with:
        raise RuntimeError(f"`{' '.join(map(str, command))}` ended with {child.returncode}")
    return Done(text, time.monotonic() - began, usage.ru_utime, usage.ru_stime, peak[0])


def watch_memory(pid, peak, ended):
    while not ended.wait(0.5):
        try:
            peak[0] = max(peak[0], process_memory(pid)[1])
        except (OSError, AttributeError):  # it has ended
            return


def process_cpu(pid):
    """Processor seconds of a running process, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def process_memory(pid):
    """Resident memory of a running process now and at its peak, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return tuple(int(re.search(rf"{key}:\s+(\d+) kB", status).group(1)) * 1024 for key in ("VmRSS", "VmHWM"))


def machine():
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "processor": cpu.group(1) if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release().split("-")[0],
        "load_average": os.getloadavg(),
    }


def version(name, program, *arguments):
    """The first line with a digit of what a program says of itself."""
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20)
    lines = [line.strip() for line in done.stdout.splitlines() if re.search(r"\d", line)]
    return lines[0].replace(str(program), name)[:80] if lines else "unknown"


def spread(values, digits=2):
    values = list(values)
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}..{max(values):.{digits}f})"


def median(values):
    return statistics.median(list(values))


def say(text):
    print(text, file=sys.stderr, flush=True)


def target(what, wanted, found, met):
    """One promise: what was wanted, what was found; `met` None where it could not be measured."""
    return {"what": what, "wanted": wanted, "found": found, "met": met}
