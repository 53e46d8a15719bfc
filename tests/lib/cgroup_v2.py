"""cgroup_v2.py FOLDER: a made-up machine of one CPU, which processes 100 and 200 share, each in a cgroup of version 2. Their
times grow until it is killed."""
import os, sys, time

root = sys.argv[1]
then = time.monotonic()

def put(path, text):
    path = root + path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "r+" if os.path.exists(path) else "w") as file:  # in place: doctor keeps it open
        file.write(text)

def put_times():
    s = time.monotonic() - then
    ticks, ns = int(50 * s), int(0.5e9 * s)
    put("/proc/stat", f"cpu0 {2 * ticks:012} 0 0 0 0 0 0 0 0 0\n")
    for pid in 100, 200:
        stat = (f"{pid} (p{pid}) R 1 {pid} {pid} 0 -1 0 0 0 0 0 {ticks:012} 0 0 0 20 0 1 0 {pid}" + 22 * " 0" + "\n")
        put(f"/proc/{pid}/stat", stat)
        put(f"/proc/{pid}/task/{pid}/stat", stat)
        put(f"/proc/{pid}/task/{pid}/schedstat", f"{ns:015} {ns:015} 1\n")

groups = {100: "/kubepods.slice/a.slice/c", 200: "/kubepods.slice/b.slice/c"}
for pid, group in groups.items():
    put(f"/proc/{pid}/cgroup", f"0::{group}\n")
    put(f"/proc/{pid}/autogroup", f"/autogroup-{pid} nice 0\n")
    put(f"/proc/{pid}/task/{pid}/status", "Name:\tp\nCpus_allowed_list:\t0\n")
    while group:
        put(f"/sys/fs/cgroup{group}/cpu.weight", "100\n")
        group = group.rpartition("/")[0]
put("/proc/1/schedstat", "1 1 1\n")
put("/proc/1/stat", "1 (init) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1" + 22 * " 0" + "\n")
put("/proc/sys/kernel/sched_autogroup_enabled", "1\n")
put_times()
put("/ready", "")
while True:
    put_times()
    time.sleep(0.02)
