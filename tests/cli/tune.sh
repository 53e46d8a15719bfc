#!/usr/bin/env bash
# contend tune finds the best setting where it is known, confirms it in fresh rounds, and prints how to apply it. Also
# tests the report from its files, and bad usage.
. tests/lib/cli.sh
without_gnuplot

tune=("$CONTEND_FAKE" tune fake --time 0.05 --warmup 0.01 --host h)
needs two-cpus unshare
can_have_idle_stat || skip "needs a mount namespace of its own"

# A step that takes longer with each thread: sized is the simplest of the best settings.
with_idle_stat "${tune[@]}" -p mode=per-thread -p step=0.01 --max-time 20 --reserve 0 -o "$scratch/tune" > "$scratch/said" \
    2> "$scratch/log" || fail "exit $?: $(cat "$scratch/log")"
tr '\n' ' ' < "$scratch/said" | grep -q 'recommended: sized, .* the default' || fail "no gain: $(cat "$scratch/said")"
grep -Eq '^to apply it: .* place --workers 2 --placement sized' "$scratch/said" || fail "not sized: $(cat "$scratch/said")"
[ "$(wc -L < "$scratch/said")" -le 100 ] || fail "wide: $(cat "$scratch/said")"
"$CONTEND_FAKE" report "$scratch/tune" > "$scratch/again" 2> "$scratch/log" < /dev/null || fail "$(cat "$scratch/log")"
cmp "$scratch/said" "$scratch/again" || fail "report says otherwise"
grep -q 'variant=fresh.none' "$scratch/tune/rows.csv" || fail "no fresh rows"
grep -q '"purpose": "tune"' "$scratch/tune/run.json" || fail "run.json does not say what it is"

# The printed command that applies the setting can be run.
eval "$(sed -n 's/^to apply it: //p' "$scratch/said")" | grep -q 'OMP_NUM_THREADS' || fail "cannot be applied"

# If nothing is better, tune recommends no change; as JSON.
with_idle_stat "${tune[@]}" --max-time 10 --placement none,sized --wait auto --reserve 0 --json -o "$scratch/equal" > "$scratch/json" \
    2> /dev/null || fail "exit $?"
grep -q '"id": "tune"' "$scratch/json" || fail "no finding: $(cat "$scratch/json")"
grep -q '"fresh": true' "$scratch/json" || fail "no fresh setting in the JSON"

# A user's command that is independent of placement: nothing to apply. And a command that does not exist.
with_idle_stat "$CONTEND_BINARY" tune --max-time 15 --placement none,partition --wait auto --reserve 0 --host h -o "$scratch/command" \
    --metric 'rate ([0-9]+)' -- sh -c 'sleep 0.1; echo rate 100' > "$scratch/said" 2> "$scratch/log" ||
    fail "exit $?: $(cat "$scratch/log")"
grep -Eq 'no (measurable|clear) gain|no recommendation|recommended: ' "$scratch/said" || fail "nothing said of a command: $(cat "$scratch/said")"
grep -q 'fresh.none' "$scratch/command/rows.csv" || fail "no fresh rows of a command"
expect 2 "no program 'nosuch'" "$CONTEND_BINARY" tune -o "$scratch/bad" -- nosuch
expect 2 "a scenario, or a command" "$CONTEND_BINARY" tune pipeline -o "$scratch/bad" -- true

# Arms too long for the time limit: fewer settings and rounds, which is reported.
SECONDS=0
"$CONTEND_BINARY" tune --max-time 12 --host h -o "$scratch/long" -- sleep 2 > "$scratch/said" 2> "$scratch/log" ||
    fail "exit $?: $(cat "$scratch/log")"
[ "$SECONDS" -le 60 ] || fail "--max-time 12 took $SECONDS s"
tr '\n' ' ' < "$scratch/said" | grep -Eq 'There was (no )?time for .* --max-time [0-9]+m? suffices' ||
    fail "too few rounds, and nothing said: $(cat "$scratch/said")"
tr '\n' ' ' < "$scratch/said" | grep -q 'settings were tried' || fail "settings dropped, and nothing said"
tr '\n' ' ' < "$scratch/said" | grep -Eq 'tried [0-9]+ of [0-9]+ settings, others may be better; ' || fail "said as if all were tried: $(cat "$scratch/said")"
grep -Eq 'a setting takes [0-9.]+ s: .* about [0-9]+ of [0-9]+ settings; --max-time [0-9]+m? tries all' "$scratch/log" ||
    fail "not said at once: $(cat "$scratch/log")"

unset OMP_NUM_THREADS

# If none never ends, it is cut off, and the time limit holds: the others are compared, and the gain is a lower bound. The
# others are equal, and load decides how many of them are tried.
SECONDS=0
with_idle_stat "$CONTEND_BINARY" tune -n 2 --max-time 8 --host h -o "$scratch/hangs" -- sh -c 'exec sleep ${OMP_NUM_THREADS:+0.}20' \
    > "$scratch/said" 2> "$scratch/log" || fail "exit $?: $(cat "$scratch/log")"
[ "$SECONDS" -le 60 ] || fail "--max-time 8 took $SECONDS s"
tr '\n' ' ' < "$scratch/said" | grep -Eq 'recommended: [a-z]+, more than [0-9.]+x the default' || fail "no bound: $(cat "$scratch/said")"
grep -q 'variant=fresh.none,.*,censored,' "$scratch/hangs/rounds.csv" || fail "none was not cut off"

# No time for a fresh round: the result is complete, without the settings that were not tried.
with_idle_stat "$CONTEND_BINARY" tune --max-time 1 --host h -o "$scratch/none" -- sleep 1 > "$scratch/said" 2> "$scratch/log" ||
    fail "exit $?: $(cat "$scratch/log")"
tr '\n' ' ' < "$scratch/said" | grep -q 'There was no time for a fresh round.* 1 of [0-9]* settings were tried' || fail "$(cat "$scratch/said")"
expect 0 '^sized ' "$CONTEND_BINARY" report "$scratch/none"
expect 2 'only placement none is possible' "$CONTEND_BINARY" tune --placement none -o "$scratch/bad" -- true

expect 0 'variant sized:' "${tune[@]}" --dry-run
expect 2 "threads 'x' is not a list" "${tune[@]}" --threads x -o "$scratch/bad"
expect 2 "wait 'never' is not a list" "${tune[@]}" --wait never -o "$scratch/bad"
expect 2 'try pipeline' "$CONTEND_BINARY" tune memory
expect 2 'one scenario at a time' "$CONTEND_FAKE" tune fake busy
expect 2 "unknown scenario 'nosuch'" "$CONTEND_FAKE" tune nosuch
finish
