"""The work of app.py on an event loop: other requests are served during the wait."""

import asyncio
import random

from app import CPU, WAIT, spin


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    spin(CPU / 2)
    await asyncio.sleep(random.expovariate(1 / WAIT))
    spin(CPU / 2)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
    await send({"type": "http.response.body", "body": b"ok\n"})
