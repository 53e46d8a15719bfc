#!/usr/bin/env bash
# contend selfcheck: tiny trials and their files. A crash, too few trials and an interrupt are not a pass.
. tests/lib/cli.sh
needs jq
cd "$scratch" || exit 1
fake=("$CONTEND_FAKE" selfcheck fake --host h)
ends_with() { # ends_with CODE DIR: what selfcheck.json says
    [ "$(jq '.exit_code' "$2/selfcheck.json")" = "$1" ] || fail "$2: exit_code $(jq .exit_code "$2/selfcheck.json")"
}

# Two tiny trials of each kind: too few for a verdict, so no pass; all files are kept. They sleep for most of a minute,
# so the other checks run meanwhile. Their own CONTEND_TEST hides them from the search for leftover processes.
CONTEND_TEST=$scratch/few "${fake[@]}" --only aa,compare --trials 2 --trial-max-time 2 -o few > few.out 2>&1 < /dev/null &
few_pid=$!

wide=$("${fake[@]}" --only aa --trials 1 --trial-max-time 1 -o wide 2> log | awk 'length > 80')
[ -z "$wide" ] || fail "wider than 80 columns: $wide"

# The slowdown is that of the real benchmark. Any verdict of this busy machine is counted.
"$CONTEND_BINARY" selfcheck --only 10 --trials 1 --trial-max-time 3 -p rows=64 --device sim --json -o slow > out.json 2> log ||
    [ $? = 4 ] || fail "slow: $(cat log)"
[ "$(jq -c '.kinds | map(.kind, .trials, .errors)' out.json)" = '["10",1,0]' ] || fail "$(cat out.json)"
grep -q '"busy=10"' slow/10/1/run.json || fail "nothing was slowed down"

# A trial that ends badly is an error, never a pass.
expect 3 'nothing was measured: worker 0: [ke]' "${fake[@]}" --only aa --trials 1 --trial-max-time 2 -p mode=crash -o crash
ends_with 3 crash
is_measured() { [ -e "$1/run.json" ]; }
"${fake[@]}" --only aa --trials 2 --trial-max-time 20 -o killed > out 2> log &
check_pid=$!
wait_for 60 is_measured killed/aa/1 || fail "no trial began"
for pid in $(pids_of_this_test 'ab fake .*--out=killed/aa/1'); do
    [ "$pid" -gt 1 ] && kill -KILL "$pid"
done
wait_for 60 is_measured killed/aa/2 || fail "it did not go on"

# An interrupt also ends the trial, and leaves only what was counted.
kill -INT "$check_pid"
wait "$check_pid"
[ $? = 130 ] || fail "exit code after SIGINT: $(cat log)"
[ "$(sed 1d killed/trials.csv)" != "" ] && [ "$(wc -l < killed/trials.csv)" = 2 ] || fail "$(cat killed/trials.csv)"
grep -q '^aa,1,0,ERROR,0,.*was killed by a signal' killed/trials.csv || fail "$(cat killed/trials.csv)"
[ "$(jq -c '[.complete, .exit_code, .kinds[0].errors]' killed/selfcheck.json)" = '[false,130,1]' ] ||
    fail "$(cat killed/selfcheck.json)"
wait_for 60 none_of_this_test '__worker\|ab fake' || fail "something is left"

# The time limit is printed beforehand, and kept.
[ -z "$("$CONTEND_BINARY" selfcheck --dry-run | awk 'length > 80')" ] || fail "the plan is wider than 80 columns"
expect 0 '3 trials of each in turns: .*About 1 min, at most 2' "$CONTEND_BINARY" selfcheck --only 10 --trials 3 \
    --trial-max-time 5 --max-time 1m --device sim --dry-run
expect 4 'the time is over' "${fake[@]}" --only aa --trials 50 --trial-max-time 1 --max-time 2 -o over
[ "$(jq .complete over/selfcheck.json)" = false ] || fail "complete"

# The files of the first trials.
wait "$few_pid"
got=$?
[ "$got" = 4 ] && grep -q 'few trials to prove' few.out || fail "exit $got of few: $(cat few.out)"
ends_with 4 few
[ "$(cut -d, -f1-3 few/trials.csv | paste -sd' ')" = \
    'kind,trial,busy_percent aa,1,0 compare,1,0 aa,2,0 compare,2,0' ] || fail "$(cat few/trials.csv)"
[ "$(jq -c '[.complete, (.kinds | map(.kind, .trials, .errors))]' few/selfcheck.json)" = \
    '[true,["aa",2,0,"compare",2,0]]' ] || fail "$(cat few/selfcheck.json)"
for result in few/aa/2 few/compare/2/1 few/compare/2/2; do
    expect 0 . "$CONTEND_FAKE" report "$result"
done

# Bad input: one line, and nothing starts.
one_line() { # one_line PATTERN ARGS...
    expect 2 "$1" "${@:2}"
    [ "$("${@:2}" 2>&1 | wc -l)" = 1 ] || fail "not one line: ${*:2}"
}
one_line "only: invalid value '3'" "${fake[@]}" --only aa,3 -o bad
one_line "unknown parameter 'busy'" "${fake[@]}" --only 5 -o bad
one_line "unknown parameter 'nosuch'" "${fake[@]}" --only compare -p nosuch=1 -o bad
one_line 'named twice' "${fake[@]}" fake -o bad
one_line "'few' holds a selfcheck" "${fake[@]}" --only aa -o few
one_line "cannot .* '/proc/self" "${fake[@]}" --only aa -o /proc/self/no
[ ! -e bad ] || fail "bad input left something"
finish
