#!/usr/bin/env bash
# contend comms names what the host does to a late rank: two ranks train by the stub of NCCL, and one has a planted fault.
. tests/lib/cli.sh
. tests/lib/quota.sh
needs jq
without_gnuplot
unset NCCL_PROFILER_PLUGIN CONTEND_COMMS_DIR CONTEND_COMMS_MAPPED

# rank RANK STEP [COMMAND...]: 300 steps of WORK_US:SLEEP_US:EVERY, each followed by a wait for the other rank. COMMAND
# runs it; rank 1 has $threads busy threads. The steps in `then` follow.
then=()
rank() {
    local rank=$1 step=$2 busy=0
    shift 2
    [ "$rank" = 0 ] || busy=$threads
    CONTEND_COMMS_DIR=$scratch/logs "$@" "$CONTEND_STUB_NCCL" "$CONTEND_COMMS_PLUGIN" 5 "init:d4:2:$rank:1:" \
        "busy:$busy" "train:300:$step:$scratch/logs/meet:2:0" "${then[@]}" finalize
}

# names CAUSE STEP0 STEP1 [COMMAND...]: whether it is the cause of rank 1, run by COMMAND, and rank 0 has none.
names() {
    local wanted=$1 first=$2
    shift 2
    [ "$SECONDS" -lt 240 ] || skip "other programs delay the ranks"
    rm -rf "$scratch/logs"
    mkdir "$scratch/logs"
    rank 0 "$first" &
    rank 1 "$@"
    wait
    "$CONTEND_BINARY" comms --read "$scratch/logs" --json >"$scratch/json" || fail "comms"
    [ "$(jq -c '[.communicators[0].arrival.ranks[].cause]' "$scratch/json")" = "[null,\"$wanted\"]" ]
}

# Other programs on this machine delay either rank, so some tries may differ.
threads=0
retry names sleep 2000:0:0 2000:20000:1 || fail "asleep: $(cat "$scratch/json")"
expect_equal "finding" "$(jq -r '.findings[] | select(.id == "comms_late_cause") | .severity, .command' "$scratch/json" | xargs)" \
    "doubt contend doctor --live"
expect 0 'rank 1 is late because it' "$CONTEND_BINARY" comms --read "$scratch/logs"
expect 0 'run queue' "$CONTEND_BINARY" comms --read "$scratch/logs"

# Late no more: the last second does not show it.
was_late() {
    names sleep 2000:0:0 2000:20000:1 &&
        "$CONTEND_BINARY" comms --read "$scratch/logs" --last 1s --json >"$scratch/json" &&
        [ "$(jq -c '[.communicators[0].arrival | .calls > 19, .ranks[].cause]' "$scratch/json")" = '[true,null,null]' ]
}
then=("train:800:2000:0:0:$scratch/logs/again:2:0")
retry was_late || fail "late before the last second: $(cat "$scratch/json")"
then=()

# A pause now and then, as of a garbage collection: rank 1 is last in half of the calls.
retry names sleep 2000:0:0 2000:300000:25 || fail "pauses: $(cat "$scratch/json")"
retry names cpu 2000:0:0 22000:0:0 || fail "more work: $(cat "$scratch/json")"

# Its own threads, on one CPU.
threads=3
one=$(taskset -cp $$ | grep -o '[0-9]*$')
retry names run_queue 2000:0:0 2000:0:0 taskset -c "$one" || fail "threads: $(cat "$scratch/json")"

# A quota that comes while the rank runs.
if make_group && quota 20; then
    threads=0
    # shellcheck disable=SC2016 # the inner shell's
    retry names throttled 2000:0:0 10000:0:0 sh -c '"$@" & sleep 0.3; echo $! >"$0/cgroup.procs"; wait' "$group" ||
        fail "a quota: $(cat "$scratch/json")"
fi

# A log of version 3 has no looks, and is read.
for log in "$scratch"/logs/*.comms; do
    truncate -s -262144 "$log"
    printf '\003' | dd of="$log" bs=1 seek=8 conv=notrunc 2>/dev/null
done
expect 2 'its sizes are not those of version 3' "$CONTEND_BINARY" comms --read "$scratch/logs"
for log in "$scratch"/logs/*.comms; do
    # file_size, then look_size, looks and nlooks
    size=$(stat -c %s "$log")
    perl -e 'print pack("Q<", shift)' "$size" | dd of="$log" bs=1 seek=48 conv=notrunc 2>/dev/null
    head -c 16 /dev/zero | dd of="$log" bs=1 seek=256 conv=notrunc 2>/dev/null
done
"$CONTEND_BINARY" comms --read "$scratch/logs" --json >"$scratch/json" || fail "version 3"
expect_equal "version 3" "$(jq -c '[.communicators[0].arrival | .calls, (.ranks[] | .shares, .cause)]' "$scratch/json")" \
    '[299,null,null,null,null]'
