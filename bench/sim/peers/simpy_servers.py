"""M/M/10 at 8 of 10 busy in SimPy: prints customers for each second of processor time, and the mean wait."""

import random
import sys
import time

import simpy

customers = int(sys.argv[1])
rng = random.Random(1)
waited = 0.0


def customer(env, servers):
    global waited
    came = env.now
    with servers.request() as turn:
        yield turn
        waited += env.now - came
        yield env.timeout(rng.expovariate(1.0))


def source(env, servers):
    for _ in range(customers):
        yield env.timeout(rng.expovariate(8.0))
        env.process(customer(env, servers))


env = simpy.Environment()
env.process(source(env, simpy.Resource(env, capacity=10)))
began = time.process_time()
env.run()
print(customers / (time.process_time() - began), waited / customers)
