#!/usr/bin/env bash
# A placement or value that is named twice is measured once: rows with equal keys would be
# ambiguous.
. tests/lib/cli.sh
needs jq
out="$scratch/out"
expect 0 . "$CONTEND_FAKE" run fake --placement none,none --workers 2,1,2 --rounds 1 --time 0.1 \
    --warmup 0.01 --no-plots --out "$out"
twice=$(columns "$out/rows.csv" scenario placement workers role bench params metric | sort | uniq -d)
[ -z "$twice" ] || fail "rows with the same key: $twice"
[ "$(jq -c '[.arms[] | select(.alone | not) | .workers]' "$out/run.json")" = '[2,1]' ] ||
    fail "other workers than 2 and 1: $(jq -c '[.arms[].workers]' "$out/run.json")"
expect 2 "scenario 'fake' is named twice" "$CONTEND_FAKE" run fake fake --out "$scratch/none"
[ ! -e "$scratch/none" ] || fail "a refused run made a directory"
finish
