#!/usr/bin/env bash
# A user's command that does not end holds nothing up: it has a limit, and SIGINT and SIGTERM end the wait for it.
. tests/lib/cli.sh
. tests/lib/faulty.sh
runs_or_ended() { [ -e "$scratch/runs" ] || ended "$1"; }

# ends SIGNAL COMMAND...: sends the signal once the user's command runs; checks that contend ends with 130, and all of it.
ends() {
    local signal=$1 code run
    shift
    rm -f "$scratch/runs"
    for _ in 1 2 3 4 5 6 7 8 9; do # on a crowded machine doctor may find nothing to try
        "$@" >"$scratch/log" 2>&1 </dev/null &
        run=$!
        wait_for 60 runs_or_ended "$run"
        grep -q 'nothing to try' "$scratch/log" || break
    done
    [ -e "$scratch/runs" ] || fail "$signal: the command does not run: $(cat "$scratch/log")"
    kill -"$signal" "$run"
    wait_for 40 ended "$run" || { fail "deaf to $signal: $*" && kill -KILL "$run"; }
    wait "$run"
    code=$?
    [ "$code" = 130 ] || fail "$signal: exit $code: $(cat "$scratch/log")"
    wait_for 40 none_of_this_test "^sleep 1000" || fail "$signal: the command is left"
}
stays="touch $scratch/runs; exec sleep 1000"
ab=("$CONTEND_FAKE" ab fake --time 0.05 --warmup 0.01 --host h)

for signal in INT TERM; do
    ends $signal "${ab[@]}" -V a -V "b=before:$stays" -V "b=after:touch $scratch/undone" -o "$scratch/before-$signal"
    [ -e "$scratch/undone" ] || fail "$signal: what was begun is not undone"
    rm -f "$scratch/undone"
    ends $signal "${ab[@]}" -V a -V "b=check:$stays" -o "$scratch/check-$signal"
done

plant taskset -c "$first" "$CONTEND_BUSY"
plant taskset -c "$first" "$CONTEND_BUSY"
rate=("$CONTEND_BINARY" doctor --time 1.2 --pid "${faulty[0]}" --pid "${faulty[1]}" --state "$state"
    --block 1.6 --max-time 8 --yes)
# The command closes its output and lives.
until_tried() { # until doctor finds something to try
    local code
    for _ in 1 2 3 4 5 6 7 8 9; do
        said=$("$@" 2>&1)
        code=$?
        grep -q 'nothing to try' <<<"$said" || break
    done
    echo "$said"
    return $code
}
export -f until_tried
expect 3 'takes longer than 2 s' bash -c 'until_tried "$@"' - "${rate[@]}" --verify 'rate:echo 5; exec >&-; sleep 1000'
unbound || fail "not undone: $(masks)"
for signal in INT TERM; do
    ends $signal "${rate[@]}" --verify "rate:echo 5; exec >&-; $stays"
    unbound || fail "$signal: not undone: $(masks)"
done
finish
