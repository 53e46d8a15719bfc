# contend's benchmark `interpreter_lock`: `contend` embeds this text and gives it to an interpreter.
#
#   python3 -c TEXT held|released|none BYTES SECONDS none|thread|process
#
# One thread launches: a little work in Python every millisecond. Another thread maps BYTES of
# shared memory with all its pages and unmaps it, again and again: with the interpreter's lock
# (held), as a destructor does, or without the lock (released). Last, who pickles 50,000 objects
# again and again, as an asynchronous save does: a thread, or a process of its own. With "none"
# nobody does. Prints the 99th percentile and the maximum of the times from one launch to the next,
# launches a second, the median time of an unmap, and saves a second; times in ms.
import ctypes
import mmap
import os
import pickle
import signal
import statistics
import sys
import threading
import time

unmap, size, seconds, saver = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
library = ctypes.CDLL(None, use_errno=True)
unmapping = ctypes.PyDLL(None) if unmap == "held" else library
library.mmap.restype = ctypes.c_void_p
library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
unmapping.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
touched = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0x8000)
over = False
unmaps = []
saves = ctypes.c_uint64.from_buffer(mmap.mmap(-1, 8)) # shared with the process that saves
state = [(f"layer.{i}.weight", i, (i, i)) for i in range(0 if saver == "none" else 50000)]


def destroy():
    while not over:
        memory = library.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, touched, -1, 0)
        if memory == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "mmap")
        since = time.perf_counter()
        unmapping.munmap(memory, size)
        unmaps.append(1e3 * (time.perf_counter() - since))


def save():
    while not over:
        pickle.dumps(state)
        saves.value += 1


def start_process():
    child = os.fork()
    if not child:
        library.prctl(1, signal.SIGKILL) # PR_SET_PDEATHSIG: at the end of this interpreter
        save()
    return child


def launch():
    gaps = []
    begin = last = time.perf_counter()
    while last < begin + seconds:
        time.sleep(0.001)
        for _ in range(1000):
            pass
        now = time.perf_counter()
        gaps.append(1e3 * (now - last))
        last = now
    return sorted(gaps), len(gaps) / (last - begin), saves.value / (last - begin)


child = start_process() if saver == "process" else None
threads = [threading.Thread(target=destroy)] * (unmap != "none") + [threading.Thread(target=save)] * (saver == "thread")
for thread in threads:
    thread.start()
gaps, launches, rate = launch()
over = True
for thread in threads:
    thread.join()
if child:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
if unmap == "none" or unmaps: # empty: the thread failed
    print(gaps[int(0.99 * len(gaps))], gaps[-1], launches, statistics.median(unmaps or [float("nan")]), rate)
