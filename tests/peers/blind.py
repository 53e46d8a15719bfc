#!/usr/bin/env python3
"""Blind diagnosis: plants causes into jobs, and asks contend doctor for the cause.

   blind.py N [NAME...]      N rounds of each cause and of each healthy job, or of those named, in random order
   blind.py --table FILE...  the confusion matrix of these records, as Markdown

The look knows the pids of a job and nothing else. Each trial, of 4 seconds, is one line of JSON on stdout, written at its
end; none is repeated or left out. SIGINT and SIGTERM end the trial's job too; the matrix sums all FILEs up.
A trial starts once other programs use less than BOUND of the CPUs, and a hypervisor steals less of the time in use, or after
BLIND_LIMIT seconds. The matrix shows trials in which they stayed below it during the look, and sums the rest up. BLIND_SEED
sets order and sizes, else random.
CONTEND_BINARY, CONTEND_JOB, CONTEND_BUSY and CONTEND_FAKE_DRIVER are those of the tests. Needs two CPUs, root,
cgroup version 1, and Debian's redis-server and python3-numpy. TMPDIR has to be on a disk.
"""
import gc
import json
import math
import mmap
import os
import pickle
import queue
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

BOUND, QUIET_S, SETTLE_S, WATCH_S = 0.1, 0.5, 1, 2
LIMIT_S = float(os.environ.get("BLIND_LIMIT", "60"))
CGROUPS = "/sys/fs/cgroup"
PYTHON = "/usr/bin/python3"
CPUS = sorted(os.sched_getaffinity(0))
FIRST, SECOND = CPUS[0], CPUS[-1]


# Jobs in Python, started as `blind.py --job NAME ARGS`.

def burn(s):
    end = time.thread_time() + s
    while time.thread_time() < end:
        pass


def work(s, rest=0.0):
    while True:
        burn(s)
        time.sleep(rest)


def spread(n, target, *args):
    for _ in range(int(n)):
        threading.Thread(target=target, args=args, daemon=True).start()


def job_interpreter(threads):
    spread(threads, work, 1)
    time.sleep(300)


def job_saver():
    """A thread pickles, again and again, and the loop beside it takes short steps."""
    state = [float(i) for i in range(1000000)]

    def save():
        while True:
            pickle.dumps(state)

    spread(1, save)
    work(0.002, 0.001)


def job_thread_loaders(loaders):
    items = queue.Queue(8)

    def load():
        while True:
            burn(0.004)
            items.put(bytes(1000))

    spread(loaders, load)
    while True:
        items.get()
        burn(0.0005)


def feed(load, loaders):
    """A trainer takes batches from loaders, which are processes."""
    reader, writer = os.pipe()
    for i in range(int(loaders)):
        if os.fork() == 0:
            while True:
                load(i)
                os.write(writer, bytes(1000))
    while True:
        os.read(reader, 1000)
        burn(0.001)


def job_loaders(loaders):
    feed(lambda _: burn(0.02), loaders)


def job_readers(path, loaders):
    file, at = os.open(path, os.O_RDONLY), [0]

    def load(i):
        os.pread(file, 1 << 20, (at[0] * int(loaders) + i << 20) % os.fstat(file).st_size)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        at[0] += 1
        burn(0.01)

    feed(load, loaders)


def job_collector():
    """Two ranks meet after each step; one collects its garbage for a third of a second, again and again."""
    gc.disable()
    ends = socket.socketpair()
    rank = 0 if os.fork() else 1
    heap = [[i, [i]] for i in range(1500000 * rank)]
    for step in range(1 << 30):
        burn(0.005)
        if heap and step % 40 == 0:
            gc.collect()
        ends[rank].send(b"x")
        ends[rank].recv(1)


def job_rereader(path):
    """More pages than its cgroup may hold."""
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    while True:
        sum(data[at] for at in range(0, len(data), 4096))
        burn(0.02)


def job_files(path):
    """Writes 8 MiB/s that nobody waits for, and reads what is cached."""
    while True:
        with open(path, "w+b") as file:
            for _ in range(8):
                file.write(os.urandom(1 << 20))
                time.sleep(0.1)
            file.seek(0)
            while file.read(1 << 20):
                burn(0.005)


# Plants. Each starts a job.

class Trial:
    def __init__(self, scratch, rng):
        self.scratch, self.rng, self.started, self.groups = scratch, rng, [], []
        self.wrap, self.environ, self.asked, self.stop = [], {}, 2, threading.Event()

    def path(self, name):
        return os.path.join(self.scratch, name)

    def start(self, *command, within=None, on=None, **environ):
        env = {name: value for name, value in os.environ.items() if not name.startswith("O")}
        if on is not None:  # by a shell, as a user would
            command = ("sh", "-c", f'taskset -c {on} "$@"; :', "-", *command)
        if within:
            command = ("sh", "-c", f'echo $$ >{within}/cgroup.procs && exec "$@"', "-", *command)
        self.started.append(subprocess.Popen(command, env={**env, **environ}, start_new_session=True,
                                             preexec_fn=lambda: signal.alarm(60),  # in case that this process is killed
                                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def python(self, name, *args, **options):
        self.start(PYTHON, os.path.abspath(__file__), "--job", name, *map(str, args), **options)

    def count(self, *args, **options):
        self.start(os.environ["CONTEND_JOB"], *args, f"count={self.path('count')}{len(self.started)}", **options)

    def group(self, controller, name, value):
        path = tempfile.mkdtemp(prefix="contend-", dir=f"{CGROUPS}/{controller}")
        self.groups.append(path)
        with open(f"{path}/{controller}.{name}", "w") as file:
            file.write(str(value))
        return path

    def file(self, mib):
        path = self.path(f"data{mib}")
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.writelines(os.urandom(1 << 20) for _ in range(mib))
                os.fsync(file.fileno())
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return path

    def end(self):
        self.stop.set()
        for child in self.started:
            os.killpg(child.pid, signal.SIGKILL)  # not waited for yet, so the group is its own
            child.wait()
        time.sleep(0.2 if self.groups else 0)
        for group in self.groups:
            os.rmdir(group)


def oversubscription(t):
    threads = t.rng.choice((1, 2, 4, 8))  # 1: two teams of the default size
    for _ in range(2 if threads == 1 else 1):
        t.count("omp", OMP_NUM_THREADS=str(len(CPUS) * threads))


def shared_core(t):
    for _ in range(t.rng.choice((2, 3))):
        t.count("compute", on=FIRST)


def loader_disk(t):
    device = os.stat(t.scratch).st_dev
    limit = f"{os.major(device)}:{os.minor(device)} {t.rng.choice((8, 16, 32)) << 20}"
    t.python("readers", t.file(512), 2, within=t.group("blkio", "throttle.read_bps_device", limit))


def spin_for_gpu(t):
    driver = t.path("libcuda.so.1")
    with open(driver, "wb") as file:
        file.write(bytes(4096))
    t.start(os.environ["CONTEND_BUSY"], f"map={driver}")
    t.count("compute", "threads=2")
    t.environ = {"FAKE_GPU": f"pid={t.started[0].pid}", "CONTEND_LIBNVML": os.environ["CONTEND_FAKE_DRIVER"]}


def neighbour(t):
    t.count("compute", on=FIRST)
    t.start(os.environ["CONTEND_BUSY"], f"threads={t.rng.choice((1, 2, 4))}", on=FIRST)  # else it may take the other CPU alone
    t.asked = 1


def steal(t):
    """Doctor reads a /proc/stat in which a part of the busy time is stolen: only a hypervisor can steal."""
    part, fake = t.rng.choice((0.3, 0.5, 0.7)), t.path(f"stat{t.rng.random()}")

    def write():
        with open("/proc/stat") as file:
            lines = [line.split() for line in file]
        for words in lines:
            if words[0].startswith("cpu"):
                stolen = int(int(words[1]) * part)
                words[1], words[8] = str(int(words[1]) - stolen), str(int(words[8]) + stolen)
        with open(fake, "r+" if os.path.exists(fake) else "w") as file:
            file.write("".join(" ".join(words) + "\n" for words in lines))

    def keep():
        while not t.stop.wait(0.02):
            write()

    write()
    spread(1, keep)
    t.wrap = ["unshare", "-m", "sh", "-c", f'mount --bind {fake} /proc/stat && exec "$@"', "-"]
    t.count("compute", on=SECOND)


def server(t):
    port = str(t.rng.randrange(20000, 30000))
    t.start("redis-server", "--port", port, "--save", "")
    t.start("sh", "-c", f"sleep 0.5; exec redis-cli -p {port} -r -1 -i 0.05 ping")


def some_python_threads(t):
    t.python(*t.rng.choice((("saver",), ("interpreter", 2), ("interpreter", 8))))


# Cause: what plants it, and the ids that name it. None: contend has no check for it.
CAUSES = {
    "oversubscription": (oversubscription, {"more_threads_than_cpus"}),
    "narrow mask": (lambda t: t.count("compute", f"threads={t.rng.choice((2, 3, 4))}", on=FIRST), {"narrow_mask"}),
    "shared core": (shared_core, {"masks_overlap"}),
    "quota": (lambda t: t.count("compute", f"threads={t.rng.choice((1, 2))}",
                                within=t.group("cpu", "cfs_quota_us", t.rng.choice((30000, 50000, 80000)))),
              {"throttled", "team_over_quota"}),
    "loader short of CPU": (lambda t: t.python("loaders", len(CPUS)), {"slow_loaders"}),
    "loader short of disk": (loader_disk, {"storage"}),
    "interpreter lock": (some_python_threads, {"interpreter_lock"}),
    "threads as loaders": (lambda t: t.python("thread_loaders", t.rng.choice((2, 4, 6))), {"interpreter_lock"}),
    "one lock": (lambda t: t.count("lock", f"threads={t.rng.choice((3, 4, 6))}"), {"convoy"}),
    "garbage collection": (lambda t: t.python("collector"), None),
    "spinning for a GPU": (spin_for_gpu, {"spin_wait"}),
    "neighbour": (neighbour, {"run_queue"}),
    "steal (fake)": (steal, {"steal"}),
    "memory limit": (lambda t: t.python("rereader", t.file(256), within=t.group(
        "memory", "limit_in_bytes", t.rng.choice((48, 96)) << 20)), {"memory_pressure"})}
HEALTHY = {
    "Python loop": lambda t: t.start(PYTHON, "-c", "while True: pass"),
    "numpy": lambda t: t.start(PYTHON, "-c", "import numpy\na = numpy.random.rand(400, 400)\nwhile True: a @ a",
                                OPENBLAS_NUM_THREADS="1"),
    "OpenMP": lambda t: t.count("omp", OMP_NUM_THREADS=str(len(CPUS)), OMP_WAIT_POLICY="passive"),
    "redis": server,
    "pipeline": lambda t: t.start("sh", "-c", "seq 1000000000 | tr 1-5 a-e | gzip -1 >/dev/null; :"),
    "xz": lambda t: t.start("sh", "-c", 'while :; do xz -T1 -3 -c "$0" >/dev/null; done', t.file(16)),
    "files": lambda t: t.python("files", t.path("data")),
    "sleep": lambda t: t.count("sleep")}


# Trials.

def busy_s():
    """Seconds of CPU time: others' (all but this process and its descendants), stolen by a hypervisor, used, and all there is."""
    with open("/proc/stat") as file:
        words = [int(x) for x in file.readline().split()[1:9]]
    parents, used, own = {}, {}, {os.getpid()}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                rest = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(pid)], used[int(pid)] = int(rest[1]), sum(map(int, rest[11:15]))
    for _ in range(8):
        own |= {pid for pid, parent in parents.items() if parent in own}
    busy = sum(words) - words[3] - words[4]
    return busy - sum(used.get(pid, 0) for pid in own), words[7], busy, sum(words)


def share_of_others(then):
    """Of all CPU time that of other programs and of a hypervisor; or of the time in use what a hypervisor stole, if that is more."""
    others, stolen, busy, total = (b - a for a, b in zip(then, busy_s()))
    return max(others / max(total, 1), stolen / max(busy, 1), 0)


def look(t):
    """The label of the first finding, and all of them."""
    options = [word for child in t.started[:t.asked] for word in ("--pid", str(child.pid))]
    command = [*t.wrap, os.environ["CONTEND_BINARY"], "doctor", "--json", "--time", f"{WATCH_S}s", *options]
    ran = subprocess.run(command, env={**os.environ, **t.environ}, capture_output=True, text=True, timeout=120, check=False)
    if ran.returncode > 1:
        return "failed", [ran.stderr.strip()]
    found = json.loads(ran.stdout)["findings"]
    labels = ["steal" if f["subject"] == "hypervisor" else f["id"] for f in found]
    return labels[0] if labels else "nothing", [f"{f['severity']} {f['id']}: {f['evidence']}" for f in found]


def run(name, scratch, rng):
    began, others = time.monotonic(), 1
    while others >= BOUND and time.monotonic() - began < LIMIT_S:
        then = busy_s()
        time.sleep(QUIET_S)
        others = share_of_others(then)
    t = Trial(scratch, rng)
    try:
        (CAUSES[name][0] if name in CAUSES else HEALTHY[name])(t)
        time.sleep(SETTLE_S)
        then = busy_s()
        first, found = look(t)
        others = share_of_others(then)
    finally:
        t.end()
    return {"planted": name, "first": first, "others": round(others, 3), "found": found}


# The table.

def rate(trials, z=1.96):
    n, right = len(trials), sum(map(is_right, trials))
    p, d = right / n, 1 + z * z / n
    middle, half = (p + z * z / 2 / n) / d, z / d * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
    return f"{right} of {n}: {100 * p:.3g}% ({max(100 * (middle - half), 0):.3g}-{min(100 * (middle + half), 100):.3g})"


def is_right(trial):
    expected = CAUSES.get(trial["planted"], (None, {"nothing"}))[1]
    return trial["first"] in (expected or {"nothing"})


def table(trials):
    """Of those in which other programs used less than BOUND during the look, and the sum of the rest."""
    sums = {"**all causes**": [], "**all healthy jobs**": [], "**beside other programs**": []}
    print("| planted | right | first finding |\n| --- | --- | --- |")
    for name in (*CAUSES, *HEALTHY):
        all_its = [t for t in trials if t["planted"] == name]
        its = [t for t in all_its if t["others"] < BOUND]
        counts = sorted(((sum(t["first"] == first for t in its), first) for first in {t["first"] for t in its}), reverse=True)
        has_check = name in HEALTHY or CAUSES[name][1]
        if has_check:
            sums["**all healthy jobs**" if name in HEALTHY else "**all causes**"] += its
            sums["**beside other programs**"] += [t for t in all_its if t not in its]
        if its:
            print(f"| {name} | {rate(its) if has_check else 'no check'} | {', '.join(f'`{f}` {n}' for n, f in counts)} |")
    for name, its in sums.items():
        print(f"| {name} | {rate(its) if its else ''} | |")


def main(args):
    if args[0] == "--job":
        globals()["job_" + args[1]](*args[2:])
    if args[0] == "--table":
        return table([json.loads(line) for name in args[1:] for line in open(name)])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    rng = random.Random(os.environ.get("BLIND_SEED"))
    names = args[1:] or [*CAUSES, *HEALTHY]
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(int(args[0])):
            for name in rng.sample(names, len(names)):
                print(json.dumps(run(name, scratch, rng)), flush=True)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
