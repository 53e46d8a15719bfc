#!/usr/bin/env bash
# contend doctor --verify restores the masks of a job after an interrupt, a limit and a kill. No process that doctor
# started outlives it.
. tests/lib/cli.sh
. tests/lib/faulty.sh

start_jobs
expect 2 'without a terminal, --verify needs --yes' "${verify[@]}" --max-time 8
[ ! -e "$state" ] || fail "a state without a trial"

# begin: starts a trial in the background, and stops it while the masks are changed. Sets $trial, its pid.
begin() {
    "${verify[@]}" --max-time 60 --block 3 --yes >"$scratch/out" 2>"$scratch/errors" &
    trial=$!
    for _ in 1 2 3 4 5; do
        wait_for 60 one_moved || break
        kill -STOP "$trial"
        wait_for 60 grep -q '^State:.T' "/proc/$trial/status"
        ! one_moved || return
        kill -CONT "$trial" # it was on its way back
    done
    fail "nobody was moved: $(cat "$scratch/out" "$scratch/errors")"
    finish
}

# Interrupts.
for signal in INT TERM HUP TSTP; do
    begin
    kill -CONT "$trial"
    kill -"$signal" "$trial"
    wait "$trial"
    code=$?
    [ "$code" = 130 ] || fail "SIG$signal: exit $code: $(cat "$scratch/errors")"
    unbound || fail "SIG$signal: not undone: $(masks)"
done

# --undo does not interfere with a trial that is still running.
begin
expect 3 "is running, and undoes its changes itself: to end it now type kill $trial" \
    "$CONTEND_BINARY" doctor --undo --state "$state"
one_moved || fail "a trial at work was undone"

# If doctor is killed, its guard process restores the masks at once.
kill -9 "$trial"
wait "$trial" 2>/dev/null
wait_for 60 unbound || fail "the guard did not undo it: $(masks)"
wait_for 60 grep -q 'was killed: undone' "$scratch/errors" || fail "$(cat "$scratch/errors")"

# If both are killed, the next doctor restores the masks.
begin
guard=$(pgrep -P "$trial")
kill -STOP "$guard"
kill -9 "$trial" "$guard"
wait "$trial" 2>/dev/null
one_moved || fail "undone by whom?"
output=$("$CONTEND_BINARY" doctor --time 0.3 --pid "$$" --state "$state" 2>&1)
# Beside other load the fix may move one of them alone.
printf '%s' "$output" | grep -Eq "an earlier 'contend doctor --verify' was killed: undone, (1|2) process" ||
    fail "not said: $output"
unbound || fail "not undone by the next one: $(masks)"

# If doctor is stopped, the guard restores the masks at the time limit.
"${verify[@]}" --max-time 8 --yes >"$scratch/out" 2>"$scratch/errors" &
trial=$!
wait_for 60 one_moved || fail "nobody was moved: $(cat "$scratch/errors")"
kill -STOP "$trial"
wait_for 60 unbound || fail "not undone at the limit: $(masks)"
grep -q 'did not end in its time: undone' "$scratch/errors" || fail "$(cat "$scratch/errors")"
kill -CONT "$trial"
wait "$trial"
unbound || fail "bound behind the limit: $(masks)"

# A log without lines cannot be measured; a process may end meanwhile.
: >"$scratch/silent.log"
expect 4 'reported too little in a block of 1.6 s' "$CONTEND_BINARY" doctor --time 1.2 --pid "${faulty[0]}" \
    --pid "${faulty[1]}" --state "$state" --verify "lines:$scratch/silent.log" --block 1.6 --max-time 8 --yes --force
unbound || fail "silent: $(masks)"
begin
kill -9 "${faulty[@]}"
kill -CONT "$trial"
wait "$trial"
code=$?
[ "$code" = 3 ] || fail "exit $code of a job that ended: $(cat "$scratch/errors")"
grep -q 'ended while it was measured' "$scratch/errors" || fail "$(cat "$scratch/errors")"
[ ! -e "$state" ] || fail "a state of what has ended"
end_faults

# A job that doctor started itself.
cat >"$scratch/job" <<END
exec "$CONTEND_BUSY" threads=1 spinners=1 log=-
END
"$CONTEND_BINARY" doctor --time 1 --state "$state" --yes --verify lines:- --restart "sh '$scratch/job'" >/dev/null 2>&1 &
trial=$!
job_runs() { [ -n "$(pids_of_this_test spinners=)" ]; }
wait_for 60 job_runs || fail "the job was not started"
kill -9 "$trial"
wait "$trial" 2>/dev/null
wait_for 60 none_of_this_test spinners= || fail "the job outlives a doctor that was killed"
finish
