#!/usr/bin/env bash
# contend ab runs variants in the same rounds and reports differences and exit codes. It undoes what a variant changes.
. tests/lib/cli.sh
without_gnuplot

ab=("$CONTEND_FAKE" ab fake --time 0.05 --warmup 0.01 --host h)

# Any noise leaves a step of twice the length visible. It is printed, recorded and read back.
"${ab[@]}" -V plain -V slow=param:step=0.03 -p step=0.01 --max-time 60 --fail-on slower --junit "$scratch/junit.xml" \
    -o "$scratch/slow" > "$scratch/said" 2> "$scratch/log"
code=$?
[ "$code" = 1 ] || fail "exit $code: $(cat "$scratch/log")"
grep -q '^SLOWER  *step_time' "$scratch/said" || fail "not found: $(cat "$scratch/said")"
"$CONTEND_FAKE" report "$scratch/slow" > "$scratch/again" 2> "$scratch/log" < /dev/null ||
    fail "report: $(cat "$scratch/log")"
cmp "$scratch/said" "$scratch/again" || fail "report says otherwise"
expect 0 '^slow is [0-9.]+x slower than plain .[0-9.]+x to [0-9.]+x.: .*Metrics that gate: 2 SLOWER' "$CONTEND_FAKE" report --markdown "$scratch/slow"
expect 0 "^\\| \\*\\*SLOWER\\*\\* \\| .step_time. \\| .* \\| [0-9.]+x" "$CONTEND_FAKE" report --markdown "$scratch/slow"
for part in '<th scope="col">plain</th>' '>SLOWER</span></th>'; do
    grep -Fq "$part" "$scratch/slow/report.html" || fail "no '$part' in the page"
done
! grep -q 'speed-up' "$scratch/slow/report.html" || fail "a column for a default that it has not"
grep -q ';slots=2;variant=slow,' "$scratch/slow/rounds.csv" || fail "no variant in rounds.csv"
grep -q 'variant' "$scratch/slow/rows.csv" || fail "no variant in rows.csv"
rounds=$(grep -c ',step_time,.*' <(grep 'variant=slow' "$scratch/slow/rounds.csv"))
[ "$rounds" -lt 60 ] || fail "it did not end when it was clear: $rounds rounds"

grep -q '<failure' "$scratch/junit.xml" || fail "no failure in the JUnit file"
! command -v xmllint > /dev/null || xmllint --noout "$scratch/junit.xml" || fail "JUnit is no XML"
expect 2 "cannot write to '$scratch/junit.xml/'" "${ab[@]}" -V a -V b --rounds 1 --junit "$scratch/junit.xml/x" \
    -o "$scratch/md"
"${ab[@]}" -V a -V b --rounds 1 --json -o "$scratch/json" 2> /dev/null | grep -q '"outcome": "UNCLEAR"' ||
    fail "no outcome in the JSON"

# With a metric of the user's, the run time of the command is shown, but decides nothing.
"${ab[@]:0:2}" --metric 'rate ([0-9]+)' --rounds 6 -n 1 --host h --json -o "$scratch/metric" -- \
    'sh -c "echo rate 50"' 'sh -c "sleep 0.3; echo rate 50"' > "$scratch/metric.json" 2> "$scratch/log"
code=$?
! command -v jq > /dev/null || {
    [ "$(jq -c '[.comparisons[] | select(.gates) | .metric]' "$scratch/metric.json")" = '["throughput"]' ] ||
        fail "gates: $(jq -c .comparisons "$scratch/metric.json")"
    jq -e '.comparisons[] | select(.metric == "step_time" and .ratio > 2)' "$scratch/metric.json" > /dev/null ||
        fail "no run time: $(cat "$scratch/metric.json" "$scratch/log")"
}
[ "$code" = 0 ] || fail "exit $code: $(cat "$scratch/metric.json" "$scratch/log")"

# Two rounds of equal variants decide nothing, which has its own exit code.
expect 4 '^No verdict on 2 metrics: 2 UNCLEAR\. .* longer, with --rounds 12\.$' "${ab[@]}" -V a -V b --rounds 2 \
    -o "$scratch/few"
expect 4 '^No verdict on 2 metrics: .* longer, with --max-time 3\.$' "${ab[@]}" -V a -V b -p step=0.15 --max-time 1 \
    -o "$scratch/few" # too long for the six rounds that a verdict needs
expect 1 'UNCLEAR' "${ab[@]}" -V a -V b --rounds 2 --fail-on unclear -o "$scratch/few"
expect 3 'MISSING' "${ab[@]}" -V a -V b=param:mode=fail-run --rounds 2 -o "$scratch/missing"
expect 0 'variant|scenario' "${ab[@]}" -V a -V b --dry-run
expect 0 'variant|scenario' "${ab[@]}" -V a -V b=lib:nccl=libnccl.so.2 --dry-run # the loader finds it

# Bad variants: one line, exit 2.
one_line() { # one_line PATTERN ARGS...
    local pattern=$1
    shift
    expect 2 "$pattern" "${ab[@]}" "$@" -o "$scratch/bad"
    [ "$("${ab[@]}" "$@" -o "$scratch/bad" 2>&1 | wc -l)" = 1 ] || fail "not one line: $*"
}
one_line 'no variants: name two' --rounds 1
one_line 'nothing to be compared' -V a
one_line "unknown kind 'magic'" -V a -V b=magic:1
one_line 'no after:' -V a -V b=before:true
one_line "unknown parameter 'nosuch'" -V a -V b=param:nosuch=1
one_line "unknown placement 'nosuch'" -V a -V b=placement:nosuch
one_line 'one alone, where a variant has its own' -V a -V b=placement:none -P none,sized
one_line 'fail-on' -V a -V b --fail-on never
one_line 'cannot run the build' -V a -V b=build:/nonexistent
one_line "variant 'a': cannot read the library '/nonexistent': No such" -V a=lib:nccl=/nonexistent -V b
one_line 'is no regular file' -V a=lib:nccl=/ -V b
one_line 'builds are compared under one placement' -V a -V "b=build:$CONTEND_FAKE" -P none,sized

# A variant's environment reaches only that variant's workers.
OMP_WAIT_POLICY=active "${ab[@]}" -V a -V b=env:OMP_WAIT_POLICY=passive -V c=env:CONTEND_AB_TEST=here \
    --rounds 1 -p step=0.5 --time 2 -o "$scratch/env" > /dev/null 2>&1 &
ab_pid=$!
saw() { for pid in $(pids_of_this_test '__worker'); do tr '\0' '\n' < "/proc/$pid/environ"; done 2> /dev/null |
    grep -Fqx "$1"; }
wait_for 60 saw CONTEND_AB_TEST=here || fail "no worker had the variable of its variant"
wait "$ab_pid"
! grep -q CONTEND_AB_TEST "$scratch/env/rounds.csv" || fail "the environment is in rounds.csv"
grep -q '"OMP_WAIT_POLICY=passive"' "$scratch/env/run.json" || fail "run.json has no variants"

# A variable that a variant sets or unsets counts more than the placement's, and the plan follows it. Where nobody chose
# a placement, the user's number of threads stays.
told() { # told VARIANT: what its command got
    grep "^$1 " "$scratch/told" | sort -u | paste -sd'|'
}
# shellcheck disable=SC2016 # the inner shell's
tell='echo "$NAME ${OMP_NUM_THREADS-none} ${OMP_WAIT_POLICY-none} {threads}" >> '"$scratch/told"
OMP_NUM_THREADS=3 OMP_WAIT_POLICY=active "$CONTEND_FAKE" ab -n 1 --rounds 1 --time 0.05 --host h -o "$scratch/told.d" \
    -V keeps=env:NAME=keeps -V sets=env:NAME=sets -V sets=env:OMP_NUM_THREADS=1 \
    -V unsets=env:NAME=unsets -V unsets=unset:OMP_WAIT_POLICY -V placed=env:NAME=placed -V placed=placement:passive \
    -V placed=env:OMP_WAIT_POLICY=active -- sh -c "$tell" > "$scratch/out" 2> "$scratch/log"
[ "$(told keeps)" = 'keeps 3 active 3' ] || fail "keeps: $(told keeps)"
[ "$(told sets)" = 'sets 1 active 1' ] || fail "sets: $(told sets)"
[ "$(told unsets)" = 'unsets 3 none 3' ] || fail "unsets: $(told unsets)"
[ "$(told placed)" = "placed 3 active $(nproc)" ] || fail "placed: $(told placed)"
[ "$(grep -c 'OMP_NUM_THREADS=3 is set: .*variants' "$scratch/log")" = 1 ] || fail "$(cat "$scratch/log")"
sed -n '/<b>[a-z]*, sets</,/<\/figure>/p' "$scratch/told.d/report.html" | grep -q ', 1 thread<' ||
    fail "the page has other threads of a variant"
! command -v jq > /dev/null ||
    [ "$(jq -c '[.arms[] | .plan.workers[0].threads]' "$scratch/told.d/run.json")" = "[3,1,3,$(nproc)]" ] ||
    fail "threads of the plans: $(jq -c '.arms[].plan' "$scratch/told.d/run.json")"
OMP_NUM_THREADS=3 "$CONTEND_FAKE" run -P none --threads "$(nproc)" -n 1 --rounds 1 --time 0.05 --host h --no-baselines \
    --no-canary --force -o "$scratch/told.d" -- env NAME=given sh -c "$tell" > /dev/null 2>&1
[ "$(told given)" = "given $(nproc) none $(nproc)" ] || fail "given: $(told given)"

# before and after run around each observation of that variant; the change is read back, and undone at the end.
knob=$scratch/knob
echo 0 > "$knob"
commands=(-V a -V "b=before:echo 1 > $knob; echo x >> $knob.log" -V "b=after:echo 0 > $knob"
    -V "b=check:cat $knob")
"${ab[@]}" "${commands[@]}" --rounds 3 -o "$scratch/knob.d" > "$scratch/out" 2>&1
[ "$(wc -l < "$knob.log")" = 3 ] || fail "before ran $(wc -l < "$knob.log") times, not 3"
[ "$(cat "$knob")" = 0 ] || fail "not undone"
tr -d ' \n' < "$scratch/knob.d/run.json" |
    grep -q '"read_back":{"initial":"0","during":"1","final":"0"}' || fail "not read back"
! grep -q 'is not undone\|changed nothing' "$scratch/out" || fail "$(cat "$scratch/out")"
expect 4 'is not undone' "${ab[@]}" -V a -V "b=before:echo 1 > $knob" -V b=after:true -V "b=check:cat $knob" \
    --rounds 1 -o "$scratch/knob.d"
echo 0 > "$knob"
expect 4 'changed nothing' "${ab[@]}" -V a -V b=before:true -V b=after:true -V "b=check:cat $knob" \
    --rounds 1 -o "$scratch/knob.d"
expect 3 "before 'echo no; exit 7' ended with exit code 7: no" "${ab[@]}" -V a -V 'b=before:echo no; exit 7' \
    -V "b=after:echo undone > $knob" --rounds 1 -o "$scratch/failed.d"
[ "$(cat "$knob")" = undone ] || fail "what failed half way was not undone"

# The change is undone after a kill of the whole process group, and after an interrupt.
knob_is() { [ "$(cat "$knob")" = "$1" ]; }
for signal in KILL INT; do
    echo 0 > "$knob"
    setsid "${ab[@]}" -V a -V "b=before:echo 1 > $knob" \
        -V "b=after:sleep 0.2; echo 0 > $knob" --rounds 1000 -o "$scratch/$signal" \
        > /dev/null 2>&1 < /dev/null &
    wait_for 60 knob_is 1 || fail "$signal: before was not run"
    leader=$(pids_of_this_test "ab fake.*$scratch/$signal" | head -n 1)
    [ "${leader:-1}" -gt 1 ] && kill -"$signal" -- "-$leader"
    wait $!
    code=$?
    [ "$signal" = KILL ] || [ "$code" = 130 ] || fail "exit $code after SIGINT"
    wait_for 60 knob_is 0 || fail "$signal: not undone"
    wait_for 60 none_of_this_test '__guard' || fail "$signal: a guard is left"
done

# Another build: here the same one under another name. Its runs are results of their own.
cp "$CONTEND_FAKE" "$scratch/other"
expect 4 'UNCLEAR' "${ab[@]}" -V mine -V "other=build:$scratch/other" --rounds 2 -o "$scratch/builds"
"$CONTEND_FAKE" report "$scratch/builds" > "$scratch/again" 2>&1 < /dev/null ||
    fail "report of builds: $(cat "$scratch/again")"
"$CONTEND_FAKE" report "$scratch/builds/builds/other/1" > "$scratch/again" 2>&1 < /dev/null ||
    fail "report of a build's run: $(cat "$scratch/again")"
grep -q 'variant=other,' "$scratch/builds/rounds.csv" || fail "no values of the other build"
expect 3 "'/bin/false run' failed" "${ab[@]}" -V mine -V other=build:/bin/false --rounds 1 -o "$scratch/no"

# Whether a file can be written at the end is known before the first round.
expect 2 'cannot write to .*Not a directory' "${ab[@]}" -V a -V b --rounds 1 --junit "$knob/x.xml" -o "$scratch/junit.d"
finish
