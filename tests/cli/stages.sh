#!/usr/bin/env bash
# The stages of a step add up to the step in every round, alone and beside others. An artificial bottleneck, several
# times as long as the rest, is named as what bounds the run.
. tests/lib/cli.sh
export NO_COLOR=1
fast=(-p sim_gbps=1000000 -p sim_work_us=0.001) # a device that takes no time

# sums FILE: prints for each arm and round of rounds.csv the sum of its stages / the mean of its steps.
sums() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { arm = $at["placement"] " " $at["role"] " " $at["workers"] " " $at["round"] }
        $at["metric"] == "stage_time" { sum[arm] += $at["value"]; n[arm]++ }
        $at["metric"] == "step_time_mean" { step[arm] = $at["value"] }
        END { for (arm in step) print arm, n[arm], sum[arm] / step[arm] }' "$1"
}

# add_up DIR ARMS: checks that these ratios are about 1.
add_up() {
    sums "$1/rounds.csv" > "$scratch/sums"
    [ "$(wc -l < "$scratch/sums")" = "$2" ] || fail "$1: not $2 arms and rounds"$'\n'"$(cat "$scratch/sums")"
    awk '$5 < 9 || $6 < 0.98 || $6 > 1.02 { print; bad = 1 } END { exit bad }' "$scratch/sums" > "$scratch/off" ||
        fail "$1: stages do not add up to the step within 2%"$'\n'"$(cat "$scratch/off")"
}

expect 0 'bound by' "$CONTEND_BINARY" run -v pipeline -n 2 --device sim --placement none,sized --rounds 2 --time 0.5 \
    --warmup 0.05 --no-plots --no-canary --out "$scratch/two"
baselines=$(columns "$scratch/two/rounds.csv" placement role round | grep ,baseline, | sort -u | wc -l)
add_up "$scratch/two" $((4 + baselines))
[ "$baselines" -gt 0 ] || fail "nothing was measured alone"
columns "$scratch/two/rows.csv" placement role params metric | grep -q '^none,foreground,.*;stage=transform,stage_time$' ||
    fail "no row of a stage"

# The cost of reading the clock, in a typical run.
cost=$(cell "$scratch/two/rows.csv" none 2 stage_cost median)
awk -v c="$cost" 'BEGIN { exit !(c > 0 && c < 0.001) }' || fail "timing stages took '$cost' of a step"

# Steps too short for that cost are not divided, and a row says so.
expect 0 . "$CONTEND_BINARY" bench prep --rounds 1 --time 0.1 --no-plots --no-canary --out "$scratch/none"
! grep -q stage_time "$scratch/none/rows.csv" || fail "a benchmark without stages has some"
expect 0 . "$CONTEND_BINARY" bench pipeline --device sim --threads 1 --rounds 1 --time 0.1 --no-plots --no-canary \
    -p rows=1 -p cols=1 -p window=1 -p gpu_work=1 -p wait=spin "${fast[@]}" --out "$scratch/short"
columns "$scratch/short/rows.csv" metric status reason |
    grep -q '^stage_time,skipped,its steps are too short to be timed stage by stage$' ||
    fail "short steps: $(grep stage_ "$scratch/short/rows.csv")"

# bound PATTERN NAME COMMAND...: checks what bounds the run NAME.
bound() {
    local pattern=$1 name=$2
    shift 2
    timeout 200 "$@" -v --device sim --rounds 1 --time 0.3 --warmup 0.01 --no-plots --no-canary --no-baselines \
        --placement none --out "$scratch/$name" > "$scratch/$name.txt" 2>&1 || fail "$name: exit $?"
    said=$(tr '\n' ' ' < "$scratch/$name.txt" | tr -s ' ' | grep -o 'none, sim: bound by [^;]*')
    printf '%s\n' "$said" | grep -Eq "$pattern" || fail "$name: '$said', not /$pattern/"$'\n'"$(cat "$scratch/$name.txt")"
}
small=(-p rows=512 -p cols=128)

# 262 KB at 0.001 GB/s: 262 ms; 2 passes of 130 ms. The CPU's part is less than 10 ms, and grows by as much with each
# competitor for the CPU.
bound 'copies to the device, ([789].|100)%' copies "$CONTEND_BINARY" bench pipeline -n 1 --threads 1 "${small[@]}" \
    -p sim_gbps=0.001 -p sim_work_us=0.001
bound 'GPU compute, ([789].|100)%' kernel "$CONTEND_BINARY" bench pipeline -n 1 --threads 1 "${small[@]}" \
    -p sim_gbps=1000000 -p sim_work_us=130000

# Twelve workers on one CPU: each waits eleven times as long as it works.
first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
bound 'waiting for others, ([789].|100)%' others taskset -c "$first" "$CONTEND_BINARY" bench pipeline -n 12 --threads 1 "${fast[@]}"

[ "$(grep -c '"id": "bound"' "$scratch/copies/run.json")" = 1 ] || fail "the sentence is not in run.json once"
finish
