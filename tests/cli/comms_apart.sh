#!/usr/bin/env bash
# contend comms: on file systems where a mapped page may fail, a thread copies logs to the directory.
. tests/lib/cli.sh
needs jq
stub=$CONTEND_STUB_NCCL
unset NCCL_PROFILER_PLUGIN CONTEND_COMMS_DIR CONTEND_COMMS_MAPPED
calls=coll:AllReduce:ncclFloat32:1000:0:RING:SIMPLE:2

# drive DIR STEP...: runs the stub without contend.
drive() {
    local dir=$1
    shift
    mkdir -p "$dir"
    CONTEND_COMMS_DIR=$dir "$stub" "$CONTEND_COMMS_PLUGIN" 5 "$@" 2>>"$scratch/said"
}

# counts DIR: prints calls and state of rank 0 of a communicator.
counts() {
    "$CONTEND_BINARY" comms --read "$1" --json 2>"$scratch/err" |
        jq -c '.communicators[0] | [.calls[0].calls, .calls[0].bytes, .present[0].state]' 2>/dev/null
}

has_counts() { # has_counts DIR WHAT
    [ "$(counts "$1")" = "$2" ]
}

found() {
    "$CONTEND_BINARY" comms --read "$1" --json 2>"$scratch/err" | jq -c '[.findings[] | [.id, .severity]]'
}

is_lacking() {
    [[ $(found "$1") == *'"comms_lacking","note"'* ]]
}

is_mapped() { # of the stub that writes into a directory
    grep -q "$1/.*\.comms" "/proc/$pid/maps"
}

has_log() {
    ls "$1"/*.comms >/dev/null 2>&1
}

# runs DIR STEP...: starts a stub that keeps running. Sets $pid.
runs() {
    local dir=$1
    shift
    mkdir -p "$dir"
    CONTEND_COMMS_DIR=$dir "$stub" "$CONTEND_COMMS_PLUGIN" 5 "$@" wait:600000000 2>>"$scratch/said" &
    pid=$!
    wait_for 60 has_log "$dir" || fail "no log in $dir: $(cat "$scratch/said")"
}

killed() {
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
}

: >"$scratch/said"
runs "$scratch/mapped" init:a1:2:0:1: $calls:3:0
[ "$(stat -f -c %T "$scratch")" = overlayfs ] || is_mapped "$scratch/mapped" || echo "a log is not mapped on $(stat -f -c %T "$scratch")"
killed

export CONTEND_COMMS_MAPPED=0
# At the end the log has all calls of all threads, and none of a forked child.
drive "$scratch/whole" init:a2:2:0:1: $calls:70000:0 threads:8:1000 fork finalize $calls:5:0 || fail "$(cat "$scratch/said")"
has_counts "$scratch/whole" '[78005,280052000,"finalized"]' || fail "at the end: $(counts "$scratch/whole") $(cat "$scratch/err")"
[ "$(find "$scratch/whole" -name '*.comms*' | wc -l)" = 1 ] || fail "left behind: $(ls "$scratch/whole")"

# The log also has calls that the program makes in an exit handler registered before the plugin's, with and without
# finalize.
for end in finalized alive; do
    last=()
    [ "$end" = alive ] || last=(finalize)
    drive "$scratch/behind-$end" init:a9:2:0:1: $calls:7:0 behind $calls:5:0 "${last[@]}" || fail "$(cat "$scratch/said")"
    has_counts "$scratch/behind-$end" "[12,48000,\"$end\"]" || fail "behind our end: $(counts "$scratch/behind-$end")"
    ! is_lacking "$scratch/behind-$end" || fail "it is all there, but: $(found "$scratch/behind-$end")"
done

# If the program is killed, the log has what was copied last: here soon after each change.
export CONTEND_COMMS_PERIOD_MS=20
runs "$scratch/killed" init:a3:2:0:1: $calls:7:0
! is_mapped "$scratch/killed" || fail "the log is mapped"
wait_for 60 has_counts "$scratch/killed" '[7,28000,"alive"]' || fail "nothing was copied: $(counts "$scratch/killed")"
killed
has_counts "$scratch/killed" '[7,28000,"alive"]' || fail "killed: $(counts "$scratch/killed")"
# The report says that the log may lack calls. Another rank with more calls is then not reported as a program error.
is_lacking "$scratch/killed" || fail "not said to lack anything: $(found "$scratch/killed")"
drive "$scratch/killed" init:a3:2:1:1: $calls:9:0 finalize || fail "$(cat "$scratch/said")"
[[ $(found "$scratch/killed") == *'"comms_uneven","note"'* ]] || fail "cut logs: $(found "$scratch/killed")"
# A copy is also made when a communicator ends, independent of the period.
export CONTEND_COMMS_PERIOD_MS=30000
runs "$scratch/ended" init:a4:2:0:1: $calls:8:0 finalize
wait_for 20 has_counts "$scratch/ended" '[8,32000,"finalized"]' || fail "not copied at the end of a communicator: $(counts "$scratch/ended")"
killed

# If the directory becomes unusable, the program continues, and earlier copies stay complete.
export CONTEND_COMMS_PERIOD_MS=20
runs "$scratch/gone" init:a6:2:0:1: $calls:9:0
rm -r "$scratch/gone"
kill -0 "$pid" || fail "it ended with its directory"
killed
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir "$scratch/small"
    mkfifo "$scratch/goes-on" # the stub waits for who reads its graph
    # shellcheck disable=SC2016 # the inner shell's
    CONTEND_COMMS_DIR=$scratch/small NCCL_GRAPH_DUMP_FILE=$scratch/goes-on expect 0 'full.*cannot write the last of .*No space left.*"alive"' unshare -m bash -c '
        mount -t tmpfs -o size=6M none "$CONTEND_COMMS_DIR"
        CONTEND_COMMS_PERIOD_MS=30000 "$1" "$2" 5 init:a7:2:0:1: $3:9:0 graph:0,1 $3:100000:0 2>"$4" &
        until ls "$CONTEND_COMMS_DIR"/*.comms >/dev/null 2>&1; do sleep 0.05; done
        dd if=/dev/zero of="$CONTEND_COMMS_DIR/full" bs=64k status=none 2>/dev/null
        cat "$NCCL_GRAPH_DUMP_FILE" >/dev/null
        wait "$!" || exit 1
        echo full $(cat "$4") $("$5" comms --read "$CONTEND_COMMS_DIR" --json | jq ".communicators[0].present[0].state // \"alive\"")
    ' - "$stub" "$CONTEND_COMMS_PLUGIN" "$calls" "$scratch/full.said" "$CONTEND_BINARY"
    # A file system that is not known to keep its blocks (such as overlayfs) is recognised.
    unset CONTEND_COMMS_MAPPED
    mkdir "$scratch/over"
    # shellcheck disable=SC2016 # the inner shell's
    expect 0 'not mapped|no overlayfs' unshare -m bash -c '
        mount -t tmpfs none "$1" && mkdir "$1"/lower "$1"/upper "$1"/work "$1"/logs || exit 1
        mount -t overlay -o lowerdir="$1"/lower,upperdir="$1"/upper,workdir="$1"/work none "$1"/logs 2>/dev/null ||
            { echo no overlayfs; exit 0; }
        CONTEND_COMMS_DIR=$1/logs "$2" "$3" 5 init:a8:2:0:1: wait:600000000 &
        until ls "$1"/logs/*.comms >/dev/null 2>&1; do sleep 0.05; done
        grep -q "\.comms" "/proc/$!/maps" && echo mapped || echo not mapped
        kill -KILL "$!"
    ' - "$scratch/over" "$stub" "$CONTEND_COMMS_PLUGIN"
    export CONTEND_COMMS_MAPPED=0
fi

finish
