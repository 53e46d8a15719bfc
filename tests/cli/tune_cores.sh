#!/usr/bin/env bash
# contend tune --cores: both curves, the sufficient number of cores where it is known, the figure, the same from its
# files, and bad usage.
. tests/lib/cli.sh

needs two-cpus
sizing=("$CONTEND_FAKE" tune --cores fake --time 0.05 --warmup 0.01 --host h --no-canary --rounds 2)

# A step that is divided among the threads: one worker with 2 cores does twice the work of one with 1.
divided() {
    "${sizing[@]}" --core-counts 1,2 -p mode=divided -p step=0.04 -o "$scratch/divided" > "$scratch/said" 2> "$scratch/log" ||
        fail "exit $?: $(cat "$scratch/log")"
    grep -q 'one worker alone needs 2 cores' "$scratch/said"
}
retry divided || fail "not enough: $(cat "$scratch/said")"
grep -Eq '^to apply it: .* --placement partition --cores-each' "$scratch/said" || fail "nothing to apply"
grep -q 'with a median error of' "$scratch/said" || fail "no error of the prediction: $(cat "$scratch/said")"
"$CONTEND_FAKE" report "$scratch/divided" > "$scratch/again" 2> "$scratch/log" < /dev/null || fail "$(cat "$scratch/log")"
cmp "$scratch/said" "$scratch/again" || fail "report says otherwise"
grep -q 'variant=cores-2' "$scratch/divided/rows.csv" || fail "no rows of two cores"
[ -s "$scratch/divided/plots/sizing.dat" ] || fail "no data of the figure"
grep -q 'enough.* at' "$scratch/divided/plots/sizing.dat" || fail "what is enough is not in the figure"
if command -v gnuplot > /dev/null; then
    [ -s "$scratch/divided/plots/sizing.svg" ] || fail "no figure: $(cat "$scratch/log")"
fi

# A step that takes longer with each thread: one core is enough. As JSON.
asleep() {
    "${sizing[@]}" -p mode=per-thread -p step=0.02 --no-plots --json -o "$scratch/asleep" > "$scratch/json" 2> /dev/null || fail "exit $?"
    grep -q '"enough": 1' "$scratch/json"
}
retry asleep || fail "one is not enough: $(cat "$scratch/json")"

# A user's command, which uses as many threads as it is given: the command that applies the result names it.
"$CONTEND_BINARY" tune --cores --core-counts 1 --rounds 2 --no-canary --no-plots --host h -o "$scratch/command" \
    --metric 'rate ([0-9]+)' -- sh -c 'sleep 0.1; echo "rate 100"' > "$scratch/said" 2> "$scratch/log" ||
    fail "exit $?: $(cat "$scratch/log")"
grep -q -- "-- sh -c 'sleep 0.1" "$scratch/said" || fail "the command is not named: $(cat "$scratch/said")"

expect 0 'variant cores-1' "${sizing[@]}" --dry-run
expect 2 "cores '2,1' is not an ascending list" "${sizing[@]}" --core-counts 2,1 -o "$scratch/bad"
expect 2 'a worker alone has [0-9]+ cores at most here, not 4000' "${sizing[@]}" --core-counts 1,4000 -o "$scratch/bad"
expect 2 'no placement here binds' "${sizing[@]}" --placement none -o "$scratch/bad"
expect 2 'excludes --threads and --wait' "${sizing[@]}" --threads 2
expect 2 'core-counts needs --cores' "$CONTEND_BINARY" tune --core-counts 1
expect 2 'try pipeline' "$CONTEND_BINARY" tune --cores memory
finish
