# Loaders of contend's scenario `loader`, in Python: `contend` embeds this text and passes it to an
# interpreter. The loops run in Python, so each thread needs the interpreter's lock for them.
#
#   python3 -c TEXT KIND COUNT MEMORY FREE READY BEGIN ROWS COLS WORKED ALPHA SOURCES SLOTS STRIDE
#
# KIND: "loops" (COUNT threads), "free" (the same in an interpreter without a lock) or "pytorch" (a
# DataLoader; each token in BEGIN starts one, with its workers and prefetch factor). MEMORY, FREE,
# READY: descriptors of bench/loader/load.h; BEGIN: of bench/loader/load.h. SOURCES, SLOTS and
# STRIDE count floats. Exit codes: bench/loader/python.h.
import array
import mmap
import os
import struct
import sys
import threading

NO_TORCH, HAS_LOCK = 3, 4
END, AT_REST, BEGIN = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
TOKEN = struct.Struct("=II")


class Batches:
    """The raw batches and the slots, as floats."""

    def __init__(self, words):
        self.memory_fd, self.free, self.ready, self.begin = (int(word) for word in words[:4])
        self.rows, self.cols, self.worked = (int(word) for word in words[4:7])
        self.alpha = float(words[7])
        self.sources, self.slots, self.stride = (int(word) for word in words[8:11])
        self.memory = mmap.mmap(self.memory_fd, 0)
        self.floats = memoryview(self.memory).cast("f")

    def over(self):
        return self.memory[0] != 0

    def slot(self, number):
        first = self.slots + number * self.stride
        return self.floats[first:first + self.rows * self.cols]

    def make(self, batch, target):
        """The first WORKED rows: z-scores, smoothed along the row. The other rows: copied."""
        cols, alpha = self.cols, self.alpha
        first = self.sources + batch % 4 * self.stride
        for row in range(self.worked):
            values = self.floats[first + row * cols:first + (row + 1) * cols].tolist()
            mean = 0.0
            for value in values:
                mean += value
            mean /= cols
            square = 0.0
            for value in values:
                square += (value - mean) * (value - mean)
            scale = (cols / square) ** 0.5 if square > 0 else 0.0
            last = (values[0] - mean) * scale
            smooth = []
            for value in values:
                last = alpha * ((value - mean) * scale) + (1 - alpha) * last
                smooth.append(last)
            target[row * cols:(row + 1) * cols] = array.array("f", smooth)
        done = self.worked * cols
        target[done:] = self.floats[first + done:first + self.rows * cols]


def read_token(fd):
    token = os.read(fd, TOKEN.size)
    return TOKEN.unpack(token) if len(token) == TOKEN.size else (END, 0)


def load(batches):
    while True:
        slot, batch = read_token(batches.free)
        if slot == END or batches.over():
            return
        batches.make(batch, batches.slot(slot))
        os.write(batches.ready, TOKEN.pack(slot, batch))


def give_up(failed):
    """Ends the process: else the worker would wait for ever for the failed thread's batch."""
    sys.__excepthook__(failed.exc_type, failed.exc_value, failed.exc_traceback)
    os._exit(1)


def load_by_threads(words, count):
    """Each thread has its own views: without a lock, slicing a shared view may find it released."""
    threading.excepthook = give_up
    each = [Batches(words) for _ in range(count)]
    threads = [threading.Thread(target=load, args=(batches,), daemon=True) for batches in each]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def end_with_parent(_worker=0):
    """prctl(PR_SET_PDEATHSIG, SIGKILL): a PyTorch worker must not outlive its parent process."""
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)


def load_by_pytorch(batches):
    import warnings
    warnings.simplefilter("ignore")
    try:
        import torch
        from torch.utils.data import DataLoader, Dataset
    except ImportError:
        sys.exit(NO_TORCH)

    class Endless(Dataset):
        def __len__(self):
            return 1 << 30

        def __getitem__(self, batch):
            floats = bytearray(4 * batches.rows * batches.cols)
            batches.make(batch, memoryview(floats).cast("f"))
            return torch.frombuffer(floats, dtype=torch.float32)

    os.write(batches.ready, TOKEN.pack(AT_REST, 0))
    while True:
        command, how = read_token(batches.begin)
        if command != BEGIN:
            return
        loader = iter(DataLoader(Endless(), batch_size=None, num_workers=how & 0xFFFF,
                                 prefetch_factor=how >> 16, multiprocessing_context="fork",
                                 worker_init_fn=end_with_parent))
        for batch, made in enumerate(loader):
            slot, _ = read_token(batches.free)
            if slot == END or batches.over():
                break
            torch.frombuffer(batches.slot(slot), dtype=torch.float32).copy_(made)
            os.write(batches.ready, TOKEN.pack(slot, batch))
        del loader, made
        os.write(batches.ready, TOKEN.pack(AT_REST, 0))


def main():
    kind, count = sys.argv[1], int(sys.argv[2])
    words = sys.argv[3:]
    if kind == "free" and getattr(sys, "_is_gil_enabled", lambda: True)():
        sys.exit(HAS_LOCK)
    if kind == "pytorch":
        load_by_pytorch(Batches(words))
    else:
        load_by_threads(words, count)


main()
