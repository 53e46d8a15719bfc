#!/usr/bin/env bash
# Noise in a job is measured over the CPUs of each rank: a program on one of two CPUs uses all of
# that rank's CPU, and half of the machine's.
. tests/lib/cli.sh
. tests/lib/mpi.sh
needs_mpi
needs jq
mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
    awk -F- '{ for (c = $1; c <= (NF > 1 ? $2 : $1); c++) print c }')
[ "${#cpus[@]}" -ge 2 ] || skip "one CPU"

taskset -c "${cpus[1]}" timeout 100 sh -c 'while :; do :; done' &
load=$!
# The ranks sleep for two seconds, so all load on their CPUs comes from other programs.
taskset -c "${cpus[0]},${cpus[1]}" mpirun -n 2 --bind-to none "$CONTEND_FAKE" bench faketeam \
    --placement partition -p mode=rest -p step=2s --rounds 1 --no-plots \
    --out "$scratch/run" >"$scratch/log" 2>&1 </dev/null || fail "exit $?: $(cat "$scratch/log")"
kill "$load"
share=$(jq '.arms[0].observations[0] | .foreign_cpu + .steal' "$scratch/run/run.json")
jq -en "$share > 0.8" >/dev/null ||
    fail "foreign CPU time $share beside a busy loop on the only CPU of a rank"
grep -q ',noisy,.*of the CPU time' "$scratch/run/rows.csv" ||
    fail "no noisy row: $(cat "$scratch/run/rows.csv")"
finish
