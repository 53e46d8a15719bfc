#!/usr/bin/env bash
# contend doctor finds a fault outside of the processes: a cgroup that is short of memory, but not one whose cache a
# reclaimer dropped. Faults that this machine does not allow to plant are left out with a message.
. tests/lib/cli.sh
. tests/lib/plant.sh
planted=0

# finds ID PID: within a few looks, a finding of that id names the process. Its command is in $scratch/command, its
# evidence in $scratch/evidence.
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

refaults() { awk '/^workingset_refault/ { sum += $2 } END { print sum + 0 }' "$group/memory.stat"; }
# A reclaimer drops a group's cache although memory is free; the worker reads the file again. That is no shortage.
reclaimed() {
    local file=$group/memory.reclaim text=256M before dropper try
    [ -e "$file" ] || file=$group/memory.force_empty text=0
    [ -w "$file" ] || return 0
    while sleep 0.05; do echo $text >"$file"; done 2>/dev/null &
    dropper=$!
    for try in 1 2 3; do
        before=$(refaults)
        "$CONTEND_BINARY" doctor --json --time 1.5 --pid "$1" >"$scratch/seen" 2>/dev/null
        [ $(($(refaults) - before)) -gt 1000 ] || echo "look $try: few pages were read again"
        ! grep -q '"id": "memory_pressure"' "$scratch/seen" || fail "dropped cache: $(cat "$scratch/seen")"
    done
    kill $dropper
    wait $dropper 2>/dev/null
}

# 22: a file larger than its cgroup's memory limit, read again and again.
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
        reclaimed "$!"
    else
        fail "not short of memory: $(cat "$group"/memory.stat "$scratch/seen")"
    fi
else
    echo "left out: no cgroup for memory here that is ours"
fi
end_faults
echo "$planted of 1 planted"
finish
