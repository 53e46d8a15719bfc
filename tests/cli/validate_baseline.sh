#!/usr/bin/env bash
# contend validate --bounds of this machine: it runs what there are bounds for, and judges by them;
# and what validate --out wrote is read as results of a fleet.
. tests/lib/cli.sh
needs jq
cd "$scratch" || exit 1
mkdir tmp
export TMPDIR=$scratch/tmp # others' files in /tmp are none of ours
validate=("$CONTEND_FAKE" validate --only baseline)

# The bounds of a scenario, wide enough for any machine, of a version without a parameter, which has its default here; then
# such as no machine can reach.
expect 0 . "$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 2 --time 0.05 --no-plots --out one
expect 0 'bounds +2 figures' "$CONTEND_FAKE" validate bounds one -o made.json
edit() { jq "(.bounds[] | select(.metric == \"throughput\")) |= ($2) |
    (.bounds[] | select(.metric == \"step_time\")) |= (.upper = null | .lower = null)" made.json > "$1"; }
edit wide.json '.lower = 1 | .upper = null'
jq '.bounds[].params |= sub("step=[^;]*;"; "")' wide.json > older.json
! grep -q step= older.json || fail "$(cat older.json)"
edit far.json '.reference = 1e9 | .lower = 9e8 | .upper = 2e9'
"${validate[@]}" --bounds older.json > wide.out 2>&1 & # both sleep for most of their time
wide_pid=$!
"${validate[@]}" --bounds far.json --out told --junit told.xml > /dev/null 2> log
got=$? outcome=$(jq -r '.findings[] | .outcome' told/validate.json)
wait "$wide_pid" && grep -Eq '^PASS +baseline: baseline' wide.out || fail "wide bounds: $(cat wide.out)"
case "$got $outcome" in # a disturbed figure warns
"1 FAIL" | "0 WARN") ;;
*) fail "exit $got: $(cat log told/validate.json)" ;;
esac
[ "$(jq -r '.findings[] | .id, .metric, .low' told/validate.json | paste -sd' ')" = \
    'baseline throughput 900000000' ] || fail "$(cat told/validate.json)"
# It was run once more, and both results are told.
[ "$(grep -c 'measuring fake for the baseline' log)" = 2 ] || fail "no second look: $(cat log)"
jq -r '.findings[].evidence' told/validate.json |
    grep -Eq '^first look (FAIL|WARN) \([0-9.e+]+ .*\), second (FAIL|WARN) \([0-9.e+]+ .*\); .* is usual' ||
    fail "not both looks: $(cat told/validate.json)"
[ "$got" != 1 ] || grep -q '<failure' told.xml || fail "no failure in JUnit"
rm -f told.xml
[ -z "$(ls "$TMPDIR")" ] || fail "a temporary directory is left: $(ls "$TMPDIR")"

# Runs of other parameters are repeated with them; what no run gives is not "lacking".
expect 0 . "$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 2 --time 0.05 -p step=4ms --no-plots --out slow
"$CONTEND_FAKE" validate bounds slow -o slow.json > /dev/null
jq '(.bounds[] | .lower, .upper) |= null' slow.json > open.json
grep -q '"params": "step=0.004;' slow.json || fail "$(cat slow.json)"
expect 0 '^PASS +baseline: baseline' "${validate[@]}" --bounds open.json
jq '.bounds[].params |= sub("slots=2"; "slots=2;variant=a")' open.json > variant.json
expect 3 '^ERROR +fake: not looked at: its bounds are of other parameters, of a variant' "${validate[@]}" --bounds variant.json
jq '.bounds[].params |= "nosuch=1;" + .' open.json > nosuch.json
expect 3 "^ERROR +fake: not looked at: .*nosuch" "${validate[@]}" --bounds nosuch.json

# Such bounds are of no results with another value; and the other way round, bounds have it and results do not.
expect 0 '^0 of 1 machines fail' "$CONTEND_FAKE" validate fleet one --bounds older.json
expect 1 'lacks' "$CONTEND_FAKE" validate fleet slow --bounds older.json
cp -r one old
sed -i 's/step=[^;]*;//' old/rows.csv
expect 0 '^0 of 1 machines fail' "$CONTEND_FAKE" validate fleet old --bounds wide.json

# Without it the rule says what it needs, and is an error where it is required.
expect 4 '^SKIP +needs --bounds FILE: baseline' "${validate[@]}"
expect 3 'ERROR.*needs --bounds FILE' "${validate[@]}" --require baseline

# What is required and could not be looked at is no pass; what is not required is skipped.
expect 3 "^ERROR +fake: not looked at: 'fake' takes " "${validate[@]}" --bounds wide.json --max-time 1
expect 3 '^ERROR +fake: not looked at: .*--no-measure' "${validate[@]}" --bounds wide.json --no-measure
jq '.bounds[].required = false' wide.json > optional.json
expect 4 '^SKIP +.*--no-measure' "${validate[@]}" --bounds optional.json --no-measure
expect 3 '^ERROR +.*--no-measure' "${validate[@]}" --bounds optional.json --no-measure --require baseline
jq '.bounds[0].required = false' wide.json > half.json # the first of two that nobody looks at
expect 3 '^ERROR +.*--no-measure' "${validate[@]}" --bounds half.json --no-measure
jq '.bounds[].metric |= . + "s"' optional.json > misspelt.json
expect 4 '^SKIP +none of the figures that were measured has a bound' "${validate[@]}" --bounds misspelt.json
expect 4 'no figure of the bounds is in these results' "$CONTEND_FAKE" validate fleet one \
    --bounds misspelt.json
jq '.bounds[].scenario = "gone"' wide.json > gone.json
expect 3 "has no scenario or benchmark 'gone'" "${validate[@]}" --bounds gone.json
jq '.kind = "64 x Cray"' wide.json > kind.json
expect 2 "kind.json: its bounds are of another kind of machine, '64 x Cray', and this is '[0-9]+ x " \
    "${validate[@]}" --bounds kind.json --junit told.xml
case "$("${validate[@]}" --bounds kind.json 2>&1)" in
*measuring* | *$'\n'*) fail "it measures before it refuses, or says more than a line" ;;
esac
[ ! -e told.xml ] || fail "a refused baseline has a verdict"

# A broken file, before anything is measured.
jq '.bounds[0].lower = 5e99' made.json > swapped.json
expect 2 'swapped.json' "${validate[@]}" --bounds swapped.json
expect 2 "cannot read the baseline 'none.json'" "${validate[@]}" --bounds none.json

# What validate itself measured, as results of three machines: a baseline of them, and this machine by it.
record() { # record DIR HOST VALUE [VERDICT TEXT]
    mkdir -p "$1"
    jq --arg host "$2" --argjson value "$3" --arg verdict "${4:-PASS}" --arg text "${5-}" '
        .host = $host | .verdict = $verdict | .text = $text | .measured = [{probe: "memory_bandwidth",
        metric: "bandwidth", key: "op=triad;threads=2", unit: "GB/s", better: "higher", gates: true,
        value: $value, why: null}]' told/validate.json > "$1/validate.json"
}
record fleet/1 n1 20
record fleet/2 n2 21
record fleet/3/deep n3 20.5
expect 0 '3 of 3' "$CONTEND_FAKE" validate bounds fleet -o fleet.json
grep -q '"scenario": "validate", .*"params": "level=quick;slots=1;op=triad;threads=2"' fleet.json || fail "$(cat fleet.json)"
record fleet/4 n4 7
expect 1 '^n4 +FAIL +-66% +bandwidth of memory_bandwidth' "$CONTEND_FAKE" validate fleet fleet --bounds fleet.json
# Figures as good as any, but its own rules refused the machine: it fails, and is in no baseline.
record fleet/4 n4 20 FAIL 'FAIL: 1 rule (gpu_count)'
expect 1 '^n4 +FAIL +its own rules: FAIL: 1 rule' "$CONTEND_FAKE" validate fleet fleet --bounds fleet.json
expect 0 '3 of 4' "$CONTEND_FAKE" validate bounds fleet -o without.json
grep -q '"machine": "n4", "reason": "its own rules: FAIL: 1 rule (gpu_count)"' without.json || fail "$(cat without.json)"
for i in 1 2 3; do record "refused/$i" "n$i" 20 FAIL 'FAIL: 1 rule (ecc)'; done
expect 4 'all 3 machines are left out, the first since its own rules: FAIL: 1 rule \(ecc\)$' "$CONTEND_FAKE" \
    validate bounds refused -o refused.json
[ ! -e refused.json ] || fail "a baseline of nobody"
record fleet/4 n4 7
sed 's/level=quick/level=standard/' fleet.json > standard.json # as quick measures for seconds only
expect 3 'not looked at: its bounds are of another level: level=standard' "$CONTEND_BINARY" validate --only baseline \
    --bounds standard.json
sed -i 's/"unit": "GB.s"/"unit": ""/' fleet/4/validate.json
expect 2 "fleet/4': validate.json: 'bandwidth' of measured is no figure" "$CONTEND_FAKE" validate fleet fleet
sed -i '5s/.*/,/' fleet/4/validate.json
expect 2 "fleet/4': validate.json, line 5: " "$CONTEND_FAKE" validate fleet fleet

# Of the program itself, the tool has the one beside it measure.
expect 0 . "$CONTEND_BINARY" bench context_switch --placement none --workers 1 --rounds 2 --time 0.05 --no-plots --out real
"$CONTEND_BINARY" validate bounds real -o real.json > /dev/null
jq '(.bounds[] | .lower, .upper) |= null' real.json > any.json
expect 0 '^PASS +baseline: baseline' "$CONTEND_BINARY" validate --only baseline --bounds any.json
finish
