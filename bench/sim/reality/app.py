"""Known work: half of the processor time, a query that takes a random time, the other half.

The query goes to PostgreSQL over a pool of connections that the threads of a process share. Both times come from the
environment, in milliseconds.
"""

import os
import queue
import random
import time

import psycopg2

CPU, WAIT = float(os.environ["CPU_MS"]) / 1e3, float(os.environ["WAIT_MS"]) / 1e3
pool = queue.LifoQueue()
for _ in range(int(os.environ["POOL"])):
    pool.put(None)


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def query(seconds):
    connection = pool.get()
    try:
        if connection is None:
            connection = psycopg2.connect(os.environ["DATABASE"])
            connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("select pg_sleep(%s)", (seconds,))
    finally:
        pool.put(connection)


def app(environ, start_response):
    spin(CPU / 2)
    query(random.expovariate(1 / WAIT))
    spin(CPU / 2)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "3")])
    return [b"ok\n"]
