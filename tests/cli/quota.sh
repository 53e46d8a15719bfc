#!/usr/bin/env bash
# A run reports at its start that a cgroup grants less time than the CPUs have.
. tests/lib/cli.sh
. tests/lib/quota.sh
needs root
make_group && quota 50 || skip "no cgroup with a CPU controller can be made here"

expect 0 'warning: the cgroup grants the time of 0.5 CPUs and allows' "${within[@]}" \
    "$CONTEND_FAKE" bench fake --rounds 1 --time 0.1 --no-plots --out "$scratch/out"
grep -q '"the cgroup grants the time of 0.5 CPUs' "$scratch/out/run.json" || fail "not in run.json"

# A worker that needs more time is throttled. That is a separate part of its step time, not also part of its wait. A
# tenth of a CPU is less than even a busy machine leaves.
quota 10
expect 0 'none[~ ]' "${within[@]}" \
    "$CONTEND_BINARY" run --workers 2 --placement none --rounds 1 --time 1 --no-canary --no-baselines --no-plots --out "$scratch/stopped" -- \
    sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done'
tr -s '\n ' ' ' <"$scratch/stopped/summary.txt" | grep -q 'a quota of CPU time (cpu.max) stopped it' ||
    fail "nothing of the quota: $(cat "$scratch/stopped/summary.txt")"
rows=$scratch/stopped/rows.csv
awk -v whole="$(cell "$rows" none 2 step_time_mean median)" -v on="$(cell "$rows" none 2 oncpu_per_step median)" \
    -v queue="$(cell "$rows" none 2 runqueue_wait_per_step median)" \
    -v stopped="$(cell "$rows" none 2 throttled_per_step median)" \
    -v blocked="$(cell "$rows" none 2 blocked_per_step median)" 'BEGIN {
        sum = on + queue + stopped + blocked
        exit !(stopped > 0 && queue >= 0 && sum > 0.999 * whole && sum < 1.001 * whole) }' ||
    fail "parts that do not add up, or nobody was stopped: $(grep per_step "$rows" | cut -d, -f3-5,9,14)"
finish
