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
masks() { grep -h Cpus_allowed_list /proc/"${faulty[0]}"/task/*/status /proc/"${faulty[1]}"/task/*/status; }

# Two teams that spin: another start is the fix. Neither --apply nor --verify binds them, and both say what to type.
if [ -z "${CONTEND_KINDS:-}" ] && [ -z "${CONTEND_SANITIZE:-}" ]; then
    plant env -u OMP_NUM_THREADS -u OMP_WAIT_POLICY "$CONTEND_JOB" omp "count=$scratch/one"
    plant env -u OMP_NUM_THREADS -u OMP_WAIT_POLICY "$CONTEND_JOB" omp "count=$scratch/two"
    sees_all more_threads_than_cpus "${faulty[@]}" || fail "teams that spin are not seen: $(cat "$scratch/seen")"
    before=$(masks)
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
        { [ "$(masks)" = "$before" ] && [ ! -e "$scratch/state" ]; } || fail "$how: bound: $(masks)"
    done
    expect 0 'bound 2 processes' "${doctor[@]}" --apply --force
    [ "$(masks)" != "$before" ] || fail "--force binds nothing"
    expect 0 '2 processes may run where they could before' "$CONTEND_BINARY" doctor --undo --state "$scratch/state"
    end_faults
    expect 2 '^contend: error: --force needs --apply, or --verify without --restart$' "$CONTEND_BINARY" doctor --force
fi

# logged CODE PATTERN COMMAND...: two jobs on one CPU while another idles, which print to files: --apply compares their
# lines per second. Left out if other load kept the other CPU busy in each look.
logged() {
    local code=$1 pattern=$2 output
    shift 2
    for name in a b; do
        taskset -c "$first" "$@" >"$scratch/$name.log" 2>/dev/null &
        faulty+=($!)
    done
    wait_for 60 test -s "$scratch/a.log" -a -s "$scratch/b.log" || fail "the jobs do not log"
    before=$(masks)
    for _ in 1 2 3 4 5; do
        output=$("$CONTEND_BINARY" doctor --time 1.5 --pid "${faulty[0]}" --pid "${faulty[1]}" --state "$scratch/state" \
            --apply --yes 2>&1)
        got=$?
        ! grep -q '^bound 2 processes' <<<"$output" || break
    done
    if grep -q '^bound 2 processes' <<<"$output"; then
        { [ "$got" = "$code" ] && grep -Eq "$pattern" <<<"$output"; } || fail "exit $got, expected $code /$pattern/: $output"
        [ "$code" = 0 ] || { [ "$(masks)" = "$before" ] && [ ! -e "$scratch/state" ]; } || fail "not undone: $(masks)"
        [ "$code" != 0 ] || "$CONTEND_BINARY" doctor --undo --state "$scratch/state" >/dev/null || fail "nothing to undo"
    else
        echo "left out: a log, as no CPU idled in any look: ${output##*$'\n'}"
        [ "$(masks)" = "$before" ] || fail "bound without a word: $(masks)"
    fi
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
    logged 0 '^their logs: [0-9.e+]+ -> [0-9.e+]+ lines/s' "$CONTEND_BUSY" threads=1 log=-
    logged 1 '^it harms: [0-9.e+]+ -> [0-9.e+]+ lines/s' python3 "$scratch/hates_to_move.py"
fi

# shellcheck disable=SC2086 # names without blanks
python3 tests/lib/apply_trials.py "${CONTEND_ROUNDS:-1}" ${CONTEND_KINDS:-} || fail "a job is slower than before"
finish
