#!/usr/bin/env bash
# contend doctor, faults planted beside the processes: interrupts on a worker's CPU, a cgroup that is short
# of memory, a monitor that costs. What this machine does not let us plant is left out, and said.
. tests/lib/cli.sh
. tests/lib/plant.sh
planted=0

# finds ID PID: a finding of that id which names that process, within a few looks; its command is in
# $scratch/command, its evidence in $scratch/evidence.
finds() {
    local try
    for try in 1 2 3 4 5; do
        "$CONTEND_BINARY" doctor --json --time 1.5 --pid "$2" "${@:3}" >"$scratch/seen" 2>"$scratch/errors"
        python3 - "$scratch" "$1" "$2" <<'END' && return
import json, sys
for finding in json.load(open(sys.argv[1] + "/seen"))["findings"]:
    if finding["id"] == sys.argv[2] and (int(sys.argv[3]) in finding["pids"] or not finding["pids"]):
        for part in ("command", "evidence"):
            print(finding[part] or "", file=open(sys.argv[1] + "/" + part, "w"))
        sys.exit(0)
sys.exit(1)
END
        : "look $try"
    done
    return 1
}
calm() { # calm ID PID: within a few looks there is one without it
    local try
    for try in 1 2 3 4 5; do
        "$CONTEND_BINARY" doctor --json --time 1 --pid "$2" >"$scratch/seen" 2>/dev/null
        grep -q "\"id\": \"$1\"" "$scratch/seen" || return 0
        : "look $try"
    done
    return 1
}

# 25: a monitor, by its name; the command pauses it.
cp "$(command -v bash)" "$scratch/nvtop"
"$scratch/nvtop" -c 'while :; do :; done' &
faulty+=($!)
finds monitors "$!" || fail "no monitor: $(cat "$scratch/seen" "$scratch/errors")"
[ "$(cat "$scratch/command")" = "kill -STOP $!" ] || fail "monitor: $(cat "$scratch/command")"
bash "$scratch/command"
calm monitors "$!" || fail "a monitor that is paused costs nothing: $(cat "$scratch/seen")"
planted=$((planted + 1))
end_faults

# 12: reads from a disk past the page cache; the worker is bound to the CPU that its interrupts go to.
cat >"$scratch/read.py" <<'END'
import mmap, os, re, sys
name, cpus = sys.argv[1], sorted(os.sched_getaffinity(0))
def counts():
    found = {}
    with open("/proc/interrupts") as file:
        numbers = [int(word[3:]) for word in file.readline().split()]
        for line in file:
            words = line.split()
            if words[0][:-1].isdigit():
                for cpu, count in zip(numbers, words[1:]):
                    found[words[0], cpu] = int(count)
    return found
try:
    fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    block = mmap.mmap(-1, 1 << 20)
    os.write(fd, block)
    block = mmap.mmap(-1, 4096)
except OSError:
    sys.exit(77)
def read(times):
    for i in range(times):
        os.preadv(fd, [block], i % 256 * 4096)
before = counts()
read(2000)
served = {at: count - before.get(at, 0) for at, count in counts().items() if at[1] in cpus}
(irq, cpu), most = max(served.items(), key=lambda item: item[1])
if most < 1000 or len(cpus) < 2:
    sys.exit(77) # no such disk, or nowhere else to send them
os.sched_setaffinity(0, {cpu})
print(irq.rstrip(":"), flush=True)
while True:
    read(1000)
END
python3 "$scratch/read.py" "$scratch/image" >"$scratch/irq" 2>/dev/null &
faulty+=($!)
ready() { [ -s "$scratch/irq" ] || ! kill -0 "$!" 2>/dev/null; }
wait_for 60 ready
if [ -s "$scratch/irq" ]; then
    # On a busy machine it gets too few of its turns to make many of them.
    if finds interrupts "$!"; then
        grep -q "for i in .*\b$(cat "$scratch/irq")\b.*/smp_affinity_list" "$scratch/command" ||
            fail "not interrupt $(cat "$scratch/irq"): $(cat "$scratch/command")"
        grep -q 'interrupts/s; CPU [0-9]* loses' "$scratch/evidence" || fail "$(cat "$scratch/evidence")"
        planted=$((planted + 1))
    else
        echo "left out: too few interrupts on a busy machine"
    fi
else
    echo "left out: no disk here whose interrupts go to one CPU of several"
fi
end_faults

# 22: a file that does not fit into what its cgroup may have, read again and again.
for memory in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    [ -z "$group" ] && [ -e "$memory/memory.stat" ] || continue
    mkdir "$memory/contend-test-$$" 2>/dev/null && group=$memory/contend-test-$$
done
limit=''
for file in memory.max memory.limit_in_bytes; do
    [ -n "$group" ] && [ -w "$group/$file" ] && limit=$group/$file
done
if [ -n "$limit" ] && echo 25165824 >"$limit" 2>/dev/null; then
    bash -c 'echo $$ >"$1/cgroup.procs" && head -c 64M /dev/zero >"$2" && sync "$2" &&
        exec python3 -c "
import sys
while True:
    with open(sys.argv[1], \"rb\", buffering=0) as file:
        while file.read(1 << 20):
            pass" "$2"' sh "$group" "$scratch/big" &
    faulty+=($!)
    reads() { grep -qs python3 "/proc/$!/comm"; }
    wait_for 60 reads
    if finds memory_pressure "$!"; then
        grep -q 'limit 24 MiB' "$scratch/evidence" || fail "$(cat "$scratch/evidence")"
        grep -q "$group/memory" "$scratch/command" || fail "$(cat "$scratch/command")"
        planted=$((planted + 1))
        echo 268435456 >"$limit"
        calm memory_pressure "$!" || fail "short of memory with enough of it: $(cat "$scratch/seen")"
    else
        fail "not short of memory: $(cat "$group"/memory.stat "$scratch/seen")"
    fi
else
    echo "left out: no cgroup for memory here that is ours"
fi
end_faults
echo "$planted of 3 planted"
finish
