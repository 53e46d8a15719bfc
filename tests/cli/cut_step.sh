#!/usr/bin/env bash
# The limit cuts off a step while the worker reads its own use: worker and parent each have a reading of their own.
. tests/lib/cli.sh

expect 0 . "$CONTEND_BINARY" bench prep --threads 500 -n 1 -p rows=500 -p cols=64 --warmup 0.01 \
    --time 0.2 --limit 0.2 --rounds 20 --no-baselines --no-canary --no-plots --out "$scratch/cut"
switches=$(sed -n 's/.*"\(in\)\?voluntary_switches": \([^,]*\),.*/\2/p' "$scratch/cut/run.json")
[ "$(wc -l <<<"$switches")" = 40 ] || fail "not 20 rounds with both kinds of switches: $switches"
! grep -q -- '^-' <<<"$switches" || fail "negative switches: $switches"
teams=$(sed -n 's/.*"team_threads": \([0-9]*\).*/\1/p' "$scratch/cut/run.json" | sort -u)
[ "$teams" = 500 ] || fail "threads: $teams"

# A large team is counted whole.
expect 0 . "$CONTEND_BINARY" bench prep --threads 1200 -n 1 -p rows=500 -p cols=64 --warmup 0.01 \
    --time 0.2 --rounds 1 --no-baselines --no-canary --no-plots --out "$scratch/large"
grep -q '"team_threads": 1200' "$scratch/large/run.json" ||
    fail "threads: $(grep team_threads "$scratch/large/run.json")"
finish
