#!/usr/bin/env bash
# Ranks that meet in every timed step all do the same number of steps, also under overlapping placements and as
# background. If a rank dies, the others end at once, and the reason names it.
. tests/lib/cli.sh

# march DIR CODE [option...]: runs three such ranks and checks the exit code. `expect` ends long before these limits: a
# rank that waits for one that has ended fails the test.
march() {
    local out=$scratch/$1 code=$2
    shift 2
    expect "$code" . "$CONTEND_FAKE" bench fakemarch --workers 3 --rounds 2 --time 0.2 --limit 600 \
        --warmup 0.05 --setup-limit 600 --no-plots --out "$out" "$@"
}

# steps DIR PLACEMENT RANK: prints the measured steps of a rank, median over rounds.
steps() {
    columns "$scratch/$1/rows.csv" placement workers metric params median |
        sed -n "s/^$2,3,steps,.*slots=3.*;rank=$3,//p"
}

march ok 0 --placement none,sized
for placement in none sized; do
    first=$(steps ok $placement 0)
    awk -v n="$first" 'BEGIN { exit !(n >= 1 && n <= 100) }' || fail "$placement: '$first' steps in 0.2 s"
    for rank in 1 2; do
        [ "$(steps ok $placement $rank)" = "$first" ] ||
            fail "$placement: rank $rank did $(steps ok $placement $rank) steps, rank 0 $first"
    done
    [ -n "$(cell "$scratch/ok/rows.csv" $placement 3 throughput median)" ] || fail "no throughput"
    [ -n "$(cell "$scratch/ok/rows.csv" $placement 1 step_time median)" ] || fail "no rank alone"
done

march behind 0 --workers 1 --background fakemarch --background-workers 3 --placement none
march beside 0 --workers 1 --background fake --placement none
for out in behind beside; do # what those did that meet, and one that meets nobody
    awk -v r="$(cell "$scratch/$out/rows.csv" none 1 background_rate median)" 'BEGIN { exit !(r > 0) }' ||
        fail "no background_rate: $(cat "$scratch/$out/rows.csv")"
done

march dead 3 --placement none --rounds 1 --time 5 --no-baselines -p mode=crash -p bad_worker=1
grep -q ',failed,worker 1: killed by signal 9 (Killed) while running' "$scratch/dead/rows.csv" ||
    fail "the dead rank is not named:"$'\n'"$(cat "$scratch/dead/rows.csv")"
finish
