#!/usr/bin/env bash
# Jobs of several ranks on one node: what mpirun starts, what is refused, and what runs without MPI.
. tests/lib/cli.sh
. tests/lib/mpi.sh

# Without mpirun and MPI, an error says how to start the job, and no directory is made.
expect 3 "nothing of 'collective' can run here: .*mpirun -n 2 contend bench collective" "$CONTEND_BINARY" \
    bench collective --device sim --rounds 1 --no-plots --out "$scratch/alone"
[ ! -e "$scratch/alone" ] || fail "a result of nothing"

# One of several tasks, without the module: exit 2 and what to install, never a separate run.
expect 2 'mpirun started 2 tasks, but .*libopenmpi-dev' env -u CONTEND_MPI_MODULE \
    OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$CONTEND_FAKE" bench fake
expect 2 'cannot be loaded: /nowhere' env CONTEND_MPI_MODULE=/nowhere \
    OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$CONTEND_FAKE" bench fake
expect 2 'mpirun started 1025 tasks: at most 1024 can meet' env OMPI_COMM_WORLD_SIZE=1025 \
    OMPI_COMM_WORLD_RANK=0 "$CONTEND_FAKE" bench fake

# What MPI itself reports, by a fake module without MPI.
first_of_two() { # first_of_two MODULE CALL CODE PATTERN: CALL fails
    local module=$1 call=$2 code=$3 pattern=$4
    expect "$code" "$pattern" env FAKE_MPI="$call" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 \
        CONTEND_MPI_MODULE="$CONTEND_BUILD_DIR/tests/$module.so" "$CONTEND_FAKE" bench fake \
        --out "$scratch/ended"
}
first_of_two fake_mpi_of_another_version never 2 'contend_mpi.so is of another version'
first_of_two fake_mpi start 3 'mpirun started 2 tasks, but the cable is cut'
first_of_two fake_mpi begin 3 'error: rank 0: the cable is cut'
first_of_two fake_mpi test 3 'error: rank 1: the cable is cut'
# A rank does not answer and the launcher sends SIGTERM, twice as timeout(1) does: the job ends soon.
waits() {
    [ -e "$scratch/waits" ]
}
FAKE_MPI_WAITS="$scratch/waits" OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 \
    CONTEND_MPI_MODULE="$CONTEND_BUILD_DIR/tests/fake_mpi.so" "$CONTEND_FAKE" bench fake \
    --out "$scratch/ended" >"$scratch/waits.log" 2>&1 </dev/null &
run=$!
wait_for 60 waits || fail "nobody waits for rank 1: $(cat "$scratch/waits.log")"
kill -TERM "$run"
sleep 0.1
kill -TERM "$run" 2>/dev/null
wait_for 20 ended "$run" || { fail "it waits for a rank that does not answer" && kill -KILL "$run"; }
wait "$run"
code=$?
[ "$code" = 130 ] || fail "exit $code after SIGTERM: $(cat "$scratch/waits.log")"
grep -q 'error: rank 1 does not answer, and mpirun ends the run' "$scratch/waits.log" ||
    fail "who does not answer is not said: $(cat "$scratch/waits.log")"
needs_mpi
needs jq

# All nine operations, in and out of place, with every result compared.
out=$scratch/all
mpirun -n 3 "$CONTEND_BINARY" bench collective --device sim -p op=all -p place=both -p type=int32 \
    -p begin=12 -p end=12K -p factor=32 --rounds 1 --time 2 --limit 300 --no-plots --json --out "$out" \
    >"$out.json" 2>"$out.log" </dev/null || fail "exit $?: $(cat "$out.log")"
check_collective "$out" 3
for op in allreduce allgather reducescatter broadcast reduce alltoall sendrecv gather scatter; do
    grep -q "op=$op;.*collective_latency" "$out/rows.csv" || fail "no latency of $op"
done
# Only rank 0 prints.
[ "$(grep -c '^\[' "$out.json")" = 1 ] || fail "stdout is not one document: $(head "$out.json")"
grep -q '"seed"' "$out/run.json" && grep -q '3 ranks started by mpirun, Open MPI' "$out/run.json" ||
    fail "run.json does not say who started it"

# Background workers, which start once for the ranks of a node, and the baseline without them.
out=$scratch/behind
expect 0 "Results: $out" mpirun -n 2 --bind-to none "$CONTEND_FAKE" bench faketeam --limit 100 --background fake \
    --background-workers 2 --rounds 2 --time 0.1 --no-plots --out "$out"
[ "$(jq '[.arms[] | select(.alone | not)][0].plan.workers | length' "$out/run.json")" = 4 ] ||
    fail "not 2 ranks and 2 background workers"
jq -e '[.arms[] | select(.alone)][0].observations[0].workers | length == 2' "$out/run.json" \
    >/dev/null || fail "the baseline is not both ranks alone"
jq -e 'all(.arms[].observations[].workers[]; .status == "ok" and .host != null)' "$out/run.json" \
    >/dev/null || fail "a worker is not ok, or on no host"

# A second machine, of one CPU: all ranks skip what it cannot do. The time of other arms is the same for all ranks, as
# ranks would otherwise meet different numbers of times (faketeam compares).
sed 's/^........-/00000000-/' /proc/sys/kernel/random/boot_id >"$scratch/boot_id"
cat >"$scratch/elsewhere" <<ELSEWHERE
#!/bin/sh
[ "\$OMPI_COMM_WORLD_RANK" = 1 ] || exec "\$@"
exec unshare --mount --propagation unchanged sh -c 'mount --make-private /proc &&
    mount --bind "$scratch/boot_id" /proc/sys/kernel/random/boot_id && exec taskset -c 0 "\$@"' sh "\$@"
ELSEWHERE
chmod +x "$scratch/elsewhere"
out=$scratch/uneven
if [ "$(nproc)" -gt 1 ] && OMPI_COMM_WORLD_RANK=1 "$scratch/elsewhere" true 2>/dev/null; then
    expect 0 "partition.*: rank 1 " mpirun -n 2 --bind-to none "$scratch/elsewhere" "$CONTEND_FAKE" \
        run apart --limit 100 --rounds 7 --no-plots --out "$out"
    [ "$(cell "$out/rows.csv" none 2 rank_sum rounds)" = 7 ] || fail "$(cat "$out/rows.csv")"
fi

# mpirun gives each rank a terminal and writes its output to a file: no colours, no progress bar.
env -u NO_COLOR mpirun -n 2 "$CONTEND_FAKE" bench faketeam --limit 100 --rounds 1 --time 0.1 --no-plots \
    --out "$scratch/plain" >"$scratch/plain.log" 2>&1 </dev/null || fail "$(cat "$scratch/plain.log")"
grep -q "Results: $scratch/plain" "$scratch/plain.log" || fail "no table: $(cat "$scratch/plain.log")"
! grep -q $'\033' "$scratch/plain.log" || fail "escapes in a log: $(cat -v "$scratch/plain.log")"

# All ranks refuse, with one message.
expect 2 'fake does not run as a job of 2 ranks' mpirun -n 2 "$CONTEND_FAKE" bench fake
expect 2 'the job has 2 ranks' mpirun -n 2 "$CONTEND_FAKE" bench faketeam --workers 3
expect 2 'cannot create' mpirun -n 2 "$CONTEND_FAKE" bench faketeam --out /proc/none
errors=$(mpirun -n 2 "$CONTEND_FAKE" run --bogus 2>&1 | grep -c 'contend: error')
[ "$errors" = 1 ] || fail "$errors times the same error"
expect 2 'version and arguments of rank 1 .* differ' mpirun -n 1 "$CONTEND_FAKE" bench faketeam \
    --rounds 1 : -n 1 "$CONTEND_FAKE" bench faketeam --rounds 2

# A single task is a plain run, which needs no module.
expect 0 'Results' env CONTEND_MPI_MODULE=/nowhere mpirun -n 1 "$CONTEND_FAKE" bench fake --rounds 1 \
    --time 0.1 --no-plots --out "$scratch/one"

# A rank that fails in setup, and a rank that hangs: the message names it, and no rank stays behind.
expect 3 'rank 1 \(host .*\): not at its end within 1 s' mpirun -n 2 "$CONTEND_FAKE" bench \
    faketeam -p mode=hang-run -p bad_worker=1 --rounds 1 --time 0.1 --limit 1 --setup-limit 20 \
    --no-plots --out "$scratch/hang"

# mpirun gets a signal to end: finished rounds stay, and the run reports that it was interrupted. Also if the workers
# are threads in MPI.
end_mpirun() { # end_mpirun METRIC COMMAND...
    local metric=$1
    out=$scratch/$metric
    shift
    mpirun --mca odls_base_sigkill_timeout 5 -n 2 "$@" --rounds 1000 --no-plots --out "$out" >"$out.log" 2>&1 </dev/null &
    run=$!
    wait_for 60 first_round "$out.log" || fail "no round: $(cat "$out.log")"
    kill -TERM "$run"
    wait "$run"
    grep -q '"status": "interrupted"' "$out/run.json" || fail "run.json: $(grep status "$out/run.json")"
    ! grep -q '"rounds_done": 0' "$out/run.json" || fail "$metric: rank 0 was killed before its end"
    [ "$(cell "$out/rows.csv" none 2 "$metric" rounds)" -ge 1 ] || fail "no finished round in rows.csv"
}
end_mpirun rank_sum "$CONTEND_FAKE" bench faketeam --limit 100 --time 0.1
end_mpirun collective_latency "$CONTEND_BINARY" bench collective -p end=4K --time 0.3 --limit 300
wait_for 20 none_of_this_test "^$CONTEND_BUILD_DIR/" || fail "ranks stay behind"
finish
