#!/usr/bin/env bash
# contend doctor --apply does what doctor printed, or refuses: no job gets slower by it. Jobs of 14 kinds are planted,
# healthy ones too, and their own counters say how fast they are.
#
# CONTEND_ROUNDS=N runs each kind N times; CONTEND_KINDS=NAME... only these.
. tests/lib/cli.sh
: "${CONTEND_JOB:?}" "${CONTEND_BUSY:?}"
. tests/lib/plant.sh
. tests/lib/look.sh
needs python3 taskset two-cpus
masks() { # masks PID...: of all their threads
    local pid
    for pid in "$@"; do grep -h Cpus_allowed_list /proc/"$pid"/task/*/status; done
}

# Two teams that spin: another start is the fix. Neither --apply nor --verify binds them, and both say what to type.
if [ -z "${CONTEND_KINDS:-}" ] && [ -z "${CONTEND_SANITIZE:-}" ]; then
    plant env -u OMP_NUM_THREADS -u OMP_WAIT_POLICY "$CONTEND_JOB" omp "count=$scratch/one"
    plant env -u OMP_NUM_THREADS -u OMP_WAIT_POLICY "$CONTEND_JOB" omp "count=$scratch/two"
    sees_all more_threads_than_cpus "${faulty[@]}" || fail "teams that spin are not seen: $(cat "$scratch/seen")"
    before=$(masks "${faulty[@]}")
    doctor=("$CONTEND_BINARY" doctor --time 2 --pid "${faulty[0]}" --pid "${faulty[1]}" --state "$scratch/state" --yes)
    for how in --apply '--verify=rate:echo 1'; do
        for _ in 1 2 3 4 5; do # other load may hide that they spin
            begin=$SECONDS
            output=$("${doctor[@]}" "$how" 2>&1)
            code=$?
            ! grep -q "too many threads" <<<"$output" || break
        done
        [ "$how:$code" = --apply:1 ] || [ "$how:$code" = '--verify=rate:echo 1:4' ] || fail "$how: exit $code: $output"
        grep -q "^  contend doctor --verify METRIC --restart 'COMMAND'$" <<<"$output" || fail "$how: no command: $output"
        grep -q 'OMP_NUM_THREADS=' <<<"$output" || fail "$how: no setting: $output"
        [ "$((SECONDS - begin))" -lt 50 ] || # a trial takes a minute
            fail "$how: took $((SECONDS - begin)) s to refuse"
        { [ "$(masks "${faulty[@]}")" = "$before" ] && [ ! -e "$scratch/state" ]; } || fail "$how: bound: $output"
    done
    expect 0 'bound 2 processes' "${doctor[@]}" --apply --force
    [ "$(masks "${faulty[@]}")" != "$before" ] || fail "--force binds nothing"
    expect 0 '2 processes may run where they could before' "$CONTEND_BINARY" doctor --undo --state "$scratch/state"
    end_faults
    expect 2 '^contend: error: --force needs --apply, or --verify without --restart$' "$CONTEND_BINARY" doctor --force
fi

# logged COMMAND...: a process whose first thread is bound, and the second is not, and which prints to a
# file: --apply compares its lines per second. Other load hides neither the finding nor its fix.
# shellcheck disable=SC2317 # wait_for calls it
has_two_threads() { [ "$(find "/proc/${faulty[0]}/task" -mindepth 1 -maxdepth 1 | wc -l)" = 2 ]; }
logged() {
    local output got
    "$@" >"$scratch/log" 2>/dev/null &
    faulty=($!)
    wait_for 60 has_two_threads || fail "no second thread"
    taskset -cp "$first" "${faulty[0]}" >/dev/null
    wait_for 60 test -s "$scratch/log" || fail "the job does not log"
    before=$(masks "${faulty[0]}")
    for _ in 1 2 3 4 5; do # a thread counts if it gets a fifth of a CPU
        output=$("$CONTEND_BINARY" doctor --time 1.5 --pid "${faulty[0]}" --state "$scratch/state" --apply --yes 2>&1)
        got=$?
        ! grep -q '^bound 1 process' <<<"$output" || break
    done
    logged=''
    if ! grep -q 'its first thread is bound' <<<"$output"; then
        echo "left out: a log, as others leave its process less than a fifth of a CPU"
        end_faults
        return
    fi
    case $got in
    0)
        grep -Eq '^their logs: [0-9.e+]+ -> [0-9.e+]+ lines/s' <<<"$output" || fail "its log is not compared: $output"
        [ "$(masks "${faulty[0]}")" != "$before" ] || fail "not bound: $output"
        expect 0 'may run where it could before' "$CONTEND_BINARY" doctor --undo --state "$scratch/state"
        ;;
    1) grep -Eq '^undone: their logs had [0-9.e+]+ lines/s before' <<<"$output" || fail "not undone: $output" ;;
    *) fail "exit $got: $output" ;;
    esac
    { [ "$(masks "${faulty[0]}")" = "$before" ] && [ ! -e "$scratch/state" ]; } || fail "not undone: $output"
    logged=$got
    end_faults
}
cat >"$scratch/hates_change.py" <<'END'
import os, threading, time
def masks():
    return [os.sched_getaffinity(int(tid)) for tid in sorted(os.listdir("/proc/self/task"))]
def work():
    while len(os.sched_getaffinity(os.getpid())) > 1:
        time.sleep(0.01)
    home = masks()
    while True:
        end = time.monotonic() + 0.01
        while time.monotonic() < end:
            pass
        print("step", flush=True)
        if masks() != home:
            time.sleep(0.1)
threading.Thread(target=work).start()
END
if [ -z "${CONTEND_KINDS:-}" ]; then
    logged "$CONTEND_BUSY" threads=1 log=- # other load may slow this one
    logged python3 "$scratch/hates_change.py"
    [ "$logged" != 0 ] || fail "what made it slower is kept"
fi

# shellcheck disable=SC2086 # names without blanks
python3 tests/lib/apply_trials.py "${CONTEND_ROUNDS:-1}" ${CONTEND_KINDS:-} || fail "a job is slower than before"
finish
