#!/usr/bin/env bash
# After kill -9 at any time, run.json gives a number of complete rounds and where they end in samples.csv. Beyond that
# point a line may be cut, yet look complete. 'contend report' reads all rounds.
. tests/lib/cli.sh
needs jq
out="$scratch/out"
reaches() { # reaches ROUNDS
    [ "$(jq .rounds_done "$out/run.json" 2> /dev/null || echo 0)" -ge "$1" ]
}
for rounds in 1 2 3; do
    "$CONTEND_FAKE" run fake --placement none --workers 2 --no-baselines --rounds 1000 \
        --time 0.05 --warmup 0.01 --no-plots -p step=0.01ms --out "$out" > "$scratch/log" 2>&1 \
        < /dev/null &
    pid=$!
    wait_for 60 reaches "$rounds" || fail "not $rounds rounds within a minute: $(cat "$scratch/log")"
    kill -9 "$pid"
    wait "$pid" 2> /dev/null
    done_rounds=$(jq .rounds_done "$out/run.json")
    bytes=$(jq .samples_bytes "$out/run.json")
    head -c "$bytes" "$out/samples.csv" > "$scratch/valid"
    [ "$(stat -c %s "$scratch/valid")" = "$bytes" ] || fail "samples.csv has not $bytes bytes"
    [ -z "$(tail -c 1 "$scratch/valid" | tr -d '\n')" ] || fail "the last line is cut"
    awk -F, 'NF != 17 { exit 1 }' "$scratch/valid" || fail "a broken line"
    [ "$(awk -F, 'NR > 1 && !seen[$2]++ { n++ } END { print n }' "$scratch/valid")" = "$done_rounds" ] ||
        fail "other rounds than the $done_rounds that run.json speaks of"
    jq -e '.status == "interrupted" and .ended == null' "$out/run.json" > /dev/null ||
        fail "run.json: $(jq '.status, .ended' "$out/run.json")"
    # Its rounds are all read, also those that run.json does not mention, and not the line that is cut.
    whole=$(awk -F, '$9 == "throughput" && NF == 15' "$out/rounds.csv" | wc -l)
    [ "$whole" -ge "$done_rounds" ] || fail "rounds.csv has $whole rounds of $done_rounds"
    for cut in '' 'fixture,fake'; do
        printf %s "$cut" >>"$out/rounds.csv"
        "$CONTEND_FAKE" report "$out" --json >"$scratch/said" 2>"$scratch/log" </dev/null ||
            fail "report: $(cat "$scratch/log")"
        read_rounds=$(jq '[.[] | select(.metric == "throughput") | .rounds] | max' "$scratch/said")
        [ "$read_rounds" = "$whole" ] || fail "$whole rounds are there, $read_rounds were read"
    done
    rm -r "$out"
done
finish
