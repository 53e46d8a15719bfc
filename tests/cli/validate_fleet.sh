#!/usr/bin/env bash
# contend validate fleet judges a fleet from its results, by itself and by bounds.
. tests/lib/cli.sh
needs python3 jq
python3 tests/lib/make_fleet.py "$scratch/a" --machines 30 --rows 60 --bad 0.07 --off 0.4 --seed 3
results=("$CONTEND_BINARY" validate fleet "$scratch/a/results")

# By itself: the two bad machines are named.
expect 1 '^FAIL: 2 of 30 machines fail, 0 are odd, 28 pass' "${results[@]}"
while read -r machine _; do
    expect 1 "^$machine +FAIL" "${results[@]}"
    expect 1 "\"subject\": \"$machine\"" "${results[@]}" --json
done < "$scratch/a/truth"
"${results[@]}" | awk 'length($0) > 80 { print; found = 1 } END { exit found }' ||
    fail "lines of more than 80 columns"

# By bounds from a file, and by edited ones: open, for other machines, without bounds, narrower.
expect 0 '28 of 30' "$CONTEND_BINARY" validate bounds "$scratch/a/results" -o "$scratch/b.json"
expect 1 '^FAIL: 2 of 30 machines fail' "${results[@]}" --bounds "$scratch/b.json"
sed '0,/"lower": [0-9.e+-]*/s//"lower": null/' "$scratch/b.json" > "$scratch/open.json"
expect 1 '^FAIL: 2 of 30 machines fail' "${results[@]}" --bounds "$scratch/open.json"
sed 's/"kind": ".*",$/"kind": "another",/' "$scratch/b.json" > "$scratch/kind.json"
expect 1 '^FAIL: 30 of 30 machines fail' "${results[@]}" --bounds "$scratch/kind.json"
sed 's/"lower": [0-9.e+-]*/"lower": null/; s/"upper": [0-9.e+-]*/"upper": null/
    s/"required": true/"required": false/' "$scratch/b.json" > "$scratch/none.json"
expect 0 '^PASS: 0 of 30 machines fail, 0 are odd, 30 pass' "${results[@]}" --bounds "$scratch/none.json"
line=$(grep -n '"metric"' "$scratch/b.json" | head -1 | cut -d : -f 1)
sed "${line}s/\"reference\": \([^,]*\), \"lower\": [^,]*/\"reference\": \1, \"lower\": \1/" \
    "$scratch/b.json" > "$scratch/narrow.json"
expect 1 '^FAIL: 1[0-9] of 30 machines fail|, 1[0-9] are odd' "${results[@]}" --bounds "$scratch/narrow.json"

# Swapped bounds are reported by file and line.
sed '/"metric"/s/"lower": \([0-9.e+-]*\), "upper": \([0-9.e+-]*\)/"lower": \2, "upper": \1/' \
    "$scratch/b.json" > "$scratch/swapped.json"
expect 2 "swapped.json line $line: lower .* is above upper" "${results[@]}" \
    --bounds "$scratch/swapped.json"

# One machine cannot be compared with itself. Files of the reports; options that exclude each other.
expect 4 'are too few to compare: give --bounds' "$CONTEND_BINARY" validate fleet \
    "$scratch/a/results/node00000"
expect 1 'machines fail' "${results[@]}" --junit "$scratch/fleet.xml" --html "$scratch/fleet.html"
grep -q '<failure' "$scratch/fleet.xml" || fail "no failure in the JUnit file"
grep -q '<p>FAIL: 2 of 30 machines fail' "$scratch/fleet.html" || fail "no verdict on the page"
well_formed "$scratch/fleet.html"
expect 2 "'contend validate fleet DIR...' judges results" "$CONTEND_BINARY" validate fleet
expect 2 'waivers is for this server, not for results' "${results[@]}" --waivers "$scratch/w.json"
# One machine by bounds: its runs go into a folder, which is judged. A parameter at its default may be missing in the
# bounds or in the results; with another value it is a different metric.
cd "$scratch" || exit 1
run() { expect 0 . "$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 2 --time 0.05 --no-plots "$@"; }
run --out ran
expect 0 '^2 figures have bounds' "$CONTEND_FAKE" validate bounds ran -o made.json
jq '.bounds[] |= (.lower = null | .upper = null)' made.json > wide.json
jq '.bounds[].params |= sub("step=[^;]*;"; "")' wide.json > older.json
! grep -q step= older.json || fail "$(cat older.json)"
expect 0 '^PASS: 0 of 1 machines fail' "$CONTEND_FAKE" validate fleet ran --bounds older.json
cp -r ran old
sed -i 's/step=[^;]*;//' old/rows.csv
expect 0 '^PASS: 0 of 1 machines fail' "$CONTEND_FAKE" validate fleet old --bounds wide.json
run -p step=4ms --out slow
expect 1 'lacks' "$CONTEND_FAKE" validate fleet slow --bounds older.json
jq '(.bounds[] | select(.metric == "throughput")) |= (.reference = 1e9 | .lower = 9e8 | .upper = 2e9)' wide.json > far.json
"$CONTEND_FAKE" validate fleet ran --bounds far.json --json > far.out
got=$?
case "$got $(jq -r '.[].outcome' far.out)" in # a disturbed figure warns
"1 FAIL" | "0 WARN") ;;
*) fail "exit $got: $(cat far.out)" ;;
esac
jq '.bounds[].metric |= . + "s" | .bounds[].required = false' wide.json > misspelt.json
expect 4 'these results have no figure of the bounds' "$CONTEND_BINARY" validate fleet ran --bounds misspelt.json
expect 2 "bounds needs 'validate fleet': .*validate fleet DIR --bounds wide.json'" "$CONTEND_BINARY" validate --bounds wide.json
expect 2 "out is for this server" "$CONTEND_BINARY" validate fleet ran --out pictures

"$CONTEND_BINARY" validate --only clock --out one > /dev/null 2>&1
# Values that validate itself measured, as results of three machines: bounds made from them, and machines judged by
# these.
record() { # record DIR HOST VALUE [VERDICT TEXT]
    mkdir -p "$1"
    jq --arg host "$2" --argjson value "$3" --arg verdict "${4:-PASS}" --arg text "${5-}" '
        .host = $host | .verdict = $verdict | .text = $text | .measured = [{probe: "memory_bandwidth",
        metric: "bandwidth", key: "op=triad;threads=2", unit: "GB/s", better: "higher", gates: true,
        value: $value, why: null}]' one/validate.json > "$1/validate.json"
}
record fleet/1 n1 20
record fleet/2 n2 21
record fleet/3/deep n3 20.5
expect 0 '3 of 3' "$CONTEND_BINARY" validate bounds fleet -o fleet.json
grep -q '"scenario": "validate", .*"params": "profile=quick;slots=1;op=triad;threads=2"' fleet.json || fail "$(cat fleet.json)"
record fleet/4 n4 7
expect 1 '^n4 +FAIL +-66%$' "$CONTEND_BINARY" validate fleet fleet --bounds fleet.json
expect 1 '^to see more: ssh n4 sudo contend validate$' "$CONTEND_BINARY" validate fleet fleet --bounds fleet.json
# The values are good, but the machine's own rules failed: the machine fails, and no bounds are made from it.
record fleet/4 n4 20 FAIL 'FAIL: 1 rule (gpu_count)'
expect 1 '^ +its own rules: FAIL: 1 rule' "$CONTEND_BINARY" validate fleet fleet --bounds fleet.json
expect 0 '3 of 4' "$CONTEND_BINARY" validate bounds fleet -o without.json
grep -q '"machine": "n4", "reason": "its own rules: FAIL: 1 rule (gpu_count)"' without.json || fail "$(cat without.json)"
for i in 1 2 3; do record "refused/$i" "n$i" 20 FAIL 'FAIL: 1 rule (ecc)'; done
expect 4 'all 3 machines are left out, the first since its own rules: FAIL: 1 rule \(ecc\)$' "$CONTEND_FAKE" \
    validate bounds refused -o refused.json
[ ! -e refused.json ] || fail "bounds of nobody"
record fleet/4 n4 7
sed -i 's/"unit": "GB.s"/"unit": ""/' fleet/4/validate.json
expect 2 "fleet/4': validate.json: 'bandwidth' of measured is no figure" "$CONTEND_BINARY" validate fleet fleet
sed -i '5s/.*/,/' fleet/4/validate.json
expect 2 "fleet/4': validate.json, line 5: " "$CONTEND_BINARY" validate fleet fleet
finish
