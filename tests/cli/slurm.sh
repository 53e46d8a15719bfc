#!/usr/bin/env bash
# srun starts the ranks, by PMIx or PMI-2.
. tests/lib/slurm.sh
. tests/lib/mpi.sh
needs_mpi
start_slurm

# Which way to MPI do Slurm and MPI have in common?
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

# One task is a plain run, and a shell inside an allocation is none of a job's.
expect 0 'Results' srun -n 1 "$CONTEND_FAKE" bench fake --rounds 1 --time 0.1 --no-plots \
    --out "$scratch/one"
expect 0 'Results' salloc -n 2 --overcommit "$CONTEND_FAKE" bench fake --rounds 1 --time 0.1 \
    --no-plots --out "$scratch/shell"

# Tasks that MPI cannot know of: refused, instead of two runs that overwrite each other.
expect 2 'srun started 2 tasks and no way' srun --mpi=none --overcommit -n 2 "$CONTEND_FAKE" bench \
    faketeam --rounds 1 --time 0.1 --no-plots --out "$scratch/none"

# A worker that dies is named, and the exit code is the run's.
expect 3 'rank 1 \(host .*\): killed by signal 9' srun "--mpi=$how" --overcommit -n 2 \
    "$CONTEND_FAKE" bench faketeam --limit 100 -p mode=crash -p bad_worker=1 --rounds 1 --time 0.1 --no-plots \
    --out "$scratch/worker"
finish
