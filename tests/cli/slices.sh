#!/usr/bin/env bash
# A baseline uses another slice of its plan in each round, and the files record which one.
. tests/lib/cli.sh

needs two-cpus jq
expect 0 . "$CONTEND_FAKE" bench fake --placement partition --workers 2 --rounds 2 --time 0.1 \
    --no-plots --out "$scratch/run"
alone='.arms[] | select(.alone)'
planned=$(jq -c "[$alone | .plan.workers[].cpus]" "$scratch/run/run.json")
ran=$(jq -c "[$alone | .observations | sort_by(.slot)[].workers[0].cpus_actual]" "$scratch/run/run.json")
[ "$planned" = "$ran" ] || fail "planned $planned, and alone ran on $ran"
actual=$(jq -c "[$alone | .plan.workers[].cpus_actual]" "$scratch/run/run.json")
[ "$planned" = "$actual" ] || fail "planned $planned, and beside it stands $actual"
[ "$(jq -c "[$alone | .observations[].slot] | sort" "$scratch/run/run.json")" = '[0,1]' ] ||
    fail "not each slice once"
slots=$(jq -r "$alone | .observations[] | \"\(.round),\(.slot)\"" "$scratch/run/run.json" | sort)
samples=$(columns "$scratch/run/samples.csv" role round worker | sed -n 's/^baseline,//p' | sort -u)
[ "$slots" = "$samples" ] || fail "run.json has rounds and slots $slots, samples.csv $samples"
finish
