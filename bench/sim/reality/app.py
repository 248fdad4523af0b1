"""Known work: half of the processor time, a wait that takes a random time, the other half.

The wait is a query of PostgreSQL (DATABASE), a blocking command of Redis (REDIS), both over a pool of POOL connections that
the threads of a process share, or a sleep. Times come from the environment, in milliseconds.
"""

import os
import queue
import random
import socket
import time

CPU, WAIT = float(os.environ["CPU_MS"]) / 1e3, float(os.environ["WAIT_MS"]) / 1e3
DATABASE, REDIS = os.environ.get("DATABASE"), os.environ.get("REDIS")
pool = queue.LifoQueue()
for _ in range(int(os.environ.get("POOL", "0"))):
    pool.put(None)


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def connect():
    if DATABASE:
        import psycopg2

        connection = psycopg2.connect(DATABASE)
        connection.autocommit = True
        return connection
    return socket.create_connection(("127.0.0.1", int(REDIS)))


def query(connection, seconds):
    if DATABASE:
        with connection.cursor() as cursor:
            cursor.execute("select pg_sleep(%s)", (seconds,))
    else:
        # Blocks for this time, because the list stays empty; 0 would block without end.
        connection.sendall(b"BLPOP empty %.6f\r\n" % max(seconds, 1e-5))
        connection.recv(64)


def wait(seconds):
    if not (DATABASE or REDIS):
        return time.sleep(seconds)
    connection = pool.get()
    try:
        connection = connection or connect()
        query(connection, seconds)
    finally:
        pool.put(connection)


def app(environ, start_response):
    spin(CPU / 2)
    wait(random.expovariate(1 / WAIT))
    spin(CPU / 2)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "3")])
    return [b"ok\n"]
