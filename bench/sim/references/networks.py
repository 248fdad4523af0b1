#!/usr/bin/env python3
"""Simulates twenty random open networks with Ciw, as references for the simulator.

    python3 -m venv target/references && target/references/bin/pip install ciw==3.2.7
    target/references/bin/python bench/sim/references/networks.py > bench/sim/references/networks.json

A network has services with some servers and one queue in order of arrival, and routes: requests of a route come as a
Poisson process and pass its services one after the other, with exponential service times. That is what the simulator can
express: a service without limits that calls one service after the other, an endpoint for each route; the called services
have as many threads as servers, and an exponential wait as their only work.

In the first fifteen networks all visits to a service take equally long on average (Jackson's networks: means have closed
forms); in the last five each visit has its own mean, and nothing has.

Each network is run several times. A figure is the mean over the runs, with its standard error; a quantile of a run is
that of its requests. Networks and runs have fixed seeds: the same Ciw gives the same file.
"""
import json
import math
import random
import statistics
import sys

import ciw

NETWORKS = 20
PRODUCT_FORM = 15
RUNS = 12
REQUESTS = 20_000
WARM_UP = 2_000
# Student's t for 95 % and the degrees of freedom of twelve runs.
T95 = 2.200985
QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


def network(number):
    """The network of this number: services, and routes with their rates and visits."""
    draw = random.Random(f"network {number}")
    same = number <= PRODUCT_FORM
    count = draw.randint(2, 5)
    servers = [draw.choice([1, 2, 3, 4, 8, 16]) for _ in range(count)]
    means = [round(math.exp(draw.uniform(math.log(0.005), math.log(0.2))), 4) for _ in range(count)]
    routes = []
    for _ in range(draw.randint(1, 3)):
        services = [draw.randrange(count) for _ in range(draw.randint(1, 5))]
        routes.append({"weight": draw.randint(1, 5), "services": services})
    # Every service is passed by somebody.
    passed = {service for route in routes for service in route["services"]}
    routes[0]["services"] += [service for service in range(count) if service not in passed]
    for route in routes:
        route["means"] = [
            means[service] if same else round(means[service] * draw.choice([0.25, 0.5, 1.0, 2.0]), 5)
            for service in route["services"]
        ]
    loads = [0.0] * count
    for route in routes:
        for service, mean in zip(route["services"], route["means"]):
            loads[service] += route["weight"] * mean / servers[service]
    busiest = round(draw.uniform(0.5, 0.85), 3)
    unit = busiest / max(loads)
    return {
        "name": f"n{number:02}",
        "product_form": same,
        "services": [{"servers": number} for number in servers],
        "routes": [
            {
                "per_second": round(route["weight"] * unit, 4),
                "visits": [
                    {"service": service, "mean_s": mean} for service, mean in zip(route["services"], route["means"])
                ],
            }
            for route in routes
        ],
    }


class Visits(ciw.dists.Distribution):
    """Exponential times whose mean is that of the visit that a request has come to."""

    def __init__(self, visits):
        self.visits = visits

    def sample(self, t=None, ind=None):
        visit = self.visits[len(self.visits) - 1 - len(ind.route)]
        return random.expovariate(1.0 / visit["mean_s"])


def run(described, number):
    """One run: mean and quantiles of the response time, for each service the mean wait and how many are there."""
    services, routes = described["services"], described["routes"]
    names = [f"r{place}" for place in range(len(routes))]
    nobody = [None] * len(services)
    arrivals, service, routing = {}, {}, {}
    for name, route in zip(names, routes):
        first = route["visits"][0]["service"]
        arrivals[name] = nobody[:first] + [ciw.dists.Exponential(route["per_second"])] + nobody[first + 1 :]
        service[name] = [Visits(route["visits"])] * len(services)
        rest = [visit["service"] + 1 for visit in route["visits"][1:]]
        routing[name] = ciw.routing.ProcessBased(lambda ind, simulation, rest=rest: list(rest))
    built = ciw.create_network(
        arrival_distributions=arrivals,
        service_distributions=service,
        routing=routing,
        number_of_servers=[each["servers"] for each in services],
    )
    rate = sum(route["per_second"] for route in routes)
    begin, end = WARM_UP / rate, (WARM_UP + REQUESTS) / rate
    # Long after the last request that counts, so that it has left.
    longest = sum(visit["mean_s"] for route in routes for visit in route["visits"])
    ciw.seed(1_000 * int(described["name"][1:]) + number)
    simulation = ciw.Simulation(built)
    simulation.simulate_until_max_time(end + 100.0 * longest)
    # Those that are still inside at the end came long after the last that counts.
    came, left, at_services = {}, {}, [([], [0.0]) for _ in services]
    for record in simulation.get_all_records():
        came[record.id_number] = min(came.get(record.id_number, math.inf), record.arrival_date)
        left[record.id_number] = max(left.get(record.id_number, 0.0), record.exit_date)
        waits, area = at_services[record.node - 1]
        area[0] += max(0.0, min(record.exit_date, end) - max(record.arrival_date, begin))
        if begin <= record.arrival_date < end:
            waits.append(record.waiting_time)
    counted = sorted(left[each] - came[each] for each in came if begin <= came[each] < end)
    figures = {"mean": statistics.fmean(counted)}
    for name, share in QUANTILES.items():
        figures[name] = counted[min(len(counted) - 1, math.ceil(share * len(counted)) - 1)]
    there = [(statistics.fmean(waits), area[0] / (end - begin)) for waits, area in at_services]
    return figures, there


def figure(values):
    """The mean over runs, with its standard error and its 95 % interval."""
    mean = statistics.fmean(values)
    error = statistics.stdev(values) / math.sqrt(len(values))
    half = T95 * error
    return {name: float(f"{value:.6g}") for name, value in
            (("mean", mean), ("standard_error", error), ("low", mean - half), ("high", mean + half))}


def main():
    networks = []
    for number in range(1, NETWORKS + 1):
        described = network(number)
        runs = [run(described, each) for each in range(RUNS)]
        described["response_s"] = {name: figure([figures[name] for figures, _ in runs]) for name in runs[0][0]}
        for place, service in enumerate(described["services"]):
            service["wait_s"] = figure([there[place][0] for _, there in runs])
            service["in_system"] = figure([there[place][1] for _, there in runs])
        networks.append(described)
        print(described["name"], described["response_s"]["mean"], file=sys.stderr, flush=True)
    origin = {
        "by": f"Ciw {ciw.__version__}",
        "script": "bench/sim/references/networks.py",
        "runs": RUNS,
        "requests_a_run": REQUESTS,
        "warm_up_requests": WARM_UP,
        "confidence": 0.95,
    }
    json.dump({"origin": origin, "networks": networks}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
