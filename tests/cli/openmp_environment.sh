#!/usr/bin/env bash
# OpenMP's own variables do not change which machine contend sees. Their effect on workers is reported once, kept in
# run.json, and read back.
. tests/lib/cli.sh
needs jq two-cpus
unset "${!OMP_@}" "${!GOMP_@}" "${!KMP_@}"
cpus=$(nproc)
all=$("$CONTEND_BINARY" info --json | jq -r .cpus.allowed)

# libgomp's constructor binds the first thread before main runs.
for setting in OMP_PROC_BIND=true OMP_PROC_BIND=close OMP_PLACES=cores "OMP_PLACES={0}" \
    GOMP_CPU_AFFINITY=0-1 GOMP_CPU_AFFINITY=1; do
    allowed=$(env "$setting" "$CONTEND_BINARY" info --json 2>/dev/null | jq -r .cpus.allowed)
    [ "$allowed" = "$all" ] || fail "$setting: CPUs $allowed are allowed, of $all"
done
# Only the CPUs that the process was given are restored.
first=${all%%[-,]*}
said=$(OMP_PROC_BIND=true taskset -c "$first" "$CONTEND_BINARY" info)
[[ $said == *"of which 1 are allowed: $first"$'\n'* ]] || fail "taskset -c $first is lost: $said"

# run NAME=VALUE [option...]: runs two workers. Messages go to $log, the result to $json.
run() {
    local setting=$1
    log=$scratch/$setting.log json=$scratch/$setting/run.json
    shift
    timeout 200 env "$setting" "$CONTEND_BINARY" run pipeline -n 2 --device sim --rounds 1 --time 0.1 \
        --warmup 0.01 -p rows=512 --limit 100 --placement none,partition --no-baselines --no-canary --no-plots \
        --out "$scratch/$setting" \
        "$@" >"$log" 2>&1 </dev/null || fail "$setting: exit $?"$'\n'"$(cat "$log")"
    said=$(grep -c "warning: $setting is set: " "$log")
    [ "$said" = 1 ] || fail "$setting: said $said times"$'\n'"$(cat "$log")"
    jq -e --arg setting "$setting is set: " '[.notes[] | select(startswith($setting))] | length == 1' \
        "$json" >/dev/null || fail "$setting: notes: $(jq -c .notes "$json")"
    jq -e --arg setting "$setting" '.environment.variables as $seen | $setting | split("=") |
        $seen[.[0]] == .[1]' "$json" >/dev/null ||
        fail "$setting: variables: $(jq -c .environment.variables "$json")"
    # The workers got what the plan says.
    holds '[.arms[].observations[].workers[].status] | length == 4 and all(. == "ok")'
    holds '[.arms[] | .plan.workers[] | .cpus == .cpus_actual] | length == 4 and all'
}
holds() {
    jq -e "$1" "$json" >/dev/null ||
        fail "$(basename "$(dirname "$json")"): not so in run.json: $1"$'\n'"$(jq -c '[.arms[] |
            {placement, workers: [.observations[].workers[] | del(.witness)]}]' "$json")"
}
all_workers='[.arms[] | select(.placement == "none") | .observations[].workers[]]'

# Bound threads stay inside the slices, and the result shows where an unpinned worker ran.
for setting in OMP_PROC_BIND=true OMP_PLACES=threads; do
    run "$setting" --threads 1
    holds "$all_workers | length == 2 and all(.cpus_threads != null and .cpus_threads != .cpus_actual)"
done
run "OMP_PLACES={$first}" # the other worker's slice has none of it
run GOMP_CPU_AFFINITY="$first"
holds "$all_workers | all(.cpus_threads == null)"

# The placement `passive` always waits asleep; other placements wait as the user's settings say.
# shellcheck disable=SC2016 # the inner shell's
GOMP_SPINCOUNT=7 OMP_WAIT_POLICY=active "$CONTEND_FAKE" run --placement none,passive --workers 2 --rounds 1 \
    --time 0.05 --no-baselines --no-canary --no-plots --out "$scratch/passive" -- sh -c '
        said=$(env | grep -E "^(OMP_WAIT_POLICY|GOMP_SPINCOUNT)=" | sort | xargs)
        echo "$said" >>"$0"' "$scratch/said" >"$scratch/log" 2>&1 </dev/null || fail "exit $?: $(cat "$scratch/log")"
sort -u "$scratch/said" >"$scratch/waits"
for want in 'GOMP_SPINCOUNT=7 OMP_WAIT_POLICY=active' 'OMP_WAIT_POLICY=passive'; do
    grep -qx "$want" "$scratch/waits" || fail "no worker with $want: $(cat "$scratch/waits" "$scratch/log")"
done
[ "$(wc -l <"$scratch/waits")" = 2 ] || fail "other workers: $(cat "$scratch/waits")"

# The table also reports teams smaller than planned.
run OMP_THREAD_LIMIT=1
holds "$all_workers | length == 2 and all(.least_team == 1)"
grep -q "^- none: OpenMP gave worker 0 a team of 1 of the $cpus threads planned$" "$log" ||
    fail "a smaller team is not reported: $(cat "$log")"
run OMP_NUM_THREADS=1
holds "$all_workers | length == 2 and all(.least_team == $cpus)"
! grep -q 'OpenMP gave' "$log" || fail "the whole team is reported as a smaller one: $(cat "$log")"
run OMP_DYNAMIC=true
run OMP_WAIT_POLICY=passive

# Settings without effect give no message.
OMP_PROC_BIND=false OMP_THREAD_LIMIT=$cpus "$CONTEND_BINARY" bench pipeline --device sim --rounds 1 \
    --time 0.1 --no-plots --out "$scratch/quiet" >"$scratch/quiet.log" 2>&1 </dev/null
! grep -q warning "$scratch/quiet.log" || fail "said for nothing: $(cat "$scratch/quiet.log")"
finish
