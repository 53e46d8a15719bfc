#!/usr/bin/env bash
# The main job as a user starts it, on a machine without a GPU: the issue's own figures.
. tests/lib.sh
if ls /dev/nvidia[0-9]* > /dev/null 2>&1; then
    echo "a GPU is here: this test is about the model"
    exit 77
fi
[ "$(nproc)" -gt 1 ] || { echo "one CPU: nothing to compare"; exit 77; }
sanitized=$(nm "$CONTEND_BINARY" 2>/dev/null | grep -c __asan_init)
out="$scratch/r"

# Twice at most: what the run itself flags as noisy (steal, other processes) is not judged by time.
for _ in 1 2; do
    SECONDS=0
    expect 0 'sim' "$CONTEND_BINARY" run --out "$out"
    took=$SECONDS
    quiet=yes
    for placement in none partition; do
        [ "$(cell "$out/rows.csv" "$placement" 2 efficiency status)" = ok ] || quiet=
    done
    [ -z "$quiet" ] || break
done
for placement in none sized same partition; do
    status=$(awk -F, -v p=$placement '$3 == p && $9 == "" { next } $3 == p && $5 == "pipeline" \
        && $7 == "sim" { print; exit }' "$out/rows.csv")
    [ -n "$status" ] || { head -n 20 "$out/rows.csv"; fail "no sim row for $placement"; }
    value=$(cell "$out/rows.csv" "$placement" 2 step_time status)
    case $value in ok | noisy) ;; *) fail "$placement: status $value" ;; esac
done
none=$(cell "$out/rows.csv" none 2 step_time median)
partition=$(cell "$out/rows.csv" partition 2 step_time median)
efficiency=$(cell "$out/rows.csv" partition 2 efficiency median)
echo "none $none s, partition $partition s, efficiency of partition $efficiency, $took s in all"
if [ "$sanitized" = 0 ] && [ -n "$quiet" ]; then
    awk -v a="$none" -v b="$partition" 'BEGIN { exit !(a >= 1.5 * b) }' ||
        fail "none is not 1.5x slower than partition: $none against $partition"
    awk -v e="$efficiency" 'BEGIN { exit !(e >= 0.85) }' || fail "efficiency $efficiency < 0.85"
    [ "$took" -lt 75 ] || fail "took $took s, expected under 75"
fi
if command -v gnuplot > /dev/null; then
    for plot in efficiency step_time loss occupancy; do
        head -c 8 "$out/plots/$plot.png" | grep -q PNG || fail "no $plot.png"
        grep -q '</svg>' "$out/plots/$plot.svg" || fail "no $plot.svg"
        grep -q 'sim' "$out/plots/$plot.svg" || fail "$plot.svg does not say sim"
    done
fi
grep -q '"status": "complete"' "$out/run.json" || fail "run.json is not complete"
if [ "$failures" = 0 ] && [ -z "$quiet" ]; then
    echo "the machine was too busy, twice, to judge the times"
    exit 77
fi
finish
