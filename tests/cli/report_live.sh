#!/usr/bin/env bash
# A result is read beside the run that replaces its files after each round: all files are of the same round.
. tests/lib/cli.sh

out=$scratch/out
on_disk() { [ -e "$out/rounds.csv" ] && [ "$(wc -l <"$out/rounds.csv")" -gt 1 ]; }
"$CONTEND_FAKE" run fake --placement none --workers 1 --no-baselines --no-canary --time 0.01 --warmup 0.01 \
    --rounds 1000 --no-plots --out "$out" >"$out.log" 2>&1 </dev/null &
run=$!
wait_for 60 on_disk || fail "no round: $(cat "$out.log")"
failed=0
for ((i = 0; i < 300; i++)); do
    "$CONTEND_FAKE" report "$out" --json >"$scratch/seen" 2>"$scratch/errors" </dev/null || {
        failed=$((failed + 1))
        cat "$scratch/errors"
    }
done
kill -0 "$run" || fail "the run has ended: $(cat "$out.log")"
kill -TERM "$run"
wait "$run"
[ "$failed" = 0 ] || fail "$failed of $i reports failed"
finish
