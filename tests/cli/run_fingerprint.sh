#!/usr/bin/env bash
# contend run fingerprint: the files it writes, what this machine cannot measure, and comparisons of fingerprints.
# Values of a short run on a busy machine are not judged.
. tests/lib/cli.sh
needs jq two-cpus
cd "$scratch" || exit 1

expect 0 'contend run pipeline .* -P none,partition' "$CONTEND_BINARY" run fingerprint --device sim --dry-run
[ ! -e results ] || fail "a dry run wrote"
expect 2 "unexpected argument 'node7'" "$CONTEND_BINARY" run fingerprint --device sim --dry-run node7

# A file of the user's where the page would be stays, and the result is whole without a page.
mkdir one
echo mine > one/report.html
"$CONTEND_BINARY" run fingerprint --device sim --max-time 20 --host node7 -o one > out 2> log || fail "exit $?: $(cat out log)"
grep -q "warning: no page: 'report.html' is not replaced" log || fail "no warning: $(cat log)"
expect_equal "the user's page" "$(cat one/report.html)" mine
rm one/report.html
head -1 out | grep -Eq '^fingerprint: [0-9]+ values, [0-9]+ absent; compare: contend compare one OTHER$' || fail "$(cat out)"
[ -z "$(awk 'length > 80' out)" ] || fail "wider than 80 columns: $(cat out)"
jq -e '.schema == "contend-fingerprint" and .schema_version == 1 and .machine.cpus >= 2 and .machine.gpus == 0' one/fingerprint.json > /dev/null ||
    fail "$(cat one/fingerprint.json)"
# The values are those of rows.csv.
for metric in canary_integer canary_copy; do
    in_rows=$(awk -F, -v metric=$metric '$9 == metric { print $14 }' one/cpu/rows.csv)
    jq -e --argjson value "$in_rows" --arg name "${metric#canary_}" \
        '.values[] | select(.part == "cpu" and .name == $name) | .value / $value - 1 | fabs < 1e-6' one/fingerprint.json > /dev/null ||
        fail "$metric is $in_rows: $(cat one/fingerprint.json)"
done
jq -e '[.values[] | select(.part == "default") | .kind] == ["rate", "retention"] and (.values[] | select(.name == "partition") | .unit) == "items/s, sim"' one/fingerprint.json > /dev/null ||
    fail "default: $(cat one/fingerprint.json)"
jq -e '[.absent[] | select(.part == "copies") | .reason] == ["--device sim: no GPU is used", "--device sim: no GPU is used"]' \
    one/fingerprint.json > /dev/null || fail "copies: $(cat one/fingerprint.json)"
expect 0 'cpu' "$CONTEND_BINARY" report one/cpu
"$CONTEND_BINARY" report one > again || fail "its report: exit $?"
diff <(sed '/^Results: /d' out) <(cat again; echo) || fail "another table"
# It also makes the page, and its other forms are the same.
well_formed one/report.html
cp one/report.html page.html
rm one/report.html
expect 0 'node7' "$CONTEND_BINARY" report --markdown one
[ ! -e one/report.html ] || fail "Markdown wrote a page"
"$CONTEND_BINARY" report --html again.html one/fingerprint.json >/dev/null && cmp <(sed 's|one/fingerprint.json|one|' again.html) page.html ||
    fail "another page"
diff <("$CONTEND_BINARY" report --json one | jq -S .) <(jq -S . one/fingerprint.json) || fail "another JSON"

# A fingerprint is of the same class as itself, and of another class if values differ, which the first line says.
expect 0 '^same class \(distance 0\.0\)$' "$CONTEND_BINARY" compare one one/fingerprint.json
jq '(.values[] | select(.part == "cpu").value) *= 2 | .values[3].name = "other"' one/fingerprint.json > two.json
"$CONTEND_BINARY" compare one two.json > out 2> log
[ $? = 1 ] || fail "another class: $(cat out log)"
head -1 out | grep -Eq '^another class \(distance [0-9.]+\); the CPU is (50% worse|100% better) here' || fail "$(cat out)"
grep -q '^only A has, so not counted: memory (latency, huge pages)' out && grep -q '^only B has, so not counted: memory (other)' out ||
    fail "what one side lacks: $(cat out)"
[ -z "$(awk 'length > 80' out)" ] || fail "wider than 80 columns: $(cat out)"
"$CONTEND_BINARY" compare --json one two.json | jq -e '.verdict == "another" and .distance > 1' > /dev/null || fail "no JSON"
jq '.values = []' one/fingerprint.json > none.json
expect 4 'share no value' "$CONTEND_BINARY" compare one none.json
expect 1 '^[|] .*integer.*[|]' "$CONTEND_BINARY" compare --markdown one two.json
expect 1 'another class' "$CONTEND_BINARY" compare --html two.html one two.json
grep -q 'contend compare one two.json' two.html && grep -q 'another class' two.html || fail "no page of two: $(cat two.html)"
well_formed two.html
expect 2 'compare --html' "$CONTEND_BINARY" report --html both.html one two.json
expect 2 'no --junit' "$CONTEND_BINARY" compare --junit junit.xml one two.json
echo kept > two.html
expect 2 'is not replaced' "$CONTEND_BINARY" compare --html two.html one two.json
expect 2 'is no fingerprint' "$CONTEND_BINARY" compare one one/cpu
echo '{"schema": "contend-fingerprint", "schema_version": 9}' > newer.json
expect 2 'newer contend' "$CONTEND_BINARY" compare one newer.json

# Among several machines that should be alike, the one that differs is named first.
kept=$CONTEND_SOURCE_DIR/results
"$CONTEND_BINARY" compare "$kept"/2-cpus-vm/fingerprint/[1-4].json "$kept/h100-vm/fingerprint/1.json" > out 2> log
[ $? = 1 ] || fail "a machine of another kind: $(cat out log)"
tr -s '\n ' ' ' < out | grep -Eq '^[1-5] of 5 machines differs? from their median. [^ ]*/h100-vm/fingerprint/1.json: another class' || fail "$(cat out)"
[ -z "$(grep -v / out | awk 'length > 80')" ] || fail "wider than 80 columns: $(cat out)"
"$CONTEND_BINARY" compare --json one one one | jq -e '[.machines[].median.distance] == [0, 0, 0]' > /dev/null || fail "equal ones"
expect 4 'stranger|shares no value' "$CONTEND_BINARY" compare one one none.json
expect 2 'is no fingerprint' "$CONTEND_BINARY" compare one one one/cpu

# An interrupt also ends the measurement.
"$CONTEND_BINARY" run fingerprint --device sim -o cut > out 2> log &
pid=$!
wait_for 60 eval 'grep -q latency log' || fail "not begun: $(cat log)"
kill -INT "$pid"
wait "$pid"
[ $? = 130 ] || fail "exit code after SIGINT: $(cat log)"
wait_for 20 none_of_this_test '__worker\|bench' || fail "something is left"
finish
