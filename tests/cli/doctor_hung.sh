#!/usr/bin/env bash
# contend doctor names a process in which all threads wait and none can wake another. It does not name a process that
# something else may wake.
. tests/lib/cli.sh
. tests/lib/plant.sh
grep -q . /proc/self/syscall 2>/dev/null || skip "this kernel does not tell what a thread waits in"

cat >"$scratch/waits.py" <<'END'
import ctypes, multiprocessing, os, signal, sys, threading, time
kind, ready = sys.argv[1:]
one, other = threading.Lock(), threading.Lock()
signal.alarm(180)

def take(first, second, then=lambda: None):
    with first:
        time.sleep(0.2)
        with second:
            then()

def start(*targets):
    threads = [threading.Thread(target=target, daemon=True) for target in targets]
    for thread in threads:
        thread.start()
    return threads

def deadlock():
    return start(lambda: take(one, other), lambda: take(other, one))

def pthread_join():
    thread, libc = ctypes.c_ulong(), ctypes.CDLL(None)
    body = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: one.acquire() and one.acquire())
    libc.pthread_create(ctypes.byref(thread), None, body, None)
    libc.pthread_join(thread, None)

def fork():
    start(lambda: take(one, other, lambda: time.sleep(180)))
    time.sleep(0.1)
    if os.fork() == 0:
        one.acquire()
    time.sleep(180)

def shared():
    lock = multiprocessing.Lock()
    lock.acquire()
    lock.acquire()

def busy():
    def work():
        while True:
            with one:
                sum(range(1000))
    start(work, work)[0].join()

print(os.getpid(), file=open(ready, "w"))
{"deadlock": lambda: deadlock()[0].join(), "self": lambda: one.acquire() and one.acquire(),
 "condition": lambda: threading.Event().wait(), "join": pthread_join, "fork": fork,
 "sleeps": lambda: deadlock() and time.sleep(180), "timed": lambda: threading.Event().wait(180),
 "shared": shared, "busy": busy}[kind]()
END

# start KIND [BEFORE...]: starts a process that waits in that way. Sets $pid.
start() {
    local kind=$1
    shift
    rm -f "$scratch/ready"
    plant "$@" python3 "$scratch/waits.py" "$kind" "$scratch/ready"
    wait_for 60 test -s "$scratch/ready" || fail "$kind does not start"
    pid=${faulty[-1]}
}

# look OPTIONS...: stores doctor's output in $scratch/seen.
look() {
    "$CONTEND_BINARY" doctor --json --time 0.5 "$@" >"$scratch/seen" 2>"$scratch/errors"
    [ $? -le 1 ] || fail "doctor failed: $(cat "$scratch/errors")"
}
# finding_of PID: prints severity, sentence and command of the process's finding.
finding_of() {
    python3 - "$scratch/seen" "$1" <<'END'
import json, sys
for finding in json.load(open(sys.argv[1]))["findings"]:
    if finding["id"] == "hung" and finding["pids"] == [int(sys.argv[2])]:
        print(finding["severity"], finding["sentence"], finding["command"])
END
}
says() { # says PID WORDS OPTIONS...: a busy machine may not have come so far at the first look
    local of=$1 words=$2
    shift 2
    seen() { look "$@" && finding_of "$of" | grep -qF -- "$words"; }
    retry seen "$@" || fail "no '$words' in: $(cat "$scratch/seen")"
}

start deadlock
says "$pid" 'bad hangs: all 3 threads wait in futex(2)' --pid "$pid"
finding_of "$pid" | grep -qF "py-spy dump --pid $pid; gdb -p $pid -batch -ex 'thread apply all bt'" ||
    fail "no command: $(finding_of "$pid")"
says "$pid" 'doubt hangs: all 3 threads' --time 0.5
expect 1 'hangs: all 3 threads wait' "$CONTEND_BINARY" doctor --time 0.5 --pid "$pid"
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups "$CONTEND_BINARY" --version >/dev/null 2>&1; then
    setpriv --reuid=65534 --regid=65534 --clear-groups "$CONTEND_BINARY" doctor --json --time 0.5 --pid "$pid" \
        >"$scratch/seen"
    [ -z "$(finding_of "$pid")" ] || fail "seen by another user: $(finding_of "$pid")"
    grep -qF 'would also see whether 1 process that slept hangs' "$scratch/seen" ||
        fail "what root would see is not said: $(cat "$scratch/seen")"
fi

for kind in self condition; do
    start "$kind"
    says "$pid" 'its only thread waits' --pid "$pid"
done

start fork
wait_for 60 pgrep -P "$pid" >/dev/null
child=$(pgrep -P "$pid")
faulty+=("$child")
says "$child" 'its only thread waits' --pid "$pid"
[ -z "$(finding_of "$pid")" ] || fail "the parent of a fork: $(finding_of "$pid")"

start join
says "$pid" 'all 2 threads wait' --pid "$pid"
# In a container the threads have other numbers.
if [ "$(id -u)" = 0 ] && unshare -pf --mount-proc true 2>/dev/null; then
    start join unshare -pf --mount-proc
    child=$(pgrep -P "$pid")
    faulty+=("$child")
    says "$child" 'all 2 threads wait' --pid "$pid"
fi

# Processes that something else may wake.
options=()
for kind in sleeps timed shared busy; do
    start "$kind"
    options+=(--pid "$pid")
done
for _ in 1 2 3 4 5; do
    look "${options[@]}"
    ! grep -q '"hung"' "$scratch/seen" || fail "a false alarm: $(cat "$scratch/seen")"
done
finish
