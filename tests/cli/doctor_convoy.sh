#!/usr/bin/env bash
# contend doctor names threads that take turns at one lock, where CPUs are idle. It does not name threads that sleep for
# another reason.
. tests/lib/cli.sh
. tests/lib/plant.sh
grep -q . /proc/self/syscall 2>/dev/null || skip "this kernel does not tell what a thread waits in"

cat >"$scratch/threads.py" <<'END'
import os, queue, sys, threading, time
kind, ready = sys.argv[1:]
items = queue.Queue()

def work(s):
    end = time.thread_time() + s
    while time.thread_time() < end:
        pass

def start(n, target):
    for _ in range(n):
        threading.Thread(target=target, daemon=True).start()

def consumer():
    while True:
        items.get()
        work(0.001)

def disk():
    while True:
        work(0.001)
        time.sleep(0.01)

def alone():
    start(6, consumer)
    while True:
        work(1)

def rare():
    start(6, consumer)
    while True:
        items.put(1)
        time.sleep(0.02)

print(os.getpid(), file=open(ready, "w"))
if kind == "disk":
    start(6, disk)
    time.sleep(180)
{"alone": alone, "rare": rare}[kind]()
END
start() { # start KIND: the process is in $pid
    rm -f "$scratch/ready"
    plant python3 "$scratch/threads.py" "$1" "$scratch/ready"
    wait_for 60 test -s "$scratch/ready" || fail "$1 does not start"
    pid=${faulty[-1]}
}
look() { # look OPTIONS...: doctor's output is in $scratch/seen
    "$CONTEND_BINARY" doctor --json --time 1 "$@" >"$scratch/seen" 2>"$scratch/errors"
    [ $? -le 1 ] || fail "doctor failed: $(cat "$scratch/errors")"
}

options=()
for kind in alone rare disk; do
    start "$kind"
    options+=(--pid "$pid")
done
OMP_WAIT_POLICY=passive plant "$CONTEND_BINARY" bench grain --max-time 60s -o "$scratch/team"
options+=(--pid "${faulty[-1]}")
for _ in 1 2 3; do
    look "${options[@]}"
    ! grep -q '"convoy"' "$scratch/seen" || fail "a false alarm: $(cat "$scratch/seen")"
done
kill "${faulty[@]}"

[ "$(nproc)" -gt 1 ] || skip "there is one CPU, which one thread fills"
plant "$CONTEND_JOB" lock threads=4 count="$scratch/count"
pid=${faulty[-1]}
named() { look --pid "$pid" && grep -q '"convoy"' "$scratch/seen"; }
retry named || skip "other programs leave no CPU idle: $(cat "$scratch/seen")"
grep -qF "gdb -p $pid" "$scratch/seen" || fail "no command: $(cat "$scratch/seen")"
finish
