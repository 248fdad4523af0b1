"""A service for gunicorn: WORK is how many times a request hashes a kilobyte, WAIT how many milliseconds it waits."""

import hashlib
import os
import time

WORK = int(os.environ.get("WORK", "1000"))
WAIT = float(os.environ.get("WAIT", "0")) / 1000
BYTES = b"x" * 1024


def app(_environ, start_response):
    for _ in range(WORK):
        hashlib.sha256(BYTES).digest()
    if WAIT:
        time.sleep(WAIT)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "3")])
    return [b"ok\n"]
