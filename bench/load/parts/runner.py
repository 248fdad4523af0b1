"""Carries out the parts of a bench that were chosen, one after the other, shows what they found and keeps it.

A part is a function that is given its world and returns a dictionary: `lines` for the reader, `targets` for the summary,
and all raw data beside them. bench/load/run and bench/gateway/run differ in their parts only.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import machine

# What may go wrong outside the bench: programs that fail, machines that are too busy.
BROKEN = (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError)


class NotReady(RuntimeError):
    """Something is missing that no case of a part can do without."""


def carry_out(result, parts, options, here, world_in):
    """Runs the parts of `options.only`, each in a directory of its own, and ends the program."""
    # So that whoever stops the bench stops its servers too: each part ends its own on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    result["parts"] = {}
    print(", ".join(str(value) for value in result["machine"].values()))
    print(", ".join(result["versions"].values()))
    broken = False
    for name in options.only:
        machine.say(name)
        with tempfile.TemporaryDirectory(prefix="headroom-bench-") as directory:
            # Runs are recorded as always, in a ledger that goes away with the rest.
            os.environ["XDG_DATA_HOME"] = directory
            began, load_before = time.monotonic(), os.getloadavg()
            try:
                part = parts[name](world_in(Path(directory)))
            except BROKEN as error:
                part = {"targets": [failed(name, error)], "broken": True}
            part = json.loads(json.dumps(part).replace(directory, "DIRECTORY"))
        broken = broken or part.get("broken", False)
        part["took_s"] = time.monotonic() - began
        part["load_average"] = {"before": load_before, "after": os.getloadavg()}
        result["parts"][name] = part
        show(name, part)
    file = here / "results" / f"{options.save or time.strftime('%Y-%m-%d-%H%M%S')}.json"
    file.parent.mkdir(exist_ok=True)
    if options.merge and file.exists():
        result = merged(json.loads(file.read_text()), result)
    file.write_text(json.dumps(result, indent=1) + "\n")
    summary(result)
    print(f"raw data: {file.relative_to(machine.ROOT)}")
    sys.exit(1 if broken else 0)


def attempt(result, name, case, *arguments):
    """Carries out one case of a part; where it fails, that is said, and the other cases go on."""
    try:
        case(*arguments)
    except NotReady:
        raise
    except BROKEN as error:
        machine.say(f"  {error}")
        result["targets"].append(failed(name, error))
        result["broken"] = True


def failed(name, error):
    return machine.target(name, "to end", f"{type(error).__name__}: {error}", None)


def chosen(parts):
    """Reads --only."""
    def names(text):
        found = text.split(",")
        if unknown := [name for name in found if name not in parts]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)} unknown; there are {', '.join(parts)}")
        return found

    return names


def saving(parser):
    parser.add_argument("--save", help="name of the result in results/ (default: the date)")
    parser.add_argument("--merge", action="store_true", help="keep the other parts of the result that --save names")


def headroom_binary():
    return os.environ.get("HEADROOM") or built("headroom")


def built(package, *what):
    build = ["cargo", "build", "--release", "--package", package, *what, "--message-format", "json"]
    output = subprocess.run(build, cwd=machine.ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    executables = [json.loads(line).get("executable") for line in output.splitlines()]
    return [executable for executable in executables if executable][-1]


def merged(before, now):
    """Parts of two results; each keeps the machine's state of its own run."""
    for result in (before, now):
        for part in result["parts"].values():
            part.setdefault("measured", result["measured"])
    versions = before["versions"] | now["versions"]
    return {**now, "versions": versions, "parts": before["parts"] | now["parts"]}


def show(name, part):
    before, after = (load[0] for load in part["load_average"].values())
    print(f"\n{name} (took {part['took_s']:.0f} s; load average {before:.1f} before, {after:.1f} after)")
    for line in part.get("lines", []):
        print(f"  {line}")
    if versions := part.get("versions"):
        print(f"  {', '.join(versions.values())}")


def summary(result):
    words = {True: "met", False: "MISSED", None: "not measured"}
    print("\ntargets")
    for part in result["parts"].values():
        for one in part["targets"]:
            print(f"  {words[one['met']]:12} {one['what']}: wanted {one['wanted']}; found {one['found']}")
