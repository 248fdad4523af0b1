"""M/M/10 at 8 of 10 busy in Ciw: prints customers for each second of processor time, and the mean wait."""

import sys
import time

import ciw

customers = int(sys.argv[1])
network = ciw.create_network(
    arrival_distributions=[ciw.dists.Exponential(rate=8.0)],
    service_distributions=[ciw.dists.Exponential(rate=1.0)],
    number_of_servers=[10],
)
ciw.seed(1)
simulation = ciw.Simulation(network)
began = time.process_time()
simulation.simulate_until_max_time(customers / 8.0)
spent = time.process_time() - began
records = simulation.get_all_records()
print(len(records) / spent, sum(record.waiting_time for record in records) / len(records))
