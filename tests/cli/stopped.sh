#!/usr/bin/env bash
# Ctrl-Z also stops the workers. A round that was stopped gives no result, and is repeated.
. tests/lib/cli.sh
. tests/lib/mpi.sh
program=$scratch/contend-fake # whose workers are nobody else's
cp "$CONTEND_FAKE" "$program"
set -m # each run is a process group that somebody can continue, as in a shell at a terminal

state_of() { # state_of PID: R, S, T, ...
    sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null
}
start() { # start OUT COMMAND...
    out=$1
    shift
    "$@" --no-plots --out "$out" >"$out.log" 2>&1 </dev/null &
    run=$!
    wait_for 60 first_round "$out.log" || fail "no round: $(cat "$out.log")"
}
has_workers() {
    pgrep -P "$run" -f " __worker " >/dev/null
}
all_stopped() { # the run, and all workers of it that have not just ended
    local pid
    [ "$(state_of "$run")" = T ] || return 1
    for pid in $(pgrep -P "$run"); do
        [[ $(state_of "$pid") = [TZ] ]] || return 1
    done
}
# Stops the run while it has workers: between two arms there are none for a moment.
stop() {
    wait_for 60 has_workers || fail "no worker"
    kill -TSTP "$run"
    wait_for 60 all_stopped || fail "goes on: $(ps -o pid,stat,args --ppid "$run" --pid "$run")"
}
end() { # end CODE
    wait_for 300 ended "$run" || fail "does not end: $(cat "$out.log")"
    wait "$run"
    local code=$?
    [ "$code" = "$1" ] || fail "exit $code, expected $1: $(cat "$out.log")"
}

start "$scratch/run" "$program" bench fake -n 2 --rounds 3 --time 3 --no-baselines
stop
kill -CONT "$run"
end 0
grep -q 'stopped and continued: round [23] is measured again' "$out.log" ||
    fail "it is not said that a round was done again: $(cat "$out.log")"
[ "$(cell "$out/rows.csv" none 2 throughput rounds)" = 3 ] || fail "rounds: $(cat "$out/rows.csv")"
grep -q '"status": "complete"' "$out/run.json" || fail "run.json: $(grep '"status"' "$out/run.json")"
rounds=$(cut -d, -f"$(head -n 1 "$out/samples.csv" | tr , '\n' | grep -nx round | cut -d: -f1)" \
    "$out/samples.csv" | sed 1d | uniq | tr '\n' ' ')
[ "$rounds" = '0 1 2 ' ] || [ "$rounds" = '1 2 3 ' ] || fail "rounds in samples.csv: $rounds"

# The run ends while it is stopped, as by the shell's kill %1.
start "$scratch/ended" "$program" bench fake -n 2 --rounds 1000 --time 1 --no-baselines
stop
kill -TERM "$run"
kill -CONT "$run"
end 130
grep -q '"status": "interrupted"' "$out/run.json" || fail "run.json: $(grep '"status"' "$out/run.json")"
[ -z "$(pgrep -f "^$program __worker")" ] || fail "workers stay behind"

# No process starts later, either, while a variant's command runs.
start_variant() {
    out=$scratch/variant
    "$program" ab fake -n 1 -P none --rounds 1 --time 0.1 --host h -o "$out" -V plain -V v=after:true \
        -V "v=before:touch $scratch/begun; until [ -e $scratch/go ]; do sleep 0.05; done" >"$out.log" 2>&1 </dev/null &
    run=$!
    wait_for 60 test -e "$scratch/begun" || fail "no before: $(cat "$out.log")"
}
stopped() {
    [ "$(state_of "$run")" = T ]
}
start_variant
kill -TSTP "$run"
wait_for 40 stopped || fail "goes on in a variant's before:"
kill -CONT "$run"
touch "$scratch/go"
wait_for 300 ended "$run" || fail "does not end: $(cat "$out.log")"
grep -q 'stopped and continued: round 1 is measured again' "$out.log" ||
    fail "it is not said that a round was done again: $(cat "$out.log")"
grep -q '"status": "complete"' "$out/run.json" || fail "run.json: $(grep '"status"' "$out/run.json")"

# The ranks of a job wait for each other, so none of them stops.
if command -v mpirun >/dev/null && [ -e "$CONTEND_MPI_MODULE" ]; then
    start "$scratch/job" mpirun -n 2 "$program" bench faketeam --limit 100 --rounds 5 --time 0.1
    kill -TSTP "$(pids "^$program bench" 0)"
    end 0
    grep -q 'is not stopped by SIGTSTP' "$out.log" || fail "not said: $(cat "$out.log")"
    [ "$(cell "$out/rows.csv" none 2 rank_sum rounds)" = 5 ] || fail "rounds: $(cat "$out/rows.csv")"
fi
finish
