#!/usr/bin/env bash
# srun starts the ranks of a job, by PMIx or PMI-2.
. tests/lib/slurm.sh
. tests/lib/mpi.sh
needs_mpi
start_slurm

# Finds a way to start MPI that Slurm and MPI both support.
how=
for way in pmix pmi2; do
    srun --mpi=list 2>&1 | grep -q "$way" || continue
    timeout 60 srun --mpi=$way --overcommit -n 2 "$CONTEND_FAKE" bench faketeam --limit 50 --rounds 1 \
        --time 0.1 --no-plots --out "$scratch/$way" >"$scratch/refused" 2>&1 && how=$way && break
done
[ -n "$how" ] || skip "srun and MPI have no PMI in common: $(tail -n 5 "$scratch/refused")"

out=$scratch/good
expect 0 "Results: $out" srun "--mpi=$how" --overcommit -n 2 "$CONTEND_BINARY" bench collective \
    -p end=4K -p factor=8 --rounds 1 --time 1 --limit 300 --no-plots --out "$out"
check_collective "$out" 2
grep -q '2 ranks started by srun' "$out/run.json" || fail "run.json does not say who started it"

# A single task is a plain run, and so is a run in a shell inside an allocation.
expect 0 'Results' srun -n 1 "$CONTEND_FAKE" bench fake --rounds 1 --time 0.1 --no-plots \
    --out "$scratch/one"
expect 0 'Results' salloc -n 2 --overcommit "$CONTEND_FAKE" bench fake --rounds 1 --time 0.1 \
    --no-plots --out "$scratch/shell"

# Tasks without a way to MPI are refused: otherwise two runs would overwrite each other.
expect 2 'srun started 2 tasks and no way' srun --mpi=none --overcommit -n 2 "$CONTEND_FAKE" bench \
    faketeam --rounds 1 --time 0.1 --no-plots --out "$scratch/none"

# If a worker dies, the message names it, and srun exits with the run's code.
expect 3 'rank 1 \(host .*\): killed by signal 9' srun "--mpi=$how" --overcommit -n 2 \
    "$CONTEND_FAKE" bench faketeam --limit 100 -p mode=crash -p bad_worker=1 --rounds 1 --time 0.1 --no-plots \
    --out "$scratch/worker"
finish
