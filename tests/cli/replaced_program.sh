#!/usr/bin/env bash
# If a build replaces the program's file during a run, all remaining rounds still run the old program, under its old
# name.
. tests/lib/cli.sh
. tests/lib/mpi.sh
program=$scratch/contend-fake
other="#!/bin/sh
echo 'this is another program' >&2
exit 9"

replace() {
    printf '%s\n' "$other" >"$program.new" && chmod +x "$program.new" && mv "$program.new" "$program"
}
# in_the_middle OUT COMMAND...: replaces the program after the first round.
in_the_middle() {
    local out=$1 code
    shift
    rm -f "$program" && cp "$CONTEND_FAKE" "$program"
    "$@" --time 0.1 --no-plots --out "$out" >"$out.log" 2>&1 </dev/null &
    run=$!
    wait_for 60 first_round "$out.log" || fail "no round: $(cat "$out.log")"
    replace
    wait "$run"
    code=$?
    [ "$code" = 0 ] || fail "exit $code: $(cat "$out.log")"
    grep -q '"status": "complete"' "$out/run.json" || fail "run.json: $(grep '"status"' "$out/run.json")"
    ! grep -q ',failed,' "$out/rows.csv" || fail "a failed row: $(grep ',failed,' "$out/rows.csv")"
}

in_the_middle "$scratch/run" "$program" bench fake -n 2 --rounds 4
[ "$(cell "$scratch/run/rows.csv" none 2 throughput rounds)" = 4 ] || fail "$(cat "$scratch/run.log")"

# The file is gone from the start, so timing does not matter. The workers show its name and its path.
cp "$CONTEND_FAKE" "$scratch/gone"
exec 9<"$scratch/gone"
rm "$scratch/gone"
expect 0 'Results' /proc/self/fd/9 bench fake --rounds 1 --time 0.1 --no-plots --out "$scratch/once"
/proc/self/fd/9 bench fake --rounds 1 --no-plots -p mode=hang-setup --out "$scratch/hang" \
    >"$scratch/hang.log" 2>&1 </dev/null &
run=$!
worker_is_named() {
    local pid
    pid=$(pgrep -P "$run" -f "^$scratch/gone __worker") &&
        grep -q '^contend-w0$' "/proc/$pid/comm"
}
wait_for 60 worker_is_named || fail "no worker by its name: $(ps -o pid,comm,args --ppid "$run")"
kill "$run"
wait "$run"

# The MPI module beside the program.
cp "$CONTEND_BUILD_DIR/tests/fake_mpi.so" "$scratch/contend_mpi.so"
expect 3 'mpirun started 2 tasks, but the cable is cut' \
    env -u CONTEND_MPI_MODULE FAKE_MPI=start OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 \
    /proc/self/fd/9 bench fake --no-plots --out "$scratch/rank"
exec 9<&-

if command -v mpirun >/dev/null && [ -e "$CONTEND_MPI_MODULE" ]; then
    in_the_middle "$scratch/job" mpirun -n 2 "$program" bench faketeam --rounds 4
    [ "$(cell "$scratch/job/rows.csv" none 2 rank_sum rounds)" = 4 ] || fail "$(cat "$scratch/job.log")"
fi
finish
