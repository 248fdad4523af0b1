"""A shadow that misbehaves: `shadow.py HOW PORT`, a server on loopback until it is stopped.

    answers                  100 bytes, at once, on kept connections
    never answers            reads, and says nothing
    answers a byte a second  its head alone takes more than a minute
    resets                   the connection, as soon as a request comes
    returns 1 GB             as fast as it is taken
"""

import asyncio
import contextlib
import socket
import struct
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n" + b"0123456789" * 10
ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000000\r\n\r\n"
PIECE = b"0123456789abcdef" * 4096
NO_LINGER = struct.pack("ii", 1, 0)


async def answers(_, writer):
    writer.write(ANSWER)
    await writer.drain()


async def never_answers(reader, _):
    while await reader.read(65536):
        pass


async def answers_a_byte_a_second(_, writer):
    for byte in ANSWER:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(1)


async def resets(_, writer):
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    writer.transport.abort()


async def returns_1_gb(_, writer):
    writer.write(ENDLESS)
    for sent in range(0, 1_000_000_000, len(PIECE)):
        writer.write(PIECE[:1_000_000_000 - sent])
        await writer.drain()


MODES = {
    "answers": answers,
    "never answers": never_answers,
    "answers a byte a second": answers_a_byte_a_second,
    "resets": resets,
    "returns 1 GB": returns_1_gb,
}


async def serve(how, port):
    async def connection(reader, writer):
        # A request of the bench has no body; whatever breaks the connection ends it.
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                await MODES[how](reader, writer)
        writer.transport.abort()

    server = await asyncio.start_server(connection, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
