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
        [ "$((SECONDS - begin))" -lt 15 ] || fail "$how: took $((SECONDS - begin)) s to refuse"
        { [ "$(masks "${faulty[@]}")" = "$before" ] && [ ! -e "$scratch/state" ]; } || fail "$how: bound: $output"
    done
    expect 0 'bound 2 processes' "${doctor[@]}" --apply --force
    [ "$(masks "${faulty[@]}")" != "$before" ] || fail "--force binds nothing"
    expect 0 '2 processes may run where they could before' "$CONTEND_BINARY" doctor --undo --state "$scratch/state"
    end_faults
    expect 2 '^contend: error: --force needs --apply, or --verify without --restart$' "$CONTEND_BINARY" doctor --force
fi

# logged CODE PATTERN COMMAND...: two processes that inherited one CPU, and print to a file: --apply lets them use others,
# and compares the lines per second of the file.
logged() {
    local code=$1 pattern=$2 output got
    shift 2
    # shellcheck disable=SC2016 # the inner shell's
    taskset -c "$first" sh -c '"$@" & "$@" & wait' - "$@" >"$scratch/log" 2>/dev/null &
    faulty=($!)
    wait_for 60 test -s "$scratch/log" || fail "the jobs do not log"
    mapfile -t -O 1 faulty < <(pgrep -P "${faulty[0]}")
    sees_all inherited_mask "${faulty[@]:1}" || fail "an inherited mask is not seen: $(cat "$scratch/seen")"
    before=$(masks "${faulty[@]:1}")
    for _ in 1 2 3 4 5; do # other load may hide that they wait
        output=$("$CONTEND_BINARY" doctor --time 1.5 --pid "${faulty[1]}" --pid "${faulty[2]}" --state "$scratch/state" \
            --apply --yes 2>&1)
        got=$?
        ! grep -q '^bound 2 processes' <<<"$output" || break
    done
    { [ "$got" = "$code" ] && grep -Eq "$pattern" <<<"$output"; } || fail "exit $got, expected $code /$pattern/: $output"
    if [ "$code" = 0 ]; then
        [ "$(masks "${faulty[@]:1}")" != "$before" ] || fail "not bound: $output"
        expect 0 'may run where they could before' "$CONTEND_BINARY" doctor --undo --state "$scratch/state"
    fi
    { [ "$(masks "${faulty[@]:1}")" = "$before" ] && [ ! -e "$scratch/state" ]; } || fail "not undone: $output"
    end_faults
}
cat >"$scratch/hates_to_move.py" <<'END'
import os, time
home = os.sched_getaffinity(0)
while True:
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        pass
    print("step", flush=True)
    if os.sched_getaffinity(0) != home:
        time.sleep(0.1)
END
if [ -z "${CONTEND_KINDS:-}" ]; then
    logged 0 '^their logs: [0-9.e+]+ -> [0-9.e+]+ lines/s' "$CONTEND_BUSY" log=-
    logged 1 '^it harms: [0-9.e+]+ -> [0-9.e+]+ lines/s' python3 "$scratch/hates_to_move.py"
fi

# shellcheck disable=SC2086 # names without blanks
python3 tests/lib/apply_trials.py "${CONTEND_ROUNDS:-1}" ${CONTEND_KINDS:-} || fail "a job is slower than before"
finish
