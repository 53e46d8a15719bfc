#!/usr/bin/env bash
# Commands that measure the topology: who ends one, or a worker of it, reads it from the exit code.
. tests/lib.sh
[ "$(nproc)" -gt 1 ] || { echo "SKIP: one CPU alone has no pairs to measure" && exit 77; }

worker_of_run() {
    worker=$(pgrep -P "$run" -f " __worker ") && [ "$(cat "/proc/$worker/comm")" = contend-w0 ]
}
# ended SIGNAL WHOM CODE PATTERN ARGUMENT...: what it says when WHOM (run, worker) gets the signal.
ended() {
    local signal=$1 whom=$2 code=$3 pattern=$4 got
    shift 4
    "$CONTEND_BINARY" "$@" >"$scratch/log" 2>&1 </dev/null &
    run=$!
    if wait_for 60 worker_of_run; then
        kill "-$signal" "${!whom}"
    else
        fail "no worker: $(cat "$scratch/log")" && kill "$run"
    fi
    wait "$run"
    got=$?
    [ "$got" = "$code" ] || fail "exit $got, expected $code: SIG$signal to the $whom of $*"
    grep -q "$pattern" "$scratch/log" || fail "no /$pattern/: $(cat "$scratch/log")"
}

for command in 'place --topology measured' 'topo --measure'; do
    # shellcheck disable=SC2086 # words of a command
    ended TERM run 130 'error: interrupted while measuring' $command
    # shellcheck disable=SC2086
    ended KILL worker 3 'killed by signal 9' $command
done
finish
