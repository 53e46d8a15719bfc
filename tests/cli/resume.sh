#!/usr/bin/env bash
# A run that was killed goes on with --resume: the same configurations in the same order as one that nobody ended,
# and all its rounds in every file.
. tests/lib/pid_namespace.sh
. tests/lib/cli.sh
needs jq
fake=("$CONTEND_FAKE" run fake --placement 'none,sized' --workers 2 --rounds 4 --seed 7 --time 0.2 --warmup 0.01)
done_rounds() {
    [ "$(jq .rounds_done "$1/run.json" 2>/dev/null)" -ge "$2" ] 2>/dev/null
}
# killed DIR ROUNDS COMMAND...: ended by SIGKILL with its workers, in the round behind those.
killed() {
    local dir=$1 rounds=$2 pid
    shift 2
    setsid "$@" >"$dir.log" 2>&1 </dev/null &
    pid=$!
    wait_for 60 done_rounds "$dir" "$rounds" || fail "round $rounds is not done: $(cat "$dir.log")"
    sleep 0.1
    kill -KILL -- "-$pid"
    wait "$pid" 2>/dev/null
    jq -e '.rounds_done < .rounds_planned' "$dir/run.json" >/dev/null || fail "all rounds were done when it was killed"
    grep -q '"status": "interrupted"' "$dir/run.json" || fail "$dir: not interrupted"
}
cells() { # which configuration had which place in which round, and what rounds.csv has of each
    jq -c '.arms[] | [.placement, .workers, .alone, .canary, (.observations[] | [.round, .order, .slot])]' "$1/run.json"
    columns "$1/rounds.csv" placement workers role bench params metric round | grep -v ',p9\|loss'
    columns "$1/rows.csv" placement workers role bench params metric rounds | grep -v loss
    cut -d, -f 2,3,5-8 "$1/samples.csv" | sort -u
}
whole() { # whole DIR LIKE
    is "$1: status" "$(jq -r .status "$1/run.json")" complete
    diff <(cells "$2") <(cells "$1") || fail "$1: other rounds than $2"
    is "$1: lines of samples" "$(head -c "$(jq .samples_bytes "$1/run.json")" "$1/samples.csv" | wc -c)" \
        "$(wc -c <"$1/samples.csv")"
    [ "$(ls -A "$1" | tr '\n' ' ')" = "$(ls -A "$2" | tr '\n' ' ')" ] || fail "$1 has $(ls -A "$1")"
    "$CONTEND_FAKE" report -v "$1" >"$scratch/report" 2>&1 || fail "report $1: $(cat "$scratch/report")"
}

expect 0 . "${fake[@]}" --out "$scratch/straight"

# Twice, with a torn end of each file that grows, and one that was cut off.
killed "$scratch/twice" 1 "${fake[@]}" --out "$scratch/twice"
first=$(grep -c '^' "$scratch/twice/rounds.csv")
printf 'torn,li' | tee -a "$scratch/twice/samples.csv" "$scratch/twice/rounds.csv" >>"$scratch/twice/resume.bin"
expect 2 'rounds.csv, line' "$CONTEND_FAKE" report "$scratch/twice"
killed "$scratch/twice" 2 "$CONTEND_FAKE" run --resume "$scratch/twice"
[ "$(grep -c '^' "$scratch/twice/rounds.csv")" -gt "$first" ] || fail "no round was added"
expect 0 'going on with round [34] of 4 in' "$CONTEND_FAKE" run --resume "$scratch/twice/"
whole "$scratch/twice" "$scratch/straight"
is "times that it went on" "$(jq '.resumed | length' "$scratch/twice/run.json")" 2
tr -s ' \n' ' ' <"$scratch/twice/summary.txt" | grep -q 'the run: resumed with round 2 at 20.* after the last one' ||
    fail "the summary does not tell the gap: $(cat "$scratch/twice/summary.txt")"
[ "$(jq -r .run_id "$scratch/twice/run.json")" = "$(cut -d, -f 1 "$scratch/twice/samples.csv" | sed 1d | sort -u)" ] ||
    fail "samples of several runs"
sum=$(cat "$scratch/twice/"*.csv | md5sum)
expect 0 'already complete: 4 rounds are in' "$CONTEND_FAKE" run --resume "$scratch/twice"
is "the files of a complete run" "$(cat "$scratch/twice/"*.csv | md5sum)" "$sum"

# What cannot go on is refused, and stays as it is: another machine, other CPUs, other options, no result.
killed "$scratch/part" 1 "${fake[@]}" --out "$scratch/part"
cp -r "$scratch/part" "$scratch/other"
sed -i 's/"kernel": "[^"]*"/"kernel": "9.9"/' "$scratch/other/run.json"
expect 2 'it cannot go on here: kernel: 9.9 in the finished rounds, .* in this one' \
    "$CONTEND_FAKE" run --resume "$scratch/other"
[ "$(nproc)" = 1 ] || expect 2 'it cannot go on here: allowed CPUs: .* in the finished rounds' \
    taskset -c "$(taskset -pc $$ | sed 's/.*[ ,-]//')" "$CONTEND_FAKE" run --resume "$scratch/part"
for extra in --rounds=9 --time=1 fakescan; do
    expect 2 "leave out '${extra//[-0-9=]/}'" "$CONTEND_FAKE" run --resume "$scratch/part" "$extra"
done
expect 2 "leave out '--'" "$CONTEND_FAKE" run --resume "$scratch/part" -- true
expect 2 'cannot open output directory .*/none' "$CONTEND_FAKE" run --resume "$scratch/none"
mkdir "$scratch/empty"
expect 2 'has no run.json' "$CONTEND_FAKE" run --resume "$scratch/empty"
is "an empty directory" "$(ls -A "$scratch/empty")" ""
cp -r "$scratch/part" "$scratch/damaged"
printf 'X' | dd of="$scratch/damaged/resume.bin" bs=1 seek="$(($(wc -c <"$scratch/damaged/resume.bin") - 900))" conv=notrunc 2>/dev/null
expect 2 'resume.bin is damaged' "$CONTEND_FAKE" run --resume "$scratch/damaged"
rm "$scratch/damaged/resume.bin"
expect 2 'cannot read resume.bin' "$CONTEND_FAKE" run --resume "$scratch/damaged"
: >"$scratch/other/samples.csv"
sed -i "s/\"kernel\": \"9.9\"/\"kernel\": \"$(uname -r)\"/" "$scratch/other/run.json"
expect 2 'samples.csv is shorter' "$CONTEND_FAKE" run --resume "$scratch/other"
grep -q '"status": "interrupted"' "$scratch/part/run.json" || fail "a refused run was changed"

# While another works there; then the rest, as JSON and without a page.
"$CONTEND_FAKE" run --resume "$scratch/part" --json --no-plots >"$scratch/json" 2>"$scratch/log" </dev/null &
first=$!
wait_for 20 test -e "$scratch/part/.contend-run/lock"
expect 2 "is in use by process $first" "$CONTEND_FAKE" run --resume "$scratch/part"
wait "$first" || fail "exit $?: $(cat "$scratch/log")"
jq -e '.[0].rounds' "$scratch/json" >/dev/null || fail "no JSON: $(cat "$scratch/json")"

# A command of the user: what it printed in the first round stays.
work() {
    "$CONTEND_FAKE" run --rounds 3 --workers 2 --placement none --no-baselines --no-plots --out "$scratch/command" \
        -- sh -c $'echo {worker}\nsleep 0.3'
}
killed "$scratch/command" 1 bash -c "$(declare -f work); CONTEND_FAKE=$CONTEND_FAKE scratch=$scratch work"
expect 0 'going on with round' "$CONTEND_FAKE" run --resume "$scratch/command"
is "rounds of a command" "$(cut -d, -f 2 "$scratch/command/samples.csv" | sed 1d | sort -u | tr '\n' ' ')" '0 1 2 '
is "lines that it printed" "$(($(cat "$scratch/command/command-output/none-2-worker0.txt" | grep -c '^0$') > $(sed 1d \
    "$scratch/command/samples.csv" | grep -c '^[^,]*,[12],.*,foreground,0,')))" 1

# A benchmark alone, whose values are no steps.
scan=("$CONTEND_FAKE" bench fakescan --rounds 60 --time 0.3 --seed 5 --no-plots)
expect 0 . "${scan[@]}" --out "$scratch/scan"
killed "$scratch/half" 2 "${scan[@]}" --out "$scratch/half"
expect 0 'going on with round' "$CONTEND_FAKE" bench --resume "$scratch/half"
whole "$scratch/half" "$scratch/scan"

# Other commands are not resumed.
"$CONTEND_FAKE" ab fake --rounds 2 --time 0.05 --out "$scratch/ab" -V a -V b >"$scratch/log" 2>&1
sed -i 's/"rounds_done": 2/"rounds_done": 1/' "$scratch/ab/run.json"
expect 2 "is no result of 'contend run': it cannot be resumed" "$CONTEND_FAKE" run --resume "$scratch/ab"
finish
