#!/usr/bin/env bash
# --trace writes a file that viewers of Chromium's trace events read. It is complete even after an interrupt.
. tests/lib/cli.sh
needs jq
quick=(--device sim --rounds 1 --time 0.2 --warmup 0.02 --no-plots --no-canary)
trace=$scratch/trace.json

# holds FILTER WHAT: the filter is true for the trace.
holds() {
    jq -e "$1" "$trace" > "$scratch/jq" 2>&1 || fail "$2: $(head -c 300 "$scratch/jq")"
}

expect 0 . "$CONTEND_BINARY" run pipeline -n 2 "${quick[@]}" --placement none,sized --no-baselines --trace "$trace" \
    --out "$scratch/two"
holds '.traceEvents | length > 50' "few events"
holds 'all(.traceEvents[]; .ph == "X" or .ph == "M")' "other phases"
holds 'all(.traceEvents[] | select(.ph == "X"); (.ts | type) == "number" and .dur >= 0)' "a span without times"
holds '[.traceEvents[] | select(.cat == "arm") | .name] | sort == ["pipeline: none", "pipeline: sized"]' "arms"
holds '[.traceEvents[] | select(.name == "process_name") | .args.name] | unique == ["contend", "worker 0", "worker 1"]' "workers"
holds '[.traceEvents[] | select(.cat == "stage") | .name] | unique | contains(["transform", "copy", "kernel", "other"])' "stages"
holds '[.traceEvents[] | select(.cat == "cpu") | .name] | length > 0 and all(test("^CPU [0-9]+$"))' "CPUs"
# Each stage lies within a step of its worker.
holds '[.traceEvents[] | select(.cat == "step" or .cat == "stage")] | group_by(.pid) | all(.[];
    sort_by(.ts, -.dur) | reduce .[] as $e ({ok: true, end: -1e18};
        if $e.cat == "step" then {ok: .ok, end: ($e.ts + $e.dur)}
        else {ok: (.ok and $e.ts + $e.dur <= .end + 0.01), end: .end} end) | .ok)' "a stage sticks out of its step"
# There are as many steps as samples.
samples=$(($(wc -l < "$scratch/two/samples.csv") - 1))
holds "[.traceEvents[] | select(.cat == \"step\")] | length == $samples" "not $samples steps"

# Interrupted in the first round, when some arms have run, and in a later round.
interrupted() { # interrupted NAME PATTERN: of stderr, when to interrupt
    local run
    "$CONTEND_BINARY" run pipeline -n 2 "${quick[@]}" --rounds 200 --placement none,sized,passive --trace "$trace" \
        --out "$scratch/$1" > "$scratch/$1.txt" 2>&1 &
    run=$!
    wait_for 60 eval "$2 || ! kill -0 $run" || fail "$1: never got so far"
    kill -INT "$run"
    wait "$run"
    code=$?
    [ "$code" = 130 ] || fail "$1: exit $code"$'\n'"$(cat "$scratch/$1.txt")"
    holds '.traceEvents | length > 10' "$1: no whole trace"
}
rm -f "$trace"
interrupted first 'grep -q arm "$trace" 2> /dev/null'
interrupted later 'grep -q "round 2 of" "$scratch/later.txt"'

# Killed: between two arms the file is complete, too.
rm -f "$trace"
"$CONTEND_BINARY" run pipeline -n 2 "${quick[@]}" --rounds 200 --placement none --trace "$trace" \
    --out "$scratch/killed" > /dev/null 2>&1 &
run=$!
wait_for 60 eval 'grep -q arm "$trace" 2> /dev/null || ! kill -0 $run'
kill -9 "$run"
wait "$run" 2> /dev/null
holds '.traceEvents | length > 10' "a killed run has no whole trace"

# A benchmark without stages has steps and CPUs; a scan has its arm.
expect 0 . "$CONTEND_BINARY" bench prep "${quick[@]}" --trace "$trace" --out "$scratch/prep"
holds '[.traceEvents[].cat] | index("step") and index("cpu") and (index("stage") | not)' "prep"

# A file that contend did not write stays unchanged.
echo kept > "$scratch/kept"
ln -s "$scratch/kept" "$scratch/link"
mkfifo "$scratch/pipe"
for path in "$scratch/link" "$scratch/pipe" /dev/null "$scratch" "$scratch/missing/trace.json"; do
    expect 2 'trace' "$CONTEND_BINARY" bench pipeline "${quick[@]}" --trace "$path" --out "$scratch/refused"
done
[ "$(cat "$scratch/kept")" = kept ] || fail "a link was followed"
[ -p "$scratch/pipe" ] && [ -c /dev/null ] || fail "what was no file has become one"
expect 2 'mpirun' env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 \
    "$CONTEND_BINARY" bench pipeline "${quick[@]}" --trace "$trace" --out "$scratch/job"

# A full disk ends the trace, not the run, and leaves the trace complete.
mkdir "$scratch/full"
full=$scratch/full/trace.json
if unshare -m mount -t tmpfs -o size=16k none "$scratch/full" 2> /dev/null; then
    export scratch full
    # shellcheck disable=SC2016
    expect 0 'the trace ends here' unshare -m bash -c '
        mount -t tmpfs -o size=16k none "$scratch/full" && "$@" --trace "$full" && jq -e .traceEvents "$full" > /dev/null' \
        bash "$CONTEND_BINARY" run pipeline -n 2 "${quick[@]}" --placement none,sized --out "$scratch/disk"
fi
finish
