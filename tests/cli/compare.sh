#!/usr/bin/env bash
# contend compare: verdicts between results on disk, their exit codes, and refusals. The results are copies of one run
# with scaled values, so that the right verdict is known even on a busy machine.
. tests/lib/cli.sh
needs jq
cd "$scratch" || exit 1
expect 0 . "$CONTEND_FAKE" run fake --placement none,sized --workers 2 --rounds 3 --time 0.05 \
    --warmup 0.01 --no-plots --out one
id=$(jq -r .run_id one/run.json)
# Removes the effects of this machine's load: the result counts as evidence, and its rounds have the length and distance
# of those on an idle machine.
jq '.findings |= map(select(.id != "busy")) | .options.time = 0' one/run.json > one/new && mv one/new one/run.json
calm='function value(metric, round) { return sprintf("%.9g", (metric == "step_time" ? 0.002 : 9000) * (1 + round / 1000)) }'
awk -F, -v OFS=, "$calm"' $9 ~ /^(step_time|throughput)$/ { $13 = value($9, $12) } { print }' one/rounds.csv > one/new &&
    mv one/new one/rounds.csv
awk -F, -v OFS=, "$calm"' $9 ~ /^(step_time|throughput)$/ {
    $14 = value($9, 1); $15 = $19 = value($9, 0); $16 = $20 = value($9, 2)
    if ($17 != "") $17 = $18 = $20 } { print }' one/rows.csv > one/new && mv one/new one/rows.csv

# copy DIR FACTOR: makes a run whose steps take FACTOR times as long.
copy() {
    cp -r one "$1"
    rm -f "$1/samples.csv"
    awk -F, -v OFS=, -v f="$2" '$9 == "step_time" { $13 = sprintf("%.17g", $13 * f) }
        $9 == "throughput" { $13 = sprintf("%.17g", $13 / f) } { print }' \
        one/rounds.csv > "$1/rounds.csv"
    awk -F, -v OFS=, -v f="$2" '
        $9 == "step_time" { for (i = 14; i <= 16; i++) $i = sprintf("%.9g", $i * f) }
        $9 == "throughput" { for (i = 14; i <= 16; i++) $i = sprintf("%.9g", $i / f)
            $19 = sprintf("%.9g", $19 / f); $20 = sprintf("%.9g", $20 / f) } { print }' \
        one/rows.csv > "$1/rows.csv"
    sed -i "s/$id/${1//\//-}/" "$1"/run.json "$1"/*.csv
}

mkdir base new slow
for i in 1 2 3 4 5; do
    copy "base/$i" "1.00$i"
    copy "new/$i" "0.99$i"
    copy "slow/$i" "3.00$i"
done

compare() { # compare CODE PATTERN ARGUMENT...
    expect "$1" "$2" "$CONTEND_FAKE" compare "${@:3}"
}

# Every exit code.
compare 0 '^SAME +throughput' base new
compare 0 'Metrics that gate: 4 SAME' base/{1,2,3,4,5} -- new/{1,2,3,4,5}
compare 1 '^SLOWER +step_time .* 3.0x' base slow
compare 0 '^FASTER +step_time' slow base
compare 0 'SLOWER' base slow --fail-on none
compare 4 '^No verdict on 4 metrics: 4 UNCLEAR\.$' base/1 new/1
compare 1 'UNCLEAR' base/1 new/1 --fail-on slower,unclear
compare 2 'no results: type' base
compare 2 'no results: type' base/1 base/2 base/3
compare 2 "'--json' must precede '--': only results follow it" \
    base/1 base/2 -- new/1 new/2 --json
compare 2 "'--threshold' must precede '--'" base/1 -- new/1 --threshold 5
compare 0 '4 SAME' --threshold 5 base/{1,2,3,4,5} -- new/{1,2,3,4,5}
cp -r new/1 ./-odd
compare 4 '4 UNCLEAR' base/1 -- -odd
rm -r ./-odd
compare 2 "fail-on: invalid value 'often'; valid: slower, unclear, missing, none" base new --fail-on slower,often
compare 2 "allow: invalid value 'weather'; valid: machine, .*all" base new --allow weather

# A side is a run or a directory of runs. Every verdict has a reason. Options change which metrics gate.
compare 1 'is more than equal runs differ by' base slow -v
compare 4 'give each side five' base/1 new/1
compare 4 "Decide it by 'contend ab'" base/1 new/1 -v
compare 0 'voluntary_switches_per_step' base new -v
wide=$("$CONTEND_FAKE" compare base slow -v 2>&1 | awk 'length > 80')
[ -z "$wide" ] || fail "wider than 80 columns: $wide"

# Output formats.
"$CONTEND_FAKE" compare base slow --json --junit out.xml > out.json
[ $? = 1 ] || fail "--json has another exit code"
[ "$(jq '.exit_code, ([.comparisons[] | select(.gates) | .outcome] | unique == ["SLOWER"])' \
    out.json | paste -sd' ')" = '1 true' ] || fail "another JSON: $(head -c 400 out.json)"
[ "$(jq -c '[.base, .new | length]' out.json)" = '[5,5]' ] || fail "other paths: $(jq .base out.json)"
grep -q '<failure' out.xml || fail "no failure in JUnit"
compare 1 . base slow --html page.html
grep -A1 'class="verdict bad"' page.html | grep -q 'new is 3.0x slower than base (2.*x to 3.*x)' || fail "no verdict: $(cat page.html)"
grep -q '<span class="bad">SLOWER</span></th>' page.html || fail "no table in the page"
grep -q '<title>contend compare base slow</title>' page.html || fail "another title: $(grep '<title>' page.html)"
compare 0 . --html sides.html base/{1,2,3,4,5} -- new
grep -q '<title>contend compare base/1 .* base/5 -- new</title>' sides.html || fail "another title: $(grep '<title>' sides.html)"
echo mine > page.html
compare 2 'no report of contend' base new --html page.html
if command -v xmllint > /dev/null; then
    xmllint --noout --schema "$CONTEND_SOURCE_DIR/tests/show/junit.xsd" out.xml 2> lint ||
        fail "not JUnit: $(cat lint)"
fi
compare 1 '^\| ' base slow --markdown
compare 2 'cannot write' base slow --junit none/out.xml

# Results of different settings are refused and the differences listed. A history leaves out runs of another kind.
cp -r new other
for i in 1 2 3 4 5; do
    jq '.environment.kernel = "9.9.9"' new/$i/run.json > other/$i/run.json
    sed -i "s/new-$i/other-$i/" other/$i/*.csv other/$i/run.json
done
compare 4 'kernel: .* in base, 9.9.9 in new: no verdict without --allow' base other
compare 4 '^MISSING +throughput' base other
compare 4 '^No verdict: what was measured is not the same: --allow kernel' base other
compare 1 'MISSING' base other --fail-on slower,missing
compare 0 '4 SAME' base other --allow kernel
compare 0 '4 SAME' base other --allow all
compare 4 "'other/1' of the history is left out" base/1 new/1 --history other
compare 4 '4 +of the history|, 4( of)?$' base/1 new/1 --history base -v

# A run that marks itself as no evidence cannot show that a metric is slower.
busy='{id: "busy", severity: "doubt", sentence: "other programs used 50% of the CPUs: not usable as evidence; quiet the machine."}'
for i in 1 2 3 4 5; do
    cp -r slow/$i busy-$i
    [ "$i" -gt 3 ] || jq ".findings += [$busy]" slow/$i/run.json > busy-$i/run.json
done
compare 4 '^3 of 5 runs of new were disturbed: other programs used 50% of the CPUs' base -- busy-{1,2,3,4,5}
compare 4 '^UNCLEAR +throughput' base -- busy-{1,2,3,4,5}
compare 1 '^SLOWER' --allow busy base -- busy-{1,2,3,4,5}
# Runs of other placements: what keeps them apart, and two commands that compare them. Both are accepted.
for placement in none sized; do
    mkdir "$placement"
    for i in 1 2 3 4 5; do
        cp -r new/$i "$placement/$i"
        for file in rows rounds; do
            awk -F, -v p="$placement" 'NR == 1 || $3 == p' new/$i/$file.csv > "$placement/$i/$file.csv"
        done
        jq --arg p "$placement" '.arms |= map(select(.placement == $p))' new/$i/run.json > "$placement/$i/run.json"
        sed -i "s/new-$i/$placement-$i/" "$placement/$i"/*.csv "$placement/$i/run.json"
    done
done
compare 4 'Placements differ: none in base, sized in new' none sized
compare 4 'placement is none in base, sized in new' none sized -v
"$CONTEND_FAKE" compare none sized --json | jq -r '.findings[] | select(.id == "rows_apart") |
    .command, (.sentence | sub(".*: (?<ab>contend ab )"; "\(.ab)"))' > typed
[ "$(sed -n 1p typed)" = "contend compare --across none sized" ] || fail "to type: $(cat typed)"
compare 0 '2 SAME' --across none sized
compare 0 'throughput.* none +sized|metric +none +sized' --across none sized
ab=$(sed -n 2p typed)
expect 0 'sized' "$CONTEND_FAKE" ${ab#contend } --dry-run
compare 2 "has several placements .none, sized.: name one of each side" --across base new
compare 0 '2 SAME' base new --placement none,sized
compare 0 '2 SAME' none new --placement sized
compare 2 "base has no placement 'partition'" none new --placement partition,sized
compare 2 "new has no placement 'partition'" none new --placement partition
compare 2 'unknown placement' --placement nothing none sized
# Other options of the same placement are named, too.
expect 0 . "$CONTEND_FAKE" run fake -P none --workers 2 --rounds 3 --time 0.05 --warmup 0.01 --no-plots -p step=0.003 --out steps
compare 4 'Options differ: step is 0.002 in base, 0.003 in new' none/1 steps --allow all
# Rows that only one side has are named.
expect 0 . "$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 3 --time 0.05 \
    --warmup 0.01 --no-plots --out less
compare 4 '^MISSING +throughput' one less
compare 4 'only in base' one less -v
expect 0 . "$CONTEND_FAKE" bench fakescan --rounds 1 --time 0.05 --no-plots --out scan
compare 4 'MISSING|could be compared' one scan

# A parameter that only one version has matters only if it is not at its default.
params() { # params FROM TO SED: copies of the runs, with other parameters
    cp -r "$1" "$2"
    for i in 1 2 3 4 5; do
        sed -i "s/$1-$i/$2-$i/" "$2/$i"/*.csv "$2/$i/run.json"
        sed -i "$3" "$2/$i"/*.csv "$2/$i/run.json"
    done
}
step=$(grep -o 'step=[0-9.]*' base/1/rows.csv | head -1)
params base old "s/$step;//"
compare 0 '4 SAME' old new
compare 1 '^SLOWER +step_time' old slow

# Bad input.
damage() { # damage PATTERN FILE SED: a copy of a run with that edit
    rm -rf damaged
    cp -r base/1 damaged
    sed -i "s/base-1/damaged/" damaged/run.json damaged/*.csv
    sed -i "$3" "damaged/$2"
    compare 2 "$1" base/2 damaged
}
damage "'damaged': rounds.csv, line 2: " rounds.csv '2s/throughput,items\/s,higher,0,[0-9.]*/throughput,items\/s,higher,0,fast/'
damage "'damaged': no round of it was finished" run.json 's/"rounds_done": 3/"rounds_done": 0/'
damage 'schema 1' run.json 's/"schema_version": [0-9]*/"schema_version": 1/'
compare 2 'are the same run' base/1 base/1
compare 2 'are the same run' base/1 base
compare 2 'no run.json in it or below' base/1 /proc/self/fdinfo
compare 2 "cannot open the directory 'gone'" base/1 gone
finish
