#!/usr/bin/env bash
# contend predict: says what more workers would do, writes it before it measures it, and is held to it by --verify.
. tests/lib/cli.sh

predict=("$CONTEND_BINARY" predict --host h --force --time 0.1 --max-time 12 --rounds 2 -n 1..4)
"${predict[@]}" --verify --no-plots --out "$scratch/held" >"$scratch/said.txt" 2>"$scratch/log.txt" || fail "predict: $? $(cat "$scratch/log.txt")"
grep -Eq 'will do|did most' "$scratch/said.txt" || fail "no recommendation: $(cat "$scratch/said.txt")"
grep -q 'measured  *error$' "$scratch/said.txt" || fail "no errors: $(cat "$scratch/said.txt")"
[ "$(grep -v '^to apply it' "$scratch/said.txt" | wc -L)" -le 80 ] || fail "wider than 80 columns: $(cat "$scratch/said.txt")"
jq -e '.made and (.run_id | length > 0) and (.prediction.cells | length >= 6)' "$scratch/held/prediction.json" >/dev/null ||
    fail "prediction.json: $(cat "$scratch/held/prediction.json")"
jq -e '[.prediction.cells[] | select(.workers > 2)] | length > 0 and all(.measured == null and .rate > 0)' \
    "$scratch/held/prediction.json" >/dev/null || fail "it was measured before it was written"

# The same cells, now measured, with the rates that were written.
"$CONTEND_BINARY" report --json "$scratch/held" >"$scratch/report.json" || fail "report: $?"
jq -e --slurpfile before "$scratch/held/prediction.json" '
    ([.prediction.cells[].rate, $before[0].prediction.cells[].rate] | .[:length / 2] as $now | .[length / 2:] as $old |
        ($now | length) == ($old | length) and all(range($now | length); ($now[.] / $old[.] - 1 | fabs) < 1e-6)) and
    ([.prediction.cells[] | select(.workers > 2)] | all(.measured > 0)) and .prediction.verified + .prediction.bounds == 4' \
    "$scratch/report.json" >/dev/null || fail "it changed: $(cat "$scratch/report.json")"
expect 0 'predicted pipeline' "$CONTEND_BINARY" report "$scratch/held"

# A user's command, without --verify: nothing with more than two workers starts.
cat >"$scratch/job.sh" <<'END'
echo $$ >>"$1"
for ((step = 0; step < 40; step++)); do
    for ((i = 0; i < 2000; i++)); do :; done
    echo step
done
END
expect 0 'predicted command' "${predict[@]}" --no-plots --out "$scratch/job" --steps-by-lines --line '^step' \
    -- bash "$scratch/job.sh" "$scratch/pids"
jq -e '[.arms[] | select(.plan.status == "ok" and (.slots > 2)) | .observations | length] | all(. == 0)' "$scratch/job/run.json" \
    >/dev/null || fail "it measured what it only had to predict"

# What gives no rate alone gives no prediction.
expect 3 'Nothing can be predicted' "${predict[@]}" --no-plots --out "$scratch/false" -- sh -c 'exit 1'
[ ! -e "$scratch/false/prediction.json" ] || fail "a prediction of nothing"
expect 2 'binds workers to cores of their own' "${predict[@]}" --no-plots --out "$scratch/none" --placement none,sized
finish
