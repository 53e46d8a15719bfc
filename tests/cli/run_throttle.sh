#!/usr/bin/env bash
# contend run --dose throttle=...: a quota takes that share of a spinning command's CPU time, and no cgroup is left.
. tests/lib/cli.sh
. tests/lib/quota.sh

needs root two-cpus python3
make_group || skip "no cgroup with a CPU controller can be made here"
# shellcheck disable=SC2016 # the command's shell
spin='spin() { i=0; while [ $i -lt 600000 ]; do i=$((i + 1)); done; }; spin & spin; wait'

# Two spinning processes on two CPUs, whose demand ends with each run. Checks the level that the control loop held, and
# the time for which the kernel stopped them.
throttled() {
    "${within[@]}" "$CONTEND_BINARY" run --device sim --no-canary --no-plots --host h -P none -n 1 --time 3 --rounds 1 --dose throttle=0,20% \
        -o "$scratch/out" -- sh -c "$spin" > "$scratch/said" 2> "$scratch/log" || fail "exit $?: $(cat "$scratch/log")"
    "$CONTEND_BINARY" report --json "$scratch/out" | python3 -c '
import csv, json, sys
dosing = json.load(sys.stdin)["dosing"]
idle, dosed = dosing["curves"][0]["points"]
assert dosing["kind"] == "throttle" and dosed["dose"] == 0.2 and idle["dose"] == 0, dosing
part = {row["metric"]: float(row["median"] or 0) for row in csv.DictReader(open(sys.argv[1])) if "throttle:20%" in row["params"]}
lost = part["throttled_per_step"] / (part["throttled_per_step"] + part["oncpu_per_step"])
print("held %.3f, lost %.3f" % (dosed["held"], lost))
sys.exit(not (0.12 < dosed["held"] < 0.28 and 0.12 < lost < 0.32))
' "$scratch/out/rows.csv" > "$scratch/numbers"
}
retry throttled || fail "not about 20% of it: $(cat "$scratch/numbers")"
tr -s '\n ' ' ' < "$scratch/said" | grep -Eq 'At throttle=20% none keeps [0-9]+% of its throughput; the dose alone would leave 80%' ||
    fail "no sentence of the dose: $(cat "$scratch/said")"
grep -q 'CPU quotas stopped workers' "$scratch/log" || fail "nothing of quotas: $(cat "$scratch/log")"
expect_equal "cgroups that are left" "$(find "$group" -mindepth 1 -type d)" ""

# A worker that waits is not stopped, which is reported.
"$CONTEND_BINARY" run --device sim --no-canary --no-plots --no-baselines -P none -n 1 --time 1 --rounds 1 --dose throttle=40% \
    -o "$scratch/asleep" -- sleep 1 > "$scratch/said" 2> "$scratch/log" || fail "exit $?: $(cat "$scratch/log")"
tr -s '\n ' ' ' < "$scratch/said" | grep -q 'The dose of throttle=40% was not held under none: .*hardly stops workers that wait' ||
    fail "a dose that sleep does not feel: $(cat "$scratch/said")"
finish
