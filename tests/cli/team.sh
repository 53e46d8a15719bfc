#!/usr/bin/env bash
# Ranks that wait for each other: their baseline is the whole team without the load. If a rank dies, the others end at
# once, and the reason names it.
. tests/lib/cli.sh

# team DIR CODE [option...]: runs a team and checks the exit code. `expect` ends long before this limit.
team() {
    local out=$scratch/$1 code=$2
    shift 2
    expect "$code" . "$CONTEND_FAKE" run team --workers 3 --rounds 2 --time 0.1 --warmup 0.01 \
        --limit 600 --no-plots --out "$out" "$@"
}

team ok 0
rows=$(columns "$scratch/ok/rows.csv" placement workers params metric rounds median |
    sed 's/[^,]*slots=/slots=/')
[ "$rows" = "none,3,slots=3;background=fake:3;ranks=3,rank_sum,2,4
none,3,slots=3;background=fake:3;ranks=3,retention,2,1
none,3,slots=3;background=none;ranks=3,rank_sum,2,4
sized,3,slots=3;background=fake:3;ranks=3,rank_sum,2,4
sized,3,slots=3;background=fake:3;ranks=3,retention,2,1" ] || fail "rows of a team: $rows"

# The libraries that the workers loaded, for each worker and for the run.
grep -q '"nccl": "0.0.0-fake"' "$scratch/ok/run.json" || fail "environment.nccl is not in run.json"
workers=$(grep -c '"measured_s":' "$scratch/ok/run.json")
named=$(grep -c '"library": "NCCL 0.0.0-fake"' "$scratch/ok/run.json")
[ "$workers" -gt 0 ] && [ "$named" = "$workers" ] ||
    fail "$named of $workers workers say which library they loaded"

expect 0 'faketeam keeps 100% of its idle speed' "$CONTEND_FAKE" run team --workers 3 --rounds 1 \
    --limit 60 --time 0.1 --no-plots --out "$scratch/idle_speed"

# Without a baseline, the values of a team under load are still reported.
expect 0 'rank_sum +4' "$CONTEND_FAKE" run team --workers 3 --rounds 1 --time 0.1 --limit 60 --no-plots \
    --no-baselines --out "$scratch/alone"

team dead 3 -p mode=crash -p bad_worker=1 --rounds 1
grep -q ',failed,worker 1: killed by signal 9 (Killed) while running' "$scratch/dead/rows.csv" ||
    fail "the dead rank is not named:"$'\n'"$(cat "$scratch/dead/rows.csv")"

# The rank that fails or hangs is named, in any phase, not the ranks that wait for it.
lost() { # lost MODE REASON [option...]
    local mode=$1 reason=$2
    shift 2
    expect 3 "faketeam: (failed|hung): worker 1: $reason" "$CONTEND_FAKE" bench faketeam --workers 3 \
        -p "mode=$mode" -p bad_worker=1 --rounds 1 --time 0.1 --limit 60 --setup-limit 60 \
        --no-plots --out "$scratch/$mode" "$@"
}
lost fail-setup 'the fake is told to fail its setup'
in_background lost hang-setup 'no progress within .* while setup' --setup-limit 10
lost fail-run 'the fake is told to fail its run'
lost hang-run 'not at its end within 1 s .--limit.' --limit 1
lost fail-check 'the fake is told that its result is wrong'
lost hang-teardown 'the fake is told to fail its run'

# Without a background there is no baseline to compare with.
expect 0 . "$CONTEND_FAKE" bench faketeam --workers 2 --rounds 1 --time 0.1 --limit 60 --no-plots \
    --out "$scratch/plain"
! grep -q 'retention\|background' "$scratch/plain/rows.csv" || fail "a baseline without a load"
finish
