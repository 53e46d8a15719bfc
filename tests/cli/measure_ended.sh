#!/usr/bin/env bash
# Commands that measure the topology: who ends one, or a worker of it, reads it from the exit code.
. tests/lib/cli.sh
needs two-cpus

start() {
    "$CONTEND_BINARY" "$@" >"$scratch/log" 2>&1 </dev/null &
    run=$!
    wait_for 60 pgrep -P "$run" -f ' __worker ' >/dev/null || fail "no worker: $(cat "$scratch/log")"
}
end() { # end CODE PATTERN
    wait "$run"
    local code=$?
    [ "$code" = "$1" ] || fail "exit $code, expected $1: $(cat "$scratch/log")"
    grep -q "$2" "$scratch/log" || fail "no /$2/: $(cat "$scratch/log")"
}
# Every worker that is seen: one of them may be at its end already.
kill_workers() {
    while kill -0 "$run" 2>/dev/null; do
        pkill -KILL -P "$run" -f ' __worker '
        sleep 0.1
    done
}

for command in 'place --topology measured' 'info --measure'; do
    # shellcheck disable=SC2086 # words of a command
    start $command
    kill -TERM "$run"
    end 130 'error: interrupted while measuring'
    # shellcheck disable=SC2086
    start $command
    kill_workers
    end 3 'killed by signal 9\|kept no value' # the first of them; a disturbed scan can be over so soon
done
finish
