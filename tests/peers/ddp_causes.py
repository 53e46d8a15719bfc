#!/usr/bin/env python3
"""A DDP rank over NCCL with a planted cause; started by torchrun from ddp_causes.sh. Rank 0 prints the median of its steps in ms."""
import gc
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    """Each sample costs CPU time: work_ms, spent in the loader's own process."""

    def __init__(self, work_ms):
        self.work_ms = work_ms

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        end = time.process_time() + self.work_ms / 1e3
        while time.process_time() < end:
            pass
        return torch.ones(1024)


def plant(cause, cpus):
    """Returns the rank's own neighbour processes."""
    if cause == "quota":
        with open(os.environ["CONTEND_GROUP"] + "/cgroup.procs", "w") as group:
            group.write(str(os.getpid()))
    elif cause == "mask":  # one CPU for all its threads, those that exist too
        for tid in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(tid), cpus[:1])
    elif cause in ("shared", "oversubscribed"):
        mine = cpus[:1] if cause == "shared" else cpus[:2]
        for tid in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(tid), mine)
        n = 2 if cause == "shared" else 8
        return [subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {mine})\nwhile True: pass"])
                for _ in range(n)]
    return []


def main():
    cause, seconds = sys.argv[1], float(sys.argv[2])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    local = int(os.environ["LOCAL_RANK"])
    cpus = sorted(os.sched_getaffinity(0))
    share = len(cpus) // world
    cpus = cpus[rank * share:(rank + 1) * share]  # ranks have CPUs of their own, so that only the planted cause differs
    os.sched_setaffinity(0, cpus)
    torch.set_num_threads(2)
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    # The cost of comms is a share of a usual step, of 20 ms on the GPU; a cause shows in a short one.
    width, samples = (4096, 1024) if cause == "none" else (1024, 16)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(
        *[torch.nn.Linear(width, width) for _ in range(8)]).cuda(), device_ids=[local])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    planted = rank == world - 1
    slow = planted and cause == "loader"
    loader = iter(DataLoader(Samples(2.0 if slow else 0.02), batch_size=16, num_workers=2))
    prepare, inputs = torch.ones(256, 1024), torch.ones(samples, width, device="cuda")
    neighbours = plant(cause, cpus) if planted else []
    begin, step, took, flag = time.time(), 0, [], torch.zeros(1, device="cuda")
    try:
        while True:
            started = time.perf_counter()
            batch = next(loader).cuda()
            for _ in range(0 if cause == "none" else 20):  # a rank's own work on a CPU
                torch.tanh(prepare)
            if planted and cause == "pause" and step % 10 == 0:
                gc.collect()
                time.sleep(0.3)
            loss = model(inputs if cause == "none" else batch).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()
            took.append(time.perf_counter() - started)
            step += 1
            if step % 20 == 0:  # all ranks end at the same step
                flag.fill_(float(time.time() - begin > seconds))
                dist.all_reduce(flag)
                if flag.item() > 0:
                    break
    finally:
        for neighbour in neighbours:
            neighbour.kill()
    if rank == 0:
        print(f"step_ms {1e3 * statistics.median(took):.4f}", flush=True)
    dist.destroy_process_group()


main()
