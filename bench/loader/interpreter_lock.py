# contend's benchmark `interpreter_lock`: `contend` embeds this text and gives it to an interpreter.
#
#   python3 -c TEXT held|released|none BYTES SECONDS
#
# One thread launches: a little work in Python every millisecond. Another thread maps BYTES of
# shared memory with all its pages and unmaps it, again and again: with the interpreter's lock
# (held), as a destructor does, or without the lock (released). With "none" only the first thread
# runs. Prints the 99th percentile and the maximum of the times from one launch to the next,
# launches a second, and the median time of an unmap; times in ms.
import ctypes
import mmap
import statistics
import sys
import threading
import time

unmap, size, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
library = ctypes.CDLL(None, use_errno=True)
unmapping = ctypes.PyDLL(None) if unmap == "held" else library
library.mmap.restype = ctypes.c_void_p
library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
unmapping.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
touched = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0x8000)
over = False
unmaps = []


def destroy():
    while not over:
        memory = library.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, touched, -1, 0)
        if memory == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "mmap")
        since = time.perf_counter()
        unmapping.munmap(memory, size)
        unmaps.append(1e3 * (time.perf_counter() - since))


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
    return sorted(gaps), len(gaps) / (last - begin)


destroyer = threading.Thread(target=destroy)
if unmap != "none":
    destroyer.start()
gaps, launches = launch()
over = True
if unmap != "none":
    destroyer.join()
if unmap == "none" or unmaps: # empty: the thread failed
    print(gaps[int(0.99 * len(gaps))], gaps[-1], launches, statistics.median(unmaps or [float("nan")]))
