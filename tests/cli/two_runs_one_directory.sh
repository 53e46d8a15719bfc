#!/usr/bin/env bash
# Two runs never write into one directory: the second is refused while the first is at work,
# whatever happened to earlier runs. Default names never collide.
. tests/lib/cli.sh
needs jq
run=("$CONTEND_FAKE" run fake --placement none --workers 2 --no-baselines --time 0.1 --warmup 0.01
    --no-plots)

on_disk() { # on_disk OUT: a round of it
    [ -e "$1/rounds.csv" ] && [ "$(wc -l < "$1/rounds.csv")" -gt 1 ]
}
out="$scratch/out"
start() { # in the background, until a round is there
    "${run[@]}" --rounds 1000 --out "$out" > "$out.log" 2>&1 < /dev/null &
    first=$!
    wait_for 60 on_disk "$out" || fail "no round finished within a minute: $(cat "$out.log")"
}

start
expect 2 "output directory '$out' is in use by process $first on .* since 20.* UTC: .*run fake" \
    "${run[@]}" --rounds 1 --out "$out"
kill -0 "$first" || fail "the first run has ended: $(cat "$out.log")"
kill -TERM "$first"
wait "$first"
jq -e '.status == "interrupted" and .rounds_done > 0' "$out/run.json" > /dev/null ||
    fail "the first run was disturbed: $(jq '.status, .rounds_done' "$out/run.json")"
[ "$(ls -A "$out" | tr '\n' ' ')" = 'rounds.csv rows.csv run.json samples.csv summary.txt ' ] ||
    fail "a run that has ended leaves more than its results: $(ls -A "$out")"

# A killed run does not block the directory.
rm -r "$out"
start
kill -9 "$first"
wait "$first" 2> /dev/null
expect 0 'replacing the earlier run' "${run[@]}" --rounds 1 --out "$out"
jq -e '.status == "complete"' "$out/run.json" > /dev/null || fail "not complete after a killed one"
[ "$(ls -A "$out" | tr '\n' ' ')" = 'plots rounds.csv rows.csv run.json samples.csv summary.txt ' ] ||
    fail "a killed run's files are left: $(ls -A "$out")"

# Without --out each run has a directory of its own, even if two start in the same second.
cd "$scratch" || exit 1
pids=()
for _ in 1 2 3 4 5; do
    "${run[@]}" --rounds 1 --host here > /dev/null 2>&1 < /dev/null &
    pids+=($!)
done
for pid in "${pids[@]}"; do
    wait "$pid" || fail "exit $? of a run among others"
done
results=$(find results/here -mindepth 1 -maxdepth 1 | wc -l)
[ "$results" = 5 ] || fail "5 runs left $results results: $(ls results/here)"
finish
