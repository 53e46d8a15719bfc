"""Plants jobs of many kinds, follows `doctor --apply`, and compares their rates before and after.

   apply_trials.py ROUNDS [KIND...]     prints a line a trial; exit 1: a change that was kept made a job slower

A job counts its work in a file. Rates are medians of short windows. Where a rate fell below 0.95x, the masks of before
and after are set in alternation, which tells a harm from other load. Works with any number of CPUs from two on.
"""
import glob
import math
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

BINARY, JOB = os.environ["CONTEND_BINARY"], os.environ["CONTEND_JOB"]
LOOK_S = os.environ.get("CONTEND_LOOK_S", "1.5")
CPUS = sorted(os.sched_getaffinity(0))
N = len(CPUS)
WINDOWS, WINDOW_S, LEAST = 5, 0.3, 0.95
PAIRS_LEAST, PAIRS_MOST = 12, 40


def cpu_list(cpus):
    return ",".join(map(str, cpus))


class Plant:
    """Jobs that count in files below one folder."""

    def __init__(self):
        self.folder, self.jobs, self.pids, self.group = tempfile.mkdtemp(), [], None, None

    def start(self, *args, cpus=None, before=(), **env):
        full = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "CONTEND_"))}
        command = list(before) + ([] if cpus is None else ["taskset", "-c", cpu_list(cpus)])
        command += [a.replace("COUNT", f"{self.folder}/count{len(self.jobs)}") for a in args]
        self.jobs.append(subprocess.Popen(command, env=full | env, stdout=subprocess.DEVNULL, start_new_session=True))

    def job(self, kind, *more, **options):
        self.start(JOB, kind, "count=COUNT", *more, **options)

    def all_pids(self):
        """The jobs, and what they started."""
        parents = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                parents[int(pid)] = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
        ours = {job.pid for job in self.jobs}
        for _ in range(4):
            ours |= {pid for pid, parent in parents.items() if parent in ours}
        return sorted(ours)

    def masks(self):
        masks = {}
        for pid in self.all_pids():
            for tid in map(int, os.listdir(f"/proc/{pid}/task")):
                try:
                    masks[tid] = os.sched_getaffinity(tid)
                except OSError:
                    pass
        return masks

    def pieces(self):
        counts = [open(f, "rb").read(8) for f in glob.glob(self.folder + "/count*")]
        return [struct.unpack("Q", c)[0] for c in counts if len(c) == 8]

    def rate(self, windows=WINDOWS):
        rates = []
        for _ in range(windows):
            begin, was = time.monotonic(), sum(self.pieces())
            time.sleep(WINDOW_S)
            rates.append((sum(self.pieces()) - was) / (time.monotonic() - begin))
        return statistics.median(rates)

    def end(self):
        for pid in self.all_pids():
            try:
                os.kill(pid, 9)
            except OSError:
                pass
        for job in self.jobs:
            job.wait()
        for _ in range(50 if self.group else 0):
            try:
                os.rmdir(self.group)
                break
            except OSError:
                time.sleep(0.1)
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_until(condition):
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def spinning_teams(plant):
    for _ in range(2):
        plant.job("omp", cpus=CPUS)


def passive_teams(plant):
    for _ in range(2):
        plant.job("omp", cpus=CPUS, OMP_WAIT_POLICY="passive")


def overlapping_masks(plant):
    for _ in range(max(2, N // 2)):
        plant.job("compute", cpus=CPUS[: max(1, N // 4)])


def narrow_mask(plant):
    plant.job("compute", f"threads={N}", cpus=CPUS[: N // 2])


def thread_out_of_mask(plant):
    plant.job("compute", "threads=2", cpus=CPUS[1:])
    wait_until(lambda: len(plant.masks()) == 3)
    os.sched_setaffinity(max(plant.masks()), {CPUS[0]})


def busy_beside_idle(plant):
    plant.job("compute", "threads=3", f"on={CPUS[0]}")


def crowd(plant):
    for _ in range(min(3 * N, 64)):  # doctor takes so many --pid
        plant.job("compute")


def healthy_pinned(plant):
    for cpu in CPUS:
        plant.job("compute", cpus=[cpu])


def healthy_sized(plant):
    for _ in range(2):
        plant.job("omp", OMP_NUM_THREADS=str(N // 2))


def quota(plant):
    root = "/sys/fs/cgroup"
    try:
        if os.path.exists(root + "/cpu/cpu.cfs_quota_us"):
            plant.group = tempfile.mkdtemp(prefix="contend-", dir=root + "/cpu")
            open(plant.group + "/cpu.cfs_quota_us", "w").write("50000")
        else:
            plant.group = tempfile.mkdtemp(prefix="contend-", dir=root)
            open(plant.group + "/cpu.max", "w").write("50000 100000")
    except OSError:
        if plant.group:
            os.rmdir(plant.group)
        plant.group = None
        return False
    plant.job("compute", "threads=2", before=["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', plant.group])
    return True


def leader_alone(plant):
    plant.job("compute", "threads=2")
    wait_until(lambda: len(plant.masks()) == 3)
    os.sched_setaffinity(plant.jobs[0].pid, {CPUS[0]})


def light_server(plant):
    for _ in range(2):
        plant.job("sleep")


def inherited_mask(plant):
    plant.start("sh", "-c", '"$@"; :', "-", JOB, "compute", "threads=3", "count=COUNT", cpus=CPUS[:1])


def narrowed_pool(plant):
    plant.start("python3", "tests/lib/pool.py", "compute", "3", "COUNT", str(CPUS[0]))


KINDS = {f.__name__: f for f in (spinning_teams, passive_teams, overlapping_masks, narrow_mask, thread_out_of_mask,
                                 busy_beside_idle, crowd, healthy_pinned, healthy_sized, quota, leader_alone,
                                 light_server, inherited_mask, narrowed_pool)}


def set_masks(masks):
    for tid, cpus in masks.items():
        try:
            os.sched_setaffinity(tid, cpus)
        except OSError:
            pass


def check_again(plant, then, now):
    """The gain of the change by pairs of both sets of masks, ABBA, and whether it is a loss beyond the noise: below
    0.95x, and its 95% interval is below 1."""
    logs = []
    for pair in range(PAIRS_MOST):
        rates = {}
        for changed in (pair % 2 == 1, pair % 2 == 0):
            set_masks(now if changed else then)
            time.sleep(0.1)
            rates[changed] = max(plant.rate(1), 1e-9)
        logs.append(math.log(rates[True] / rates[False]))
        if len(logs) < PAIRS_LEAST:
            continue
        mean, half = statistics.mean(logs), 2.2 * statistics.stdev(logs) / math.sqrt(len(logs))
        if mean + half < 0 or mean - half > math.log(LEAST):
            break
    return math.exp(mean), mean < math.log(LEAST) and mean + half < 0


def changes(then, now):
    """Such as "0 -> 0,1 (2 threads)"."""
    texts = [f"{cpu_list(sorted(cpus))} -> {cpu_list(sorted(now[tid]))}" for tid, cpus in then.items()
             if now.get(tid, cpus) != cpus]
    return "; ".join(f"{text} ({texts.count(text)} threads)" for text in sorted(set(texts)))


def run_trial(name):
    """What happened ('refused' or 'bound'), the ratio of the rates, whether it is a harm, and remarks."""
    plant = Plant()
    try:
        if KINDS[name](plant) is False:
            return "left out", None, False, ""
        if not wait_until(lambda: plant.pieces() and all(plant.pieces())):
            return "broken", None, True, "does not count"
        time.sleep(0.5)
        before, masks = plant.rate(), plant.masks()
        command = [BINARY, "doctor", "--time", LOOK_S, "--apply", "--yes", "--state", plant.folder + "/state"]
        command += sum((["--pid", str(job.pid)] for job in plant.jobs), [])
        done = subprocess.run(command, capture_output=True, text=True)
        bound = plant.masks()
        ratio = plant.rate() / max(before, 1e-9)
        kept, changed = os.path.exists(plant.folder + "/state"), changes(masks, bound)
        if (changed and not kept) or (kept and done.returncode) or done.returncode not in (0, 1):
            return "wrong", ratio, True, f"exit {done.returncode}, {changed}: {done.stdout}{done.stderr}"
        if not kept or ratio >= LEAST:
            return "bound" if kept else "refused", ratio, False, changed
        # A series that may end early errs once in ten or so, on a machine whose speed changes: a loss shows in two.
        again, harms = check_again(plant, masks, bound)
        if harms:
            again, harms = check_again(plant, masks, bound)
        return "bound", again, harms, f"{changed}; at first {ratio:.2f}x, this by pairs"
    finally:
        plant.end()


def main():
    rounds, names = int(sys.argv[1]), sys.argv[2:] or list(KINDS)
    tally, harmed, bound = {}, 0, []
    for _ in range(rounds):
        for name in names:
            what, ratio, harms, remarks = run_trial(name)
            tally[what] = tally.get(what, 0) + 1
            harmed += harms
            if what == "bound":
                bound.append(ratio)
            print(f"{name:20} {what:8} {'' if ratio is None else f'{ratio:6.2f}x'} {'HARM ' if harms else ''}{remarks}",
                  flush=True)
    print(f"{sum(tally.values())} trials: {tally}; slowest of those bound: "
          f"{f'{min(bound):.2f}x' if bound else 'none'}; harmed {harmed}")
    sys.exit(harmed > 0)


main()
