#!/usr/bin/env python3
"""Results of a made-up fleet, of which it is known which machines are bad and why.

make_fleet.py OUT [--machines N] [--rows R] [--bad SHARE] [--off RATIO] [--seed S]

Writes OUT/results/NODE/RUN/{run.json,rows.csv}, and OUT/truth: "NODE FAULT" a line of the bad ones.

Good machines differ: each figure by 1 to 3% from machine to machine and by 1 to 4% from run to run,
and a machine as a whole by 0.5%. A fifth of the figures have heavy tails (Student's t with 5 degrees
of freedom), a tenth are slowed now and then (in 2% of runs, by 4% on average), and a tenth have two
modes (three in ten runs, or machines, are 8% worse). Most machines have one run, 2% have eight.

Bad ones have in turn: a figure at RATIO of what it should be, no rows of one GPU, or, over eight runs,
a figure that moves to RATIO.
"""
import argparse
import json
import math
import os
import random
import zlib

HEADER = ("run_id,scenario,placement,workers,role,bench,params,device,metric,unit,better,rounds,"
          "samples,median,ci_low,ci_high,p95,p99,min,max,status,reason\n")
DRIFT_RUNS = 8


def names():
    """(columns up to params, key, device, metric, unit, better), as many as asked for."""
    for gpu in range(8):
        for way in ("h2d", "d2h", "both"):
            for via in ("ce", "kernel", "peer"):
                for with_ in ("alone", "all"):
                    yield ("gpu_copy", f"dir={way};gpu={gpu};node=0;mem=pinned;via={via};with={with_}",
                           "copy_bandwidth", "GB/s", "higher")
        for op in ("read", "write", "copy", "scale", "add", "triad"):
            yield ("gpu_stream", f"op={op};via=kernel;with=alone;gpu={gpu}", "device_bandwidth",
                   "GB/s", "higher")
        for kind in ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8"):
            yield "gpu_matmul", f"type={kind};with=alone;gpu={gpu}", "matmul_rate", "TFLOP/s", "higher"
        for what in ("sync", "null", "empty", "graph"):
            yield ("gpu_launch", f"what={what};wait=spin;load=idle;stat=p50;gpu={gpu}",
                   "launch_latency", "us", "lower")
    for pages in ("4k", "thp"):
        for power in range(12, 31):
            yield "mem_latency", f"size={2 ** power};pages={pages}", "latency", "ns", "lower"
    for op in ("allreduce", "allgather", "reduce_scatter", "alltoall", "broadcast"):
        for power in range(3, 31):
            yield "collective", f"op={op};size={2 ** power}", "collective_latency", "us", "lower"
            yield "collective", f"op={op};size={2 ** power}", "collective_busbw", "GB/s", "higher"


class Figure:
    def __init__(self, rng, bench, key, metric, unit, better):
        self.key, self.higher = key, better == "higher"
        self.columns = (f",{bench},none,1,foreground,{bench},size=64M;time=0.5;repeat=20;seed=0;"
                        f"slots=1;{key},cuda,{metric},{unit},{better},3,3,")
        self.value = math.exp(rng.uniform(math.log(0.5), math.log(5000)))
        self.machine, self.run = rng.uniform(0.01, 0.03), rng.uniform(0.01, 0.04)
        kind = rng.random()
        self.heavy, self.slowed = kind < 0.2, 0.2 <= kind < 0.3
        self.modes = "run" if 0.3 <= kind < 0.35 else "machine" if 0.35 <= kind < 0.4 else ""

    def worse(self, by):
        return -by if self.higher else by

    def of_machine(self, rng):
        mode = self.worse(0.08) if self.modes == "machine" and rng.random() < 0.3 else 0
        return rng.gauss(0, self.machine) + mode

    def of_run(self, rng):
        noise = rng.gauss(0, 1)
        if self.heavy:  # scaled to a standard deviation of 1
            noise /= math.sqrt(rng.gammavariate(2.5, 2) / 3)
        if self.slowed and rng.random() < 0.02:
            noise += self.worse(rng.expovariate(1 / 0.04)) / self.run
        mode = self.worse(0.08) if self.modes == "run" and rng.random() < 0.3 else 0
        return noise * self.run + mode


def record(name, seed, run):
    gpus = [{"name": "NVIDIA H200"} for _ in range(8)]
    return json.dumps({
        "schema_version": 2, "status": "complete", "version": "0.1.0",
        "started": f"2026-11-{1 + run:02d}T10:00:00Z",
        "environment": {"hostname": name, "os": "Ubuntu 24.04.3 LTS"},
        "machine": {"key": f"{seed:08x}{zlib.crc32(name.encode()):08x}", "kind": "3f0c5a3f9e5b4d21",
                    "identity": "uuid",
                    "parts": {"cpu_model": "Intel(R) Xeon(R) Platinum 8480C", "packages": 2,
                              "cores": 112, "cpus": 224, "gpus": gpus}},
        "arms": [], "findings": []}, indent=1)


def write_run(path, name, figures, offsets, run, drop, rng, seed):
    os.makedirs(path)
    run_id = f"202611{1 + run:02d}T100000Z-all-{rng.getrandbits(24):06x}"
    with open(os.path.join(path, "run.json"), "w", encoding="ascii") as out:
        out.write(record(name, seed, run))
    lines = [HEADER]
    for figure, offset in zip(figures, offsets):
        if drop and drop in figure.key:
            continue
        value = figure.value * math.exp(offset + figure.of_run(rng))
        lines.append(f"{run_id}{figure.columns}{value:.9g},{value * 0.99:.9g},{value * 1.01:.9g},,,"
                     f"{value * 0.99:.9g},{value * 1.01:.9g},ok,\n")
    with open(os.path.join(path, "rows.csv"), "w", encoding="ascii") as out:
        out.writelines(lines)


def write_machine(args, rng, figures, number, fault):
    name = f"node{number:05d}"
    offsets = [figure.of_machine(rng) for figure in figures]
    common = rng.gauss(0, 0.005)
    offsets = [offset + figure.worse(common) for figure, offset in zip(figures, offsets)]
    at = rng.randrange(len(figures))
    away = figures[at].worse(-math.log(args.off))
    nruns = DRIFT_RUNS if fault == "drift" or not fault and rng.random() < 0.02 else 1
    if fault == "off":
        offsets[at] += away
    drop = f"gpu={rng.randrange(8)}" if fault == "missing" else ""
    for run in range(nruns):
        now = list(offsets)
        if fault == "drift":
            now[at] += away * run / (nruns - 1)
        write_run(os.path.join(args.out, "results", name, str(run)), name, figures, now, run, drop,
                  rng, args.seed)
    return f"{name} {fault}\n" if fault else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("out")
    parser.add_argument("--machines", type=int, default=300)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--bad", type=float, default=0.01)
    parser.add_argument("--off", type=float, default=0.6)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.makedirs(args.out)
    rng = random.Random(args.seed)
    all_names = list(names())
    rng.shuffle(all_names)
    figures = [Figure(rng, *name) for name in all_names[:args.rows]]
    nbad = round(args.machines * args.bad)
    bad = rng.sample(range(args.machines), nbad)
    fault = {number: ("off", "missing", "drift")[i % 3] for i, number in enumerate(bad)}
    with open(os.path.join(args.out, "truth"), "w", encoding="ascii") as truth:
        for number in range(args.machines):
            truth.write(write_machine(args, rng, figures, number, fault.get(number)))


if __name__ == "__main__":
    main()
