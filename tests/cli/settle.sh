#!/usr/bin/env bash
# The first steps under contention do not count, and at least three steps do. If the limit has no room for three, the
# run says so.
. tests/lib/cli.sh

value() { # value DIR ROLE METRIC: the medians of all such rows, each once
    columns "$scratch/$1/rows.csv" role metric median | sed -n "s/^$2,$3,//p" | sort -u | paste -sd ' '
}

# A step is longer than the warm-up and the measuring time: without the rule, one step each; so three count.
expect 0 . "$CONTEND_FAKE" bench fake --workers 2 --placement none --rounds 1 --warmup 1ms \
    --time 10ms -p step=100ms --no-plots --out "$scratch/steady"
[ "$(value steady baseline early_steps)" = 1 ] || fail "alone: other than one step before the first"
[ "$(value steady foreground early_steps)" = 2 ] || fail "together: none of the first steps left out"
[ "$(value steady foreground round_steps)" = 3 ] || fail "fewer steps than three"

expect 0 'none.*: only 1 step of a worker in 1 of 1 round' \
    "$CONTEND_FAKE" bench fake --workers 2 --placement none --rounds 1 --warmup 1ms --time 10ms \
    -p step=700ms --limit 1.3 --no-plots --out "$scratch/short"
[ "$(value short foreground round_steps)" = 1 ] || fail "steps that the limit has no room for"

# Ranks that wait for each other leave out the same number of steps.
expect 0 . "$CONTEND_FAKE" bench fakemarch --workers 3 --placement none --rounds 1 --warmup 100ms \
    --time 100ms -p step=7ms --no-plots --out "$scratch/march"

# A dose of contention reaches its level before steps count. It has a row, and is named above the table.
dosed=("$CONTEND_BINARY" run pipeline --device sim -n 2 -P partition --dose cpu=20% --rounds 1 --time 1 --no-baselines
    --no-canary --no-plots)
expect 0 'worker 2, dose cpu=20%: CPUs' "${dosed[@]}" --dry-run
expect 0 ', 1 round, dose cpu=20%$' "${dosed[@]}" --out "$scratch/dosed"
held=$(value dosed foreground dose)
awk -v held="$held" 'BEGIN { exit !(held >= 0.15 && held <= 0.25) }' || fail "a dose of cpu=20%: $held"
[ "$(columns "$scratch/dosed/rows.csv" params | grep -c 'dose=cpu:20%')" -gt 1 ] || fail "rows do not name the dose"
expect 0 ', 1 round, dose cpu=20%$' "$CONTEND_BINARY" report "$scratch/dosed"
finish
