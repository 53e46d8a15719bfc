"""A pool of Python processes that count what they get done, for doctor_plants.sh.

   pool.py compute|blas N FILE [CPU]    counts in FILE.0, FILE.1, ...; each process binds itself to CPU
   pool.py nested N FILE                the same with threads that call blas, in one process
"""
import ctypes
import mmap
import os
import struct
import sys
import threading

kind, workers, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def work(index):
    if len(sys.argv) > 4:
        os.sched_setaffinity(0, {int(sys.argv[4])})
    with open(f"{path}.{index}", "w+b") as file:
        file.truncate(8)
        counter = mmap.mmap(file.fileno(), 8)
    size = 144
    if kind != "compute":
        blas = ctypes.CDLL("libopenblas.so.0")
        a, b, c = ((ctypes.c_double * (size * size))() for _ in range(3))
        one, zero = ctypes.c_double(1), ctypes.c_double(0)
    done = 0
    while True:
        if kind != "compute":
            blas.cblas_dgemm(101, 111, 111, size, size, size, one, a, size, b, size, zero, c, size)
        else:
            sum(range(10000))
        done += 1
        counter[:8] = struct.pack("Q", done)


if kind == "nested":
    for i in range(workers):
        threading.Thread(target=work, args=(i,)).start()
else:
    for i in range(workers):
        if os.fork() == 0:
            work(i)
    for i in range(workers):
        os.wait()
