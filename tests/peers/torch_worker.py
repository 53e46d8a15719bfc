"""One plain PyTorch worker: preprocess a batch, copy it, train a small network on it.

torch_worker.py SECONDS [LOG]: waits until the time GO (seconds of the epoch), then prints its steps
per second; LOG gets a line each step. What `contend run pipeline` is held against: element-wise operations, reductions and a small
product on a float batch of the default's size, eager, OpenMP threads as they come. On PyTorch 2.11
that is 15 parallel regions a step, 1.2 ms of one thread's work each.
"""

import os
import sys
import time

import torch

ROWS, COLS = 2048, 512

torch.manual_seed(1)
raw = torch.randint(0, 255, (ROWS, COLS), dtype=torch.uint8)
weights = torch.randn(COLS, 64) * 0.05
mean, std = torch.rand(COLS), torch.rand(COLS) + 0.5


def preprocess():
    x = raw.to(torch.float32)
    x = x / 255
    x = x - mean
    x = x / std
    x = x.clamp(-3, 3)
    x = x - x.mean(1, keepdim=True)
    x = x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-5)
    product = x @ weights
    return torch.log1p(x.abs()) * torch.sign(x), product


device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
network = torch.nn.Sequential(
    torch.nn.Linear(COLS, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 64)
).to(device)
optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
pinned = torch.empty(ROWS, COLS).pin_memory()


def step():
    x, _ = preprocess()
    pinned.copy_(x)
    loss = network(pinned.to(device, non_blocking=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()


step()
while time.time() < float(os.environ.get("GO", 0)):
    time.sleep(0.001)
log = open(sys.argv[2], "a", buffering=1) if len(sys.argv) > 2 else None
steps, start = 0, time.perf_counter()
while time.perf_counter() - start < float(sys.argv[1]):
    step()
    steps += 1
    if log:
        print("step", steps, file=log)
print("%.4f" % (steps / (time.perf_counter() - start)), flush=True)
