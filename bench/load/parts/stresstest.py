"""The stresstest account's table, by one command, against a service that is set up to resemble its service.

The account (a small Go service at 100 millicores, k6, 60 s a row) published the four rows below. The preset of the
sample service takes its capacity from the row of 100 users and its time alone from the row of 1 user; what it makes of
10 and of 1,000 users follows, and is not the account's: there the cost of a request fell as users grew.
"""

import json

from .machine import run, target
from .servers import sample_service

PUBLISHED = {1: (128.86, 9.67), 10: (983.65, 25.08), 100: (1539.6, 174.03), 1000: (2316.3, 1160.0)}
MADE_OF, WITHIN = (1, 100), 0.05


def stresstest(world):
    seconds, ledger = world.options.stage_seconds, world.directory / "stresstest.sqlite"
    stages = [flag for users in PUBLISHED for flag in ("--stage", f"{seconds}s:{users}")]
    with sample_service(world.headroom, "--preset", "stresstest") as url:
        command = [world.headroom, "load", f"{url}health", *stages]
        text = run([*command, "--ledger", ledger]).text
    recorded = json.loads(run([world.headroom, "show", "r1", "--json", "--ledger", ledger]).text)
    lines = [f"{'users':>6} {'requests/s':>11} {'published':>10} {'p95 ms':>9} {'published':>10}"]
    rows, targets = [], []
    for (users, (rate, p95)), stage in zip(PUBLISHED.items(), recorded["stages"], strict=True):
        found = stage["completed"] / (stage["until_s"] - stage["from_s"])
        time = stage["response_time_ms"]["p95"]
        rows.append({"users": users, "requests_per_s": found, "p95_ms": time, "published_requests_per_s": rate,
                     "published_p95_ms": p95})
        lines.append(f"{users:>6} {found:>11.1f} {rate:>10.1f} {time:>9.2f} {p95:>10.2f}")
        if users in MADE_OF:
            off = found / rate - 1
            targets.append(target(f"stresstest: requests/s of {users} users, a row that the preset is made of",
                                  f"{rate} within {WITHIN:.0%}", f"{found:.1f} ({off:+.1%})", abs(off) <= WITHIN))
    readings = [line.strip() for line in text.splitlines() if "-bound" in line]
    wanted = ["users-bound", "queue-bound", "queue-bound"]
    found = [next(word for word in ("users-bound", "queue-bound") if word in line) for line in readings]
    targets.append(target("stresstest: how headroom reads the steps between the rows", ", ".join(wanted),
                          ", ".join(found), found == wanted))
    shown = " ".join(map(str, command)).replace(str(world.headroom), "headroom").replace(url, "URL/")
    return {"command": shown, "rows": rows, "summary": text, "targets": targets, "lines": [shown, *lines, *readings]}
