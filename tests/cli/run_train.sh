#!/usr/bin/env bash
# Training steps that end in an all-reduce, as a user starts them: on the model of a GPU, and on two GPUs over NCCL if
# available.
. tests/lib/cli.sh
needs two-cpus
export NO_COLOR=1

# train DIR DEVICE: runs two ranks under none, sized and partition, and prints the table to DIR.txt.
train() {
    local out=$scratch/$1
    timeout 200 "$CONTEND_BINARY" run train -n 2 --device "$2" --rounds 2 --time 0.4 --warmup 0.05 \
        --placement none,sized,partition --no-plots --out "$out" > "$out.txt" 2> "$out.log" ||
        fail "exit $? on $2"$'\n'"$(cat "$out.txt" "$out.log")"
    for placement in none sized partition; do
        judge "$out" "$2" "$placement"
    done
    long=$(awk 'length > 79' "$out.txt" | grep -Ev '^(Results|to apply it): ')
    [ -z "$long" ] || fail "lines of more than 79 columns:"$'\n'"$long"
    grep -Eq '^largest +waited_for_share +waited_for_time +wait_time$' "$out.txt" ||
        fail "the table has no block of which rank was waited for:"$'\n'"$(cat "$out.txt")"
    grep -Eq '^partition +[0-9]+% \(rank [01]\) +[0-9.]+ [mun]?s \(rank [01]\)' "$out.txt" ||
        fail "the table names nobody under partition:"$'\n'"$(cat "$out.txt")"
}

# judge DIR DEVICE PLACEMENT: checks the efficiency, and that every step waited for some rank.
judge() {
    local status efficiency shares
    status=$(cell "$1/rows.csv" "$3" 2 step_time status)
    case $status in ok | noisy) ;; *) fail "$3 on $2: status '$status'"; return ;; esac
    efficiency=$(cell "$1/rows.csv" "$3" 2 efficiency median)
    awk -v e="$efficiency" 'BEGIN { exit !(e > 0 && e < 2) }' || fail "$3: efficiency '$efficiency'"
    # Medians of parts need not add up to 1, but the minima and maxima of two rounds enclose it.
    shares=$(columns "$1/rows.csv" placement device metric min max |
        awk -F, -v arm="$3,$2,waited_for_share," 'index($0, arm) == 1 {
            low += $4; high += $5; n++ } END { print n, low, high }')
    awk -v s="$shares" 'BEGIN { split(s, at, " ")
        exit !(at[1] == 2 && at[2] <= 1.000001 && at[3] >= 0.999999) }' ||
        fail "$3: ranks, least and most of their shares: $shares"
    ! columns "$1/rows.csv" placement workers metric | grep -q "^$3,1,wait" ||
        fail "$3: one worker alone waited for somebody"
}

train sim sim

expect 0 '1 worker .*items/s' "$CONTEND_BINARY" run train -n 1 --device sim --placement none --rounds 1 \
    --time 0.1 --no-plots --out "$scratch/one"
[ "$(cell "$scratch/one/rows.csv" none 1 throughput median)" != "" ] || fail "one worker alone has no throughput"
expect 2 'gradient 6 is not' "$CONTEND_BINARY" bench train --device sim -p gradient=6 --no-plots \
    --out "$scratch/half"

# If a rank is killed, the arm ends at once and names it. The test cannot see when the rank runs: if it was killed too
# early, the test tries once more, later.
rank_1_is_there() { # sets victim
    local pid
    for pid in $(pgrep -P "$run"); do
        victim=$pid
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != contend-w1 ] || return 0
    done
    return 1
}
kill_rank_1() { # kill_rank_1 SECONDS: that long after its start
    local run victim code
    "$CONTEND_BINARY" bench train -n 2 --device sim --placement partition --rounds 1 --time 600 \
        --no-baselines --no-plots --out "$scratch/dead" > "$scratch/dead.txt" 2>&1 &
    run=$!
    wait_for 60 rank_1_is_there || fail "no rank 1: $(cat "$scratch/dead.txt")"
    sleep "$1"
    kill -9 "$victim"
    wait_for 300 ended "$run" || { fail "a killed rank holds the others up" && kill "$run"; }
    wait "$run"
    code=$?
    [ "$code" = 3 ] || fail "exit $code after a killed rank"$'\n'"$(cat "$scratch/dead.txt")"
}
for seconds in 3 6 12; do
    kill_rank_1 "$seconds"
    grep -Eq 'while (launched|setup|primed|warming|ready)' "$scratch/dead/rows.csv" || break
done
grep -q ',failed,worker 1: killed by signal 9 (Killed) while running' "$scratch/dead/rows.csv" ||
    fail "the killed rank is not named:"$'\n'"$(cat "$scratch/dead/rows.csv")"

if ls /dev/nvidia1 > /dev/null 2>&1; then
    train cuda cuda
    grep train "$scratch/cuda/rows.csv" | head -n 40
    cat "$scratch/cuda.txt"
fi
finish
