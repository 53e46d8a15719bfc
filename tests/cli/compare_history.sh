#!/usr/bin/env bash
# contend compare --history: runs of one machine over time, made from a committed run by known factors.
. tests/lib/cli.sh
. tests/lib/history.sh
needs jq
from=$CONTEND_SOURCE_DIR/results/h100-vm/pipeline
[ -d "$from" ] || skip "no committed result here"

# year DIR FACTOR...: makes one run per day.
year() {
    local dir=$1 day=0 factor
    shift
    for factor in "$@"; do
        day=$((day + 1))
        history_run "$from" "$dir/host/$(printf '%02d' $((99 - day)))" "$day" "$factor"
    done
}
even=(1 1.01 0.99 1.02 0.98 1 1.01 0.99 1.005 1)

year "$scratch/even" "${even[@]}"
expect 0 '^figures: 0 SLOWER, 0 FASTER, 0 UNCLEAR.* 10' "$CONTEND_BINARY" compare --history "$scratch/even" --fail-on slower
expect 0 'figures: 0 SLOWER, 0 FASTER' "$CONTEND_BINARY" compare --history "$scratch/even"
for what in unclear missing slower,missing; do
    expect 2 "is slower or none, not '$what'" "$CONTEND_BINARY" compare --history "$scratch/even" --fail-on "$what"
done

# Directory names are in reverse order: the time in run.json decides.
year "$scratch/slower" "${even[@]}" 0.9 0.91 0.89 0.9 0.905 0.895
expect 0 'none, 2 workers: throughput -10\..*with run 11 of' "$CONTEND_BINARY" compare --history "$scratch/slower"
expect 1 '10 SLOWER' "$CONTEND_BINARY" compare --history "$scratch/slower" --fail-on slower
expect 0 'figures: 0 SLOWER' "$CONTEND_BINARY" compare --history "$scratch/slower" --fail-on slower --threshold 20

# A metric that fails in the last runs has no values there and so cannot get slower: that must not count as success.
cp -r "$scratch/even" "$scratch/failed"
for day in 89 90; do # the last two
    awk -F, -v OFS=, '$3 == "none" && $5 == "foreground" { $21 = "failed"; $22 = "a wrong result" } { print }' \
        "$scratch/even/host/$day/rows.csv" > "$scratch/failed/host/$day/rows.csv"
done
expect 4 'failed in 2 of 10 runs' "$CONTEND_BINARY" compare --history "$scratch/failed" --fail-on slower
"$CONTEND_BINARY" compare --history "$scratch/failed" | tr '\n' ' ' | grep -q 'the latest: pipeline, none, 2 workers' ||
    fail "it does not say what failed"

# JSON output, with a figure.
json=$("$CONTEND_BINARY" compare --history "$scratch/slower" --json --out "$scratch/drawn" 2>"$scratch/log") ||
    fail "$(cat "$scratch/log")"
[ "$(jq '.runs | length' <<<"$json")" = 16 ] || fail "other than 16 runs"
jq -e '[.figures[] | select(.metric == "throughput") | .changes[] | .run] == [10, 10, 10, 10, 10]' \
    <<<"$json" >/dev/null || fail "other changes: $(jq -c '.figures[].changes' <<<"$json")"
jq -e '[.findings[] | select(.outcome == "SLOWER" and .id == "history_change")] | length == 10' \
    <<<"$json" >/dev/null || fail "other findings"
[ -s "$scratch/drawn/plots/history.dat" ] || fail "no data of a figure"
if command -v gnuplot >/dev/null; then
    grep -q '</svg>' "$scratch/drawn/plots/history.svg" || fail "no figure"
    grep -q 'throughput, items/s: pipeline' "$scratch/drawn/plots/history.svg" || fail "no panel"
fi

# Too few runs, no runs, and a directory that is not a result.
year "$scratch/few" 1 1 1 0.5 0.5
expect 4 '5 runs of one machine: finding a change takes' "$CONTEND_BINARY" compare --history "$scratch/few"
mkdir "$scratch/empty"
expect 2 'no result below these directories' "$CONTEND_BINARY" compare --history "$scratch/empty"
expect 2 "cannot open the directory '.*gone'" "$CONTEND_BINARY" compare --history "$scratch/gone"
expect 2 'are for BASE and NEW' "$CONTEND_BINARY" compare --history "$scratch/even" -v
expect 2 'need --history DIR' "$CONTEND_BINARY" compare --out x a b
"$CONTEND_BINARY" compare --history "$scratch/slower" --markdown | grep -q 'SLOWER' || fail 'no Markdown'
cp -r "$scratch/few" "$scratch/bad"
sed -i '17s/,ok,/,fine,/' "$scratch/bad/host/97/rows.csv"
expect 2 "bad/host/97': rows.csv, line 17: status 'fine' is none" "$CONTEND_BINARY" compare --history "$scratch/bad"

# Runs of two machines: the user has to choose one.
cp -r "$scratch/even" "$scratch/two"
for run in "$scratch"/two/host/9[0-4]; do
    jq '.machine = {key: "0123456789abcdef", kind: "x", identity: "uuid"}' "$run/run.json" >"$run/new"
    mv "$run/new" "$run/run.json"
done
expect 2 'runs of 2 machines: choose one by --machine KEY' "$CONTEND_BINARY" compare --history "$scratch/two"
expect 2 '0123456789abcdef: 5 runs, such as ' "$CONTEND_BINARY" compare --history "$scratch/two"
expect 4 '^5 runs of one machine' "$CONTEND_BINARY" compare --history "$scratch/two" --machine 0123456789abcdef
expect 2 'no result of machine ffff below' "$CONTEND_BINARY" compare --history "$scratch/two" --machine ffff

# A directory that is named twice, or that links to a parent, contributes its runs once.
ln -s .. "$scratch/even/host/loop"
expect 0 '^10 runs of one machine' "$CONTEND_BINARY" compare --history "$scratch/even"
expect 0 '^10 runs of one machine' "$CONTEND_BINARY" compare --history "$scratch/even" --history "$scratch/even/host"
finish
