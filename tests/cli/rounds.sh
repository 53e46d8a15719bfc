#!/usr/bin/env bash
# rounds.csv has everything that rows.csv is computed from, except percentiles of steps. 'contend report' prints what
# the run printed, byte for byte.
. tests/lib/cli.sh
needs jq
drawing=$PATH
without_gnuplot

# Recomputes rows in awk: one line per group, with the values of rows.csv.
by_hand() { # by_hand ROUNDS.CSV
    awk -F, '
        NR == 1 || $9 == "status" && $13 != "" { next }
        { row = $3 "," $4 "," $5 "," $6 "," $7 "," $9; arm = $3 "," $4 "," $7 }
        !(row in n) { order[++rows] = row; arm_of[row] = arm; metric[row] = $9; n[row] = 0 }
        $13 != "" { at[row, ++n[row]] = $13; in_round[row, $12] = $13
                    for (i = n[row]; i > 1 && at[row, i - 1] + 0 > at[row, i] + 0; i--) {
                        t = at[row, i]; at[row, i] = at[row, i - 1]; at[row, i - 1] = t } }
        $13 != "" && $9 == "loss_per_step" { round_of[arm, $13] = $12; loss[arm] = row }
        END { for (r = 1; r <= rows; r++) { row = order[r]; k = n[row]; if (!k) continue
            median = (at[row, int((k + 1) / 2)] + at[row, int(k / 2) + 1]) / 2
            if (metric[row] ~ /^loss/) { arm = arm_of[row]; whole = loss[arm]
                median = in_round[row, round_of[arm, at[whole, int((n[whole] + 1) / 2)]]] }
            printf "%s,%d,%.9g,%.9g,%.9g\n", row, k, median, at[row, 1], at[row, k] } }' "$1"
}

same_rows() { # same_rows DIR
    by_hand "$1/rounds.csv" | grep -v ',step_time,' > "$scratch/by_hand"
    columns "$1/rows.csv" placement workers role bench params metric rounds median min max |
        grep -v ',step_time,\|,0,,,$' > "$scratch/rows"
    [ -s "$scratch/rows" ] || fail "$1: no rows"
    same_numbers "$scratch/by_hand" "$scratch/rows" || fail "$1: rows.csv is not what rounds.csv comes to"
    same_numbers <(by_hand "$1/rounds.csv" | grep ',step_time,' | cut -d, -f 1-8) \
        <(columns "$1/rows.csv" placement workers role bench params metric rounds median |
            grep ',step_time,') || fail "$1: step_time is not what rounds.csv comes to"
    # With up to five rounds the interval is their range.
    columns "$1/rows.csv" metric rounds ci_low ci_high min max | grep -v '^step_time,' |
        awk -F, '$2 > 1 && ($3 != $5 || $4 != $6) { print; bad = 1 } END { exit bad }' ||
        fail "$1: an interval is not the range of its rounds"
}

same_words() { # same_words DIR COMMAND...
    local dir=$1
    shift
    "$@" -v --out "$dir" > "$scratch/said" 2> "$scratch/log" < /dev/null ||
        fail "exit $?: $*: $(cat "$scratch/log")"
    grep -q '^where the time went' "$scratch/log" || fail "not said where the time went: $(cat "$scratch/log")"
    "$CONTEND_FAKE" report -v "$dir" > "$scratch/again" 2> "$scratch/log" < /dev/null ||
        fail "report $dir: $(cat "$scratch/log")"
    cmp "$scratch/said" "$scratch/again" || fail "report says: $(diff "$scratch/said" "$scratch/again")"
    printf '\nResults: %s\nMeasured by %s\n' "$dir" "$("$CONTEND_FAKE" version | head -n 1)" |
        cat "$dir/summary.txt" - | cmp - "$scratch/said" ||
        fail "summary.txt is not what was said"
    same_rows "$dir"
}

short=(--time 0.1 --warmup 0.01)
same_words "$scratch/steps" "$CONTEND_FAKE" run fake --placement none,sized,same,pcores --workers 1,2 \
    --rounds 3 "${short[@]}"
# Rounds that end when the verdict is clear: the data for that are read back, too. A busy machine gets more time on a
# second try.
for limit in 9s 30s 120s; do
    rm -rf "$scratch/clear"
    same_words "$scratch/clear" "$CONTEND_FAKE" run fake --placement none,sized,partition --workers 2 --no-canary \
        --max-time $limit "${short[@]}"
    [ "$(jq .rounds_done "$scratch/clear/run.json")" -lt 2 ] || break
done
jq -e '.until_clear and .rounds_done == .rounds_planned' "$scratch/clear/run.json" >/dev/null ||
    fail "rounds: $(jq '.until_clear, .rounds_done, .rounds_planned' "$scratch/clear/run.json")"
columns "$scratch/clear/rounds.csv" role metric round placement | grep '^baseline,throughput,' | sort >"$scratch/solo"
[ "$(cut -d, -f 3 "$scratch/solo" | uniq -d)" = '' ] && grep -q ',0,none$' "$scratch/solo" && grep -q ',1,partition$' "$scratch/solo" ||
    fail "not one solo run a round, in turn: $(cat "$scratch/solo")"
same_words "$scratch/scan" "$CONTEND_FAKE" bench fakescan --rounds 2 --time 0.1 --no-plots
same_words "$scratch/team" "$CONTEND_FAKE" run team --workers 3 --rounds 3 "${short[@]}" --limit 60

# A worker that fails in one round: that round is a line with a reason and without a value.
"$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 2 "${short[@]}" -p mode=fail-run \
    --out "$scratch/failed" > /dev/null 2>&1 < /dev/null
columns "$scratch/failed/rounds.csv" placement role metric round value status |
    grep -qx 'none,foreground,status,0,,failed' ||
    fail "no line of a failed round: $(cut -c1-200 "$scratch/failed/rounds.csv")"

# Figures of a run that drew none, by a program that lacks its benchmarks.
PATH=$drawing
if command -v gnuplot > /dev/null; then
    "$CONTEND_FAKE" run fake --placement none,sized --workers 2 --rounds 1 "${short[@]}" --no-plots \
        --out "$scratch/plain" > /dev/null 2>&1 < /dev/null
    [ ! -e "$scratch/plain/plots/loss.svg" ] || fail "figures with --no-plots"
    expect 0 'plots/occupancy.svg' "$CONTEND_BINARY" report "$scratch/plain"
    for plot in throughput efficiency step_time loss occupancy; do
        [ -s "$scratch/plain/plots/$plot.svg" ] || fail "no $plot.svg"
    done
fi
expect 0 'square' "$CONTEND_BINARY" report "$scratch/scan"
finish
