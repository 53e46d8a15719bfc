#!/usr/bin/env bash
# contend doctor --plan names threads outside the plan of their job, says who set their masks, and puts them back.
. tests/lib/cli.sh
: "${CONTEND_BUSY:?}"
. tests/lib/plant.sh
needs taskset two-cpus
plan=$scratch/plan.json
state=$scratch/state
masks() { grep -h Cpus_allowed_list /proc/"${faulty[0]}"/task/*/status | cut -f2 | sort -u | paste -sd' '; }
told() { # told KEY...: of the first finding of each line
    python3 -c 'import json, sys
for line in open(sys.argv[1]):
    print(*([f[key] for f in json.loads(line)["findings"][:1] for key in sys.argv[2:]] or ["none"]))' "$scratch/out" "$@"
}

# The plan is what `place` writes, here with two workers on a CPU each.
"$CONTEND_BINARY" place -n 2 -P partition --json >"$plan" || fail "place: $?"
python3 - "$plan" "$first" "$second" <<'PYTHON' || fail "no plan of two workers"
import json, sys
plan = json.load(open(sys.argv[1]))
assert len(plan["workers"]) == 2
for worker, cpu in zip(plan["workers"], sys.argv[2:]):
    worker.update(cpus=cpu, threads=4, mem_nodes="")
json.dump(plan, open(sys.argv[1], "w"))
PYTHON
plant env LOCAL_RANK=1 taskset -c "$second" "$CONTEND_BUSY" threads=2
plant env LOCAL_RANK=0 taskset -c "$first" "$CONTEND_BUSY" threads=2
holds() { [ "$(masks)" = "$1" ]; }
wait_for 60 holds "$second" || fail "the job has CPUs $(masks)"
both=(--pid "${faulty[0]}" --pid "${faulty[1]}")
turned=(--pid "${faulty[1]}" --pid "${faulty[0]}")

# Ranks are taken only where --pid does not name each worker; pids are taken in the order of the workers.
expect 1 "busy.*$first" "$CONTEND_BINARY" doctor --plan "$plan" --time 1 "${both[@]}"
expect 0 'no thread was outside the plan' "$CONTEND_BINARY" doctor --plan "$plan" --time 1 "${turned[@]}"
plant env -u LOCAL_RANK sleep 1000
expect 0 "worker 0, .*process ${faulty[1]}, by LOCAL_RANK" \
    "$CONTEND_BINARY" doctor --plan "$plan" --time 1 "${turned[@]}" --pid "${faulty[2]}"
expect 3 'type --pid PID for each' "$CONTEND_BINARY" doctor --plan "$plan" --time 1 --pid "${faulty[2]}"

# A job that keeps its plan gives no line; one whose mask is changed gives one for the change and one for the return.
"$CONTEND_BINARY" doctor --plan "$plan" --json --time 60 "${turned[@]}" >"$scratch/out" 2>"$scratch/errors" &
watcher=$!
wait_for 60 grep -q 'worker 1' "$scratch/errors" || fail "no workers: $(cat "$scratch/errors")"
sleep 1.5
[ ! -s "$scratch/out" ] || fail "a line without drift: $(cat "$scratch/out")"
taskset -acp "$first" "${faulty[0]}" >/dev/null
wait_for 60 test -s "$scratch/out" || fail "the drift is not seen"
[ "$(told id evidence command)" = "plan_drift outside taskset -acp $second ${faulty[0]}" ] || fail "$(cat "$scratch/out")"
taskset -acp "$second" "${faulty[0]}" >/dev/null
returned() { [ "$(told id | tail -n 1)" = none ]; }
wait_for 60 returned || fail "the return is not seen: $(cat "$scratch/out")"
kill -INT "$watcher"
wait "$watcher"
[ "$?" = 130 ] || fail "an interrupt of the watch"

# --apply binds what is outside, and --undo takes that back.
taskset -cp "$first" "${faulty[0]}" >/dev/null
expect 0 "bound 1 process" "$CONTEND_BINARY" doctor --plan "$plan" --time 1 "${turned[@]}" --apply --yes --state "$state"
holds "$second" || fail "not put back: $(masks)"
expect 0 '1 process may run' "$CONTEND_BINARY" doctor --undo --state "$state"
[ "$(masks | wc -w)" = 2 ] || fail "not undone: $(masks)"

# A job that ends is no drift.
kill -9 "${faulty[0]}" "${faulty[1]}"
plant "$CONTEND_BUSY" threads=1
printf '{"workers": [{"cpus": "%s", "threads": 1}]}' "$(python3 -c 'import os
print(*sorted(os.sched_getaffinity(0)), sep=",")')" >"$plan"
"$CONTEND_BINARY" doctor --plan "$plan" --time 600 --pid "${faulty[3]}" >"$scratch/said" 2>&1 &
watcher=$!
wait_for 60 grep -qs 'worker 0' "$scratch/said" || fail "no worker: $(cat "$scratch/said")"
kill -9 "${faulty[3]}"
wait "$watcher" || fail "the end of the job: $? $(cat "$scratch/said")"

echo '{}' >"$plan"
expect 2 'is no plan of one placement' "$CONTEND_BINARY" doctor --plan "$plan"
expect 2 '--plan excludes' "$CONTEND_BINARY" doctor --plan "$plan" --live
finish
