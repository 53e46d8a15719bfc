#!/usr/bin/env bash
# 'contend run all' runs every scenario that CPUs alone allow, into one directory. It reports skipped scenarios,
# continues after a failed one, and keeps finished ones after an interrupt. Other tests cover the tables of a run.
. tests/lib/cli.sh
export NO_COLOR=1
short=(--rounds 1 --time 0.05 --warmup 0.01 --no-canary --no-plots)

names() { # names PROGRAM: of all scenarios but that of doses, which is not part of all
    "$1" info --json 2> /dev/null |
        python3 -c 'import json, sys; print(*[s["name"] for s in json.load(sys.stdin)["scenarios"] if s["name"] != "dose"])'
}

# The real scenarios.
expect 2 "'all' means every scenario: name no other" "$CONTEND_BINARY" run all memory
expect 2 "'all' takes no parameters: 'rows=256' belongs to one scenario" "$CONTEND_BINARY" run all -p rows=256
expect 0 "'all' runs every scenario" "$CONTEND_BINARY" run all --help-all
# Starting processes of a large parent can exceed the usual limit on a busy machine.
limit_s=500 expect 0 'scenarios?: .*measured' "$CONTEND_BINARY" run all --device sim "${short[@]}" --limit 120 \
    --out "$scratch/real"
for name in $(names "$CONTEND_BINARY"); do
    grep -Eq "^$name +(measured|skipped)( |$)" "$scratch/real/scenarios.txt" ||
        fail "$name: $(cat "$scratch/real/scenarios.txt")"
    [ -s "$scratch/real/$name/run.json" ] || fail "$name has left no result"
done
grep -Eq '^pipeline +measured ' "$scratch/real/scenarios.txt" || fail "the main job was not measured"
awk 'length > 79' "$scratch/real/scenarios.txt" | grep . && fail "the table is wider than 80 columns"

# Into the same directory again, with a page; and as JSON.
expect 0 '4 scenarios: 4 measured' "$CONTEND_FAKE" run all --rounds 1 --time 0.05 --warmup 0.01 \
    --no-canary --out "$scratch/fake"
expect 0 '4 scenarios: 4 measured' "$CONTEND_FAKE" run all --rounds 1 --time 0.05 --warmup 0.01 --no-canary \
    --out "$scratch/fake"
for name in $(names "$CONTEND_FAKE"); do
    grep -q "href=\"$name/report.html\"" "$scratch/fake/report.html" || fail "the page does not lead to $name"
    [ -s "$scratch/fake/$name/report.html" ] || fail "$name has no page"
done
"$CONTEND_FAKE" run all "${short[@]}" --json --out "$scratch/json" < /dev/null 2> "$scratch/log" |
    python3 -c 'import json, sys
made = json.load(sys.stdin)["scenarios"]
assert len(made) == 4 and all(s["status"] == "measured" and s["rows"] for s in made), made' ||
    fail "no JSON of all: $(cat "$scratch/log")"
expect 2 'has the result of one scenario' "$CONTEND_FAKE" run all "${short[@]}" --out "$scratch/fake/fake"

# A time limit for all, also the default of quick: each scenario gets a share by its launches.
for most in "" 200; do
    "$CONTEND_BINARY" run all --device sim ${most:+--max-time "$most"} --dry-run --out "$scratch/dry" > "$scratch/said" 2>&1
    sed -n 's/^expected time: \([0-9]*\) s.*/\1/p' "$scratch/said" |
        awk -v most="${most:-330}" '{ n++; all += $1 } END { exit !(n > 4 && all > 0.5 * most && all <= most) }' ||
        fail "not the shares of ${most:-330} s: $(grep expected "$scratch/said" | xargs)"
    # The sum is printed; each scenario's rounding may change it.
    sed -n 's/^expected time[^0-9]* \([0-9]*\)\(.*: \([0-9]*\)\)\{0,1\} s.*/\1 \3/p' "$scratch/said" |
        awk 'NF == 1 { n++; all += $1 } NF == 2 { sum = $2; of = $1 } END { exit !(of == n && sum > all - n && sum < all + n) }' ||
        fail "not the sum: $(grep expected "$scratch/said" | xargs)"
done
[ ! -e "$scratch/dry" ] || fail "--dry-run has made a directory"

# One scenario fails: the others run.
mkdir -p "$scratch/one/team"
echo "not ours" > "$scratch/one/team/rows.csv"
expect 2 'team +failed$' "$CONTEND_FAKE" run all "${short[@]}" --out "$scratch/one"
grep -q '4 scenarios: 3 measured, 1 failed' "$scratch/one/scenarios.txt" || fail "$(cat "$scratch/one/scenarios.txt")"

# Interrupted in the second scenario.
"$CONTEND_FAKE" run all --rounds 1 --time 2 --warmup 0.01 --no-canary --no-plots \
    --out "$scratch/cut" > "$scratch/said" 2>&1 < /dev/null &
run=$!
wait_for 400 grep -q 'scenario 2 of 4' "$scratch/said" || fail "no second scenario: $(cat "$scratch/said")"
kill -INT "$run"
wait "$run"
code=$?
[ "$code" = 130 ] || fail "exit $code of an interrupted one: $(cat "$scratch/said")"
grep -q '4 scenarios: 1 measured, 1 interrupted, 2 not reached' "$scratch/cut/scenarios.txt" ||
    fail "$(cat "$scratch/cut/scenarios.txt")"
expect 0 'Results' "$CONTEND_FAKE" report "$scratch/cut/fake"

# Reported again from disk: the same table, the page, missing and damaged scenarios.
cp "$scratch/fake/scenarios.txt" "$scratch/before"
rm "$scratch/fake/report.html" "$scratch"/fake/*/report.html
expect 0 "wrote $scratch/fake/report.html" "$CONTEND_FAKE" report "$scratch/fake"
"$CONTEND_FAKE" report "$scratch/fake" 2> /dev/null | sed '/^Results: /,$d' > "$scratch/again"
diff <(sed 's/, [0-9]* s//' "$scratch/before") <(sed -e 's/, [0-9]* s//' -e '$d' "$scratch/again") > "$scratch/log" ||
    fail "another table: $(cat "$scratch/log")"
for name in $(names "$CONTEND_FAKE"); do
    grep -q "href=\"$name/report.html\"" "$scratch/fake/report.html" || fail "the renewed page does not lead to $name"
    [ -s "$scratch/fake/$name/report.html" ] || fail "the page of $name was not renewed"
done
expect 0 '^\| `team` \| measured \| 1 round' "$CONTEND_FAKE" report --markdown "$scratch/fake"
expect 0 "wrote $scratch/elsewhere.html" "$CONTEND_FAKE" report "$scratch/fake" --html "$scratch/elsewhere.html"
! grep -q href= "$scratch/elsewhere.html" || fail "a page elsewhere has links that lead nowhere"
expect 2 "several scenarios: 'contend report --json .*fake/" "$CONTEND_FAKE" report --json "$scratch/fake"
expect 0 '4 scenarios: 1 measured, 1 interrupted, 2 no result' "$CONTEND_FAKE" report "$scratch/cut"
grep -q '<div class="verdict doubt"><p>4 scenarios: 1 measured' "$scratch/cut/report.html" || fail "all seems well of what was cut off"
grep -q '<div class="verdict"><p>4 scenarios: 4 measured' "$scratch/fake/report.html" || fail "what is whole seems in doubt"
expect 0 'results of one scenario: .contend report .*fake/NAME' "$CONTEND_FAKE" report "$scratch/cut" "$scratch/fake"
mkdir "$scratch/two" # not of all: nothing is missing
cp -r "$scratch/fake/team" "$scratch/two"
mkdir -p "$scratch/two/fake"
echo '{' > "$scratch/two/fake/run.json"
sed -i 's/"all"/"team"/' "$scratch/two/team/run.json"
expect 2 '2 scenarios: 1 measured, 1 failed' "$CONTEND_FAKE" report "$scratch/two"
grep -q '<div class="verdict bad"><p>2 scenarios: 1 measured' "$scratch/two/report.html" || fail "what failed seems well"
mkdir "$scratch/lone" # one result below a directory is nothing that run left
cp -r "$scratch/two/team" "$scratch/lone"
expect 2 'is no result directory' "$CONTEND_FAKE" report "$scratch/lone"

# compare and --history work by scenario, and leave out a scenario that was cut off.
expect 4 'No verdict on [0-9]+ metrics: [0-9]+ UNCLEAR' "$CONTEND_FAKE" compare "$scratch/fake" "$scratch/json"
expect 4 "cut/busy' is left out: no round of it was finished" "$CONTEND_FAKE" compare "$scratch/fake" "$scratch/cut" \
    --allow all
expect 2 'no round of it was finished' "$CONTEND_FAKE" compare "$scratch/fake/busy" "$scratch/cut/busy"
expect 4 '9 runs of one machine, 3 with the same figure' "$CONTEND_FAKE" compare --history "$scratch/fake" --history "$scratch/json" \
    --history "$scratch/cut"
finish
