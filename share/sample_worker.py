#!/usr/bin/env python3
"""A worker to try `contend run --sample` with: preprocesses batches on the CPU, as a data loader does.

Each batch is cut into pieces, which a pool of threads compresses and hashes (both outside of
Python's lock); a batch is done when its slowest piece is. As libraries do, the pool has a thread a
CPU of the machine unless OMP_NUM_THREADS says how many. Standard library only.

    sample_worker.py [--batches N] [--items N]
"""
import argparse
import concurrent.futures
import hashlib
import os
import time
import zlib


def make_item(seed):
    """32 KiB that compress about two to one, the same in each run."""
    block = hashlib.sha256(str(seed).encode()).digest() * 8
    return b"".join(hashlib.sha256(block + bytes([i])).digest() + block[:32] for i in range(256)) * 2


def prepare(items):
    """The work of one piece of a batch."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(zlib.compress(item, 6))
    return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=24)
    parser.add_argument("--items", type=int, default=32, help="of a batch")
    args = parser.parse_args()
    threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    items = [make_item(i) for i in range(args.items)]
    pieces = [items[i::threads] for i in range(threads)]
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for batch in range(args.batches):
            list(pool.map(prepare, pieces))
            print("batch %d done" % (batch + 1), flush=True)
    elapsed = time.monotonic() - start
    print("%d threads, %.2f s, rate: %.1f items/s" % (threads, elapsed,
                                                      args.batches * args.items / elapsed))


if __name__ == "__main__":
    main()
