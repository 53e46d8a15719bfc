#!/usr/bin/env bash
# Each round of a run has canary rows, and they change nothing in the report on the measured arms.
. tests/lib/cli.sh
needs jq

run() { # run DIR [option...]
    local out="$scratch/$1"
    shift
    expect 0 . "$CONTEND_BINARY" run pipeline --device sim --placement none,sized --workers 2 --rounds 2 \
        --time 0.1 --warmup 0.01 -p rows=512 --limit 100 --no-plots --out "$out" "$@"
}
run with
run without --no-canary

for metric in canary_integer canary_latency canary_copy; do
    rows=$(columns "$scratch/with/rows.csv" role bench metric rounds |
        grep -c "^canary,canary,$metric,2$")
    [ "$rows" = 1 ] || fail "$rows rows of $metric: $(grep canary "$scratch/with/rows.csv")"
    values=$(columns "$scratch/with/rounds.csv" role bench metric round value |
        grep -cE "^canary,canary,$metric,[01],[0-9.]+$")
    [ "$values" = 2 ] || fail "$values rounds of $metric: $(grep canary "$scratch/with/rounds.csv")"
done
! grep -q canary "$scratch/without/rows.csv" || fail "canary rows with --no-canary"
jq -e '[.arms[].canary] | .[-1] and (.[:-1] | any | not)' "$scratch/with/run.json" >/dev/null ||
    fail "not the last arm: $(jq -c '[.arms[].canary]' "$scratch/with/run.json")"
[ "$(jq '[.arms[].observations[].order] | unique | length' "$scratch/with/run.json")" = 5 ] ||
    fail "not in the order of the round"

# Without the canary rows, rows.csv has the same keys as a run without canary.
keys() {
    columns "$1/rows.csv" placement workers role bench params metric | grep -v ',canary,'
}
cmp <(keys "$scratch/with") <(keys "$scratch/without") || fail "other rows beside the canary's"
! grep -q '^canary\|canary_' "$scratch/with/summary.txt" || fail "the table has canary rows"
! grep -rq canary "$scratch/with/plots" || fail "figures have canary rows"

# Without the canary's lines, the same files give the same report, except for statements about the machine.
mkdir "$scratch/cut"
grep -v ',canary,canary,' "$scratch/with/rows.csv" >"$scratch/cut/rows.csv"
grep -v ',canary,canary,' "$scratch/with/rounds.csv" >"$scratch/cut/rounds.csv"
jq '.arms |= map(select(.canary | not))' "$scratch/with/run.json" >"$scratch/cut/run.json"
said() {
    "$CONTEND_BINARY" report "$1" 2>/dev/null </dev/null | grep -v '^Results: \|^Details: \|drew'
}
cmp <(said "$scratch/with") <(said "$scratch/cut") || fail "the table or the advice knows of the canary"

# Run by itself, the canary is a benchmark like any other. A program without this benchmark has no canary rows.
expect 0 'canary_copy' "$CONTEND_BINARY" bench canary --rounds 1 --no-plots --out "$scratch/alone"
columns "$scratch/alone/rows.csv" role metric | grep -qx 'foreground,canary_copy' || fail "not measured"
expect 0 . "$CONTEND_FAKE" bench fakescan --rounds 1 --time 0.1 --no-plots --out "$scratch/fake"
! grep -q canary "$scratch/fake/rows.csv" || fail "a canary that is not in the table"
expect 0 'canary +how fast' "$CONTEND_BINARY" info
finish
