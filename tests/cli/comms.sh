#!/usr/bin/env bash
# contend comms runs a command under the profiler plugin; a stub of NCCL drives the plugin. Tests the logs and the
# report.
. tests/lib/cli.sh
needs jq
drawing=$PATH
without_gnuplot
stub=$CONTEND_STUB_NCCL
unset NCCL_PROFILER_PLUGIN CONTEND_COMMS_DIR CONTEND_COMMS_MAPPED
all_reduce=coll:AllReduce:ncclFloat32:1000:0:RING:SIMPLE:2

# read_json DIR FILTER: filters the JSON of the report on DIR by jq.
read_json() {
    "$CONTEND_BINARY" comms --read "$1" --json | jq -c "$2"
}

# The command keeps its stdin, stdout and exit code; the report goes to stderr.
out=$(echo in | "$CONTEND_BINARY" comms --out "$scratch/of/mine/kept" -- sh -c \
    "read x; echo \"out \$x\"; $stub - 5 init:a1:2:0:1:dp $all_reduce:3:0 finalize; exit 5" \
    2>"$scratch/err")
expect_equal "exit code" $? 5
expect_equal "stdout" "$out" "out in"
grep -q 'AllReduce *RING *SIMPLE *3 *12000$' "$scratch/err" || fail "$(cat "$scratch/err")"
grep -q '1 of 2 ranks wrote no log' "$scratch/err" || fail "a rank is missing: $(cat "$scratch/err")"
expect_equal "matrix" "$(read_json "$scratch/of/mine/kept" '.communicators[0].matrix | [.how, .bytes, .calls]')" \
    '["exact",[[0,12000],[0,0]],[[0,3],[0,0]]]'
expect 0 'communicator 1 \(dp, 00000000000000a1\): 2 ranks on 1 node' "$CONTEND_BINARY" comms \
    --read "$scratch/of/mine/kept"
expect 2 'is not empty' "$CONTEND_BINARY" comms --out "$scratch/of/mine/kept" -- true
expect 0 'no process of the command loaded the plugin' "$CONTEND_BINARY" comms -- true
expect 127 'cannot start .*/no-such' "$CONTEND_BINARY" comms -- "$scratch/no-such"
mkdir "$scratch/tmp"
TMPDIR=$scratch/tmp expect 143 'no process' "$CONTEND_BINARY" comms -- sh -c 'kill -TERM $$'
expect_equal "left behind" "$(ls "$scratch/tmp")" ""
NCCL_PROFILER_PLUGIN=other.so expect 3 'another profiler plugin is set.*other.so' \
    "$CONTEND_BINARY" comms -- touch "$scratch/was-run"
[ ! -e "$scratch/was-run" ] || fail "the command was run without its plugin"
expect 2 'either a command' "$CONTEND_BINARY" comms
expect 2 'json and --last exclude a command' "$CONTEND_BINARY" comms --json -- true
expect 2 'json and --last exclude a command' "$CONTEND_BINARY" comms --last 10s -- true
expect 2 'no log' "$CONTEND_BINARY" comms --read "$scratch/tmp"

# drive DIR STEP...: runs the stub without contend, with interface $version.
version=5
drive() {
    local dir=$1
    shift
    mkdir -p "$dir"
    CONTEND_COMMS_DIR=$dir "$stub" "$CONTEND_COMMS_PLUGIN" "$version" "$@" 2>>"$scratch/said"
}

# If the command is killed, its log has all calls so far, and its communicator is "alive". This needs a file system on
# which logs are mapped; comms_apart.sh tests the others.
case $(stat -f -c %T "$scratch") in
ext2/ext3 | xfs | tmpfs) ;;
*)
    mapped=$(mktemp -d /dev/shm/contend-test.XXXXXX)
    trap 'rm -rf "$scratch" "$mapped"' EXIT
    ln -s "$mapped" "$scratch/killed"
    ;;
esac
: >"$scratch/said"
drive "$scratch/killed" init:b:2:0:1: $all_reduce:7:0 kill
expect_equal "killed" "$(read_json "$scratch/killed" \
    '.communicators[0] | [.calls[0].calls, .calls[0].bytes, .present[0].state]')" '[7,28000,"alive"]'

# The GPU of each rank is known if the program has loaded a driver and the thread has a context.
drive "$scratch/gpus" init:b0:3:0:1: gpu:1 init:b0:3:1:1: gpu:-1 init:b0:3:2:1:
expect_equal "GPUs" "$(read_json "$scratch/gpus" '[.communicators[0].present[].gpu]')" '[null,"beef:08:00.0",null]'

# All ranks are threads of one process and join at once. If a rank does not wait while another one loads the driver,
# only some runs show it.
for run in $(seq 20); do
    drive "$scratch/joins.$run" joins:16
    expect_equal "GPUs of threads" "$(read_json "$scratch/joins.$run" '[.communicators[0].present[].gpu] | unique | length')" 16
    rm -r "$scratch/joins.$run"
done

# The counters of NVLink, with two ranks. LL's flags count as bytes. Bytes that calls do not explain are reported, and
# so are calls without counted bytes.
# both_ranks PROTOCOL: runs two ranks, each with 1,000 all-reduces of 4 MB.
both_ranks() {
    for rank in 0 1; do
        "$stub" - 5 gpu:$rank init:c0:2:$rank:1: coll:AllReduce:ncclFloat32:1000000:0:RING:$1:2:1000:0 \
            finalize || return
    done
}
export -f both_ranks
export stub
export CONTEND_LIBNVML=$CONTEND_FAKE_DRIVER
# A driver that does not answer delays the command by a limited time only, and changes nothing in it.
hangs() {
    local said code=0
    said=$(FAKE_GPU=hang=1 "$CONTEND_BINARY" comms --out "$scratch/hung" -- bash -c 'both_ranks SIMPLE; echo done; exit 7' \
        2>"$scratch/hangs") || code=$?
    expect_equal "command of a driver that hangs" "$code $said" "7 done"
    grep -q "NVLink's counters of .*: unknown, the NVIDIA driver did not answer within 10 s" "$scratch/hangs" || fail "$(cat "$scratch/hangs")"
}
in_background hangs
# counted STATES PROTOCOL DIR: runs both ranks on a driver in these states.
counted() {
    rm -f "$scratch/readings"
    FAKE_GPU_READINGS=$scratch/readings FAKE_GPU=$1 "$CONTEND_BINARY" comms --out "$3" -- bash -c "both_ranks $2" 2>"$scratch/err" ||
        fail "counted: $(cat "$scratch/err")"
}
states="nvlink_sent=7 nvlink_received=9 nvlink_sent_more2=0 nvlink_received_more2=0"
counted "$states nvlink_sent_more=3906300 nvlink_received_more=3906300" SIMPLE "$scratch/true"
expect_equal "truth" "$(read_json "$scratch/true" '.nvlink | [(.gpus[] | [.pci_bdf, .ranks]), .all.sent]')" \
    '[["beef:07:00.0",1],["beef:08:00.0",1],["beef:09:00.0",0],{"called_bytes":8000000000,"counted_bytes":8000102400,"unexplained_bytes":102400,"ratio":1.0000128}]'
expect_equal "truth's findings" "$(read_json "$scratch/true" '[.findings[] | select(.id != "comms_late")]')" '[]'
grep -q 'beef:07:00.0 *4.00 G *4.00 G *1.0000 *4.00 G *4.00 G *1.0000' "$scratch/err" || fail "$(cat "$scratch/err")"
grep -q '^Unexplained bytes: 102400 sent, 102400 received$' "$scratch/err" || fail "$(cat "$scratch/err")"
grep -q '>4.00 G</td><td>4.00 G</td><td>1.0000</td>' "$scratch/true/report.html" || fail "NVLink is not on the page"
counted "$states nvlink_sent_more=7812500 nvlink_received_more=7812500" LL "$scratch/flags"
expect_equal "LL" "$(read_json "$scratch/flags" '.nvlink.all.sent | [.called_bytes, .ratio == 1]')" '[16000000000,true]'
counted "$states nvlink_sent_more=7812500 nvlink_received_more=9" SIMPLE "$scratch/untrue"
expect_equal "untrue" "$(read_json "$scratch/untrue" '[.findings[] | select(.id != "comms_late") | [.id, .subject]]' | sed "s/ of [^\"]*//g")" \
    '[["comms_unexplained","GPU beef:07:00.0"],["comms_not_counted","GPU beef:07:00.0"]]'
counted "$states nvlink_sent_more1=-3" SIMPLE "$scratch/reset"
expect_equal "reset" "$(read_json "$scratch/reset" '.nvlink.gpus | length')" 2
counted "nvlink5_sent=1 nvlink5_received=1 nvlink5_sent_more=4000000000 nvlink5_received_more=4000000000" \
    SIMPLE "$scratch/five"
expect_equal "NVLink 5" "$(read_json "$scratch/five" '.nvlink.gpus[0].sent.ratio == 1')" true
# NVLink 5 may count each link separately.
counted "nvlink5_links=2 nvlink5_sent=1 nvlink5_received=1 nvlink5_sent_more=1000000000 nvlink5_received_more=1000000000" \
    SIMPLE "$scratch/links"
expect_equal "links of NVLink 5" "$(read_json "$scratch/links" '.nvlink.gpus[0].sent.counted_bytes')" 4000000000
# A driver may reset counters when no process uses its GPUs, so contend uses them while the command runs.
FAKE_GPU_USERS=$scratch/users counted "$states nvlink_sent_more=3906300 nvlink_received_more=3906300" SIMPLE "$scratch/users-kept"
expect_equal "kept in use" "$(read_json "$scratch/users-kept" '[.nvlink.all.sent.counted_bytes, [.findings[] | select(.id != "comms_late")]]')" \
    '[8000102400,[]]'
# Logs and links.csv use the same host name, even if the name has dots.
if [ "$(id -u)" = 0 ] && unshare -u bash -c 'hostname node.example' 2>/dev/null; then
    FAKE_GPU=$states unshare -u bash -c 'hostname node.example && exec "$@"' - "$CONTEND_BINARY" comms --out "$scratch/dotted" -- \
        bash -c "both_ranks SIMPLE" 2>"$scratch/err" || fail "$(cat "$scratch/err")"
    expect_equal "a host with dots" "$(read_json "$scratch/dotted" '[.links_unknown_bytes, (.links | length > 0)]')" '[0,true]'
fi
counted "" SIMPLE "$scratch/uncounted"
grep -q "NVLink's counters of .*: unknown, its GPUs have no NVLink" "$scratch/err" || fail "$(cat "$scratch/err")"
expect_equal "uncounted" "$(read_json "$scratch/uncounted" '.nvlink.not_counted | map(.why)')" '["its GPUs have no NVLink, or count nothing there"]'
# Small sends may use LL, with flags, or not. Both byte counts are explained, larger ones are not.
both_send() {
    for rank in 0 1; do
        "$stub" - 5 gpu:$rank init:c4:2:$rank:1: \
            p2p:Send:ncclInt8:4000:$((1 - rank)):2:10000:0 finalize || return
    done
}
export -f both_send
# sent KIB DIR: prints the findings.
sent() {
    rm -f "$scratch/readings"
    FAKE_GPU_READINGS=$scratch/readings FAKE_GPU="$states nvlink_sent_more=$1 nvlink_received_more=$1" \
        "$CONTEND_BINARY" comms --out "$2" -- bash -c both_send 2>"$scratch/err" || fail "$(cat "$scratch/err")"
    read_json "$2" '[.findings[].id | select(. != "comms_below_knee")]'
}
expect_equal "sends by LL" "$(sent 78130 "$scratch/by-ll")" '[]'
grep -q 'Small sends may have sent up to 80.0 M more' "$scratch/err" || fail "$(cat "$scratch/err")"
expect_equal "sends as they are" "$(sent 39070 "$scratch/as-are")" '[]'
expect_equal "more than sends" "$(sent 90000 "$scratch/more")" '["comms_unexplained"]'
cp -r "$scratch/true" "$scratch/bad-counters"
echo 'gpu 0000:00:01.0 1 x' >>"$(echo "$scratch"/bad-counters/*.nvlink)"
expect_equal "bad counters" "$(read_json "$scratch/bad-counters" '[(.communicators | length), .nvlink.gpus, (.findings[] | select(.id == "comms_unreadable") | .sentence)]' |
    grep -o "^.1,.*line 7: not 'gpu PCI_ADDRESS")" "[1,null,\"'$(basename "$scratch"/bad-counters/*.nvlink)', line 7: not 'gpu PCI_ADDRESS"
printf 'contend nvlink 1\nhost a\033[2J\nnone b\033[2J\n' >"$(echo "$scratch"/bad-counters/*.nvlink)"
"$CONTEND_BINARY" comms --read "$scratch/bad-counters" >"$scratch/err"
grep -q "NVLink's counters of a \[2J: unknown, b \[2J" "$scratch/err" || fail "$(cat "$scratch/err")"
# Three GPUs in two rings, in NCCL's order. A graph with other GPUs, or a truncated one, is ignored.
in_rings() {
    local graph=graph:$1
    for rank in 0 1 2; do
        "$stub" - 5 gpu:$rank $graph init:c3:3:$rank:1: \
            coll:AllGather:ncclInt8:300:0:RING:SIMPLE:2:1:0 finalize || return
        graph=use:0
    done
}
export -f in_rings
# ordered RINGS DIR: prints how the matrix is known, and its bytes.
ordered() {
    "$CONTEND_BINARY" comms --out "$2" -- bash -c "in_rings $1" 2>"$scratch/err" || fail "$(cat "$scratch/err")"
    read_json "$2" '.communicators[0].matrix | [.how, .bytes]'
}
expect_equal "one way round" "$(ordered 0,0x2,1:2,1,0 "$scratch/order")" \
    '["order from NCCL",[[0,0,600],[600,0,0],[0,600,0]]]'
expect_equal "both ways round" "$(ordered 0,1,2:0,2,1 "$scratch/orders")" \
    '["order from NCCL",[[0,300,300],[300,0,300],[300,300,0]]]'
expect_equal "of others" "$(ordered 0,1,5 "$scratch/others" | grep -c modelled)" 1
expect_equal "of fewer" "$(ordered 0,1 "$scratch/fewer" | grep -c modelled)" 1
expect_equal "one twice" "$(ordered 0,1,1 "$scratch/twice" | grep -c modelled)" 1
sed -i '$d' "$(echo "$scratch"/order/*.graph)"
expect_equal "cut" "$(read_json "$scratch/order" '.communicators[0].matrix.how')" '"modelled"'
# Graphs are not requested if NVLink connects several machines: before 2.29.7, NCCL fails with an error on a graph
# of 72 GPUs.
# asked STATES: prints "asked" if the command is to write graphs.
asked() {
    # shellcheck disable=SC2016 # the command's
    FAKE_GPU=$1 "$CONTEND_BINARY" comms -- sh -c 'echo "${NCCL_GRAPH_DUMP_FILE:+asked}"' 2>/dev/null
}
expect_equal "graphs of one machine" "$(asked fabric=3)" asked
expect_equal "graphs of a cluster" "$(asked "fabric=3 fabric_cluster=7")" ""
expect_equal "graphs where no driver answers" "$(CONTEND_LIBNVML=/none.so asked fabric=3)" ""
NCCL_GRAPH_DUMP_FILE=$scratch/own ordered 0,2,1 "$scratch/of-user" >/dev/null
[ -s "$scratch/own" ] || fail "the user's graph file was not left to them"
unset CONTEND_LIBNVML

# Collectives are timed by CUDA events, without waiting: here all but the first. Collectives that share a kernel, or
# that are captured, are not timed.
reduce=coll:AllReduce:ncclFloat32:1000000:0:RING:SIMPLE:2
export CONTEND_COMMS_TIMING=1
for rank in 0 1; do
    drive "$scratch/timed" gpu:$rank kernel:$((200 + 200 * rank)) init:d1:2:$rank:1: $reduce:10:0 \
        group:2:5 capture:1 $reduce:5:1 capture:0 finalize
done
expect_equal "timed" "$(read_json "$scratch/timed" '[.communicators[0].calls[] | [.calls, .timed_calls, .time_s]]')" \
    '[[10,0,null],[10,18,0.0003],[5,0,null]]'
expect_equal "speed" "$(read_json "$scratch/timed" '.communicators[0].calls[1] | [.algbw, .busbw] | map(. / 1e6 | round)')" \
    '[13333,13333]'
expect_equal "waited" "$(read_json "$scratch/timed" '.communicators[0].arrival | [.timed_calls, (.ranks[] | .waited_s * 1e6 | round), (.waited_share * 1e4 | round)]')" \
    '[9,0,1800,3333]'
grep -q 'fake_gpu_driver' "$scratch/said" && fail "$(cat "$scratch/said")"
unset CONTEND_COMMS_TIMING
for rank in 0 1; do
    drive "$scratch/sampled" gpu:$rank kernel:100 init:d2:2:$rank:1: $reduce:6400:0 finalize
done
sampled=$(read_json "$scratch/sampled" '.communicators[0] | [.arrival.timed_calls * 2 == .calls[0].timed_calls, .calls[0].timed_calls > 150 and .calls[0].timed_calls < 250]')
expect_equal "one in 64, the same at all ranks" "$sampled" '[true,true]'
for timing in '' --no-timing; do
    # shellcheck disable=SC2086 # none is no argument
    "$CONTEND_BINARY" comms $timing --out "$scratch/timing$timing" -- "$stub" - 5 gpu:0 kernel:9 init:d3:1:0:1: \
        $reduce:200:0 finalize 2>"$scratch/err" || fail "$(cat "$scratch/err")"
done
expect_equal "no timing" "$(read_json "$scratch/timing--no-timing" '[.logs[0].timed_every, .communicators[0].calls[0].timed_calls]')" '[0,0]'
grep -q 'busbw' "$scratch/timing/report.html" || fail "times are not on the page"
! grep -q 'busbw' "$scratch/timing--no-timing/report.html" || fail "no times are on the page"
expect_equal "timing" "$(read_json "$scratch/timing" '[.logs[0].timed_every, .communicators[0].calls[0].timed_calls > 0]')" '[64,true]'

# A rank that comes late to each call is named: rank 1 starts when rank 0 is done.
late() {
    local steps=()
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        steps+=("$reduce:2:0" wait:2000)
    done
    drive "$scratch/late" "init:d4:2:$1:1:" "${steps[@]}" finalize
}
late 0
late 1
expect_equal "late" "$(read_json "$scratch/late" '[.findings[] | .id], .communicators[0].arrival.calls' | tr '\n' ' ')" \
    '["comms_late"] 23 '

# Several communicators at once; some are split from another, and one is made after the plugin was unloaded and loaded
# again.
for rank in 0 1 2 3; do
    drive "$scratch/split" init:c:4:$rank:1:world init:d$((rank % 2)):2:$((rank / 2)):1:half \
        $all_reduce:2:0 use:0 $all_reduce:1:0 finalize use:1 $all_reduce:2:0 finalize reload \
        init:e:4:$rank:1:again $all_reduce:5:0 finalize
done
expect_equal "logs" "$(find "$scratch/split" -name '*.comms' | wc -l)" 4
expect_equal "split" "$(read_json "$scratch/split" '[.communicators[] | [.ranks, .calls[0].calls]] | sort')" \
    '[[2,4],[2,4],[4,1],[4,5]]'
expect_equal "findings" "$(read_json "$scratch/split" '[.findings[] | select(.id != "comms_late")]')" '[]'
expect_equal "total" "$(read_json "$scratch/split" '.total | [.how, (.gpus | length), .assumed,
    ([.bytes[][]] | add), ([.calls_log10[][] | numbers] | length)]')" \
    '["modelled",4,false,208000,8]'
expect 0 '^4 GPUs sent 208 kB to each other; ' "$CONTEND_BINARY" comms --read "$scratch/split"
expect 0 '^Bytes from GPU to GPU, of all communicators' "$CONTEND_BINARY" comms --read "$scratch/split"
! "$CONTEND_BINARY" comms --read "$scratch/split" 2>&1 | grep -q 'powers of ten' || fail "details without -v"
expect 0 'Bytes as powers of ten.*, all communicators' "$CONTEND_BINARY" comms -v --read "$scratch/split"

# The report is also in files beside the logs; --read writes the same files again.
sum_of() { # sum_of FILE PATTERN FIELD: of the lines that match
    awk -F, -v pattern="$2" -v field="$3" '$0 ~ pattern { sum += $field } END { printf "%d\n", sum }' \
        "$scratch/split/$1"
}
expect 0 'wrote matrix.csv, calls.csv, ranks.csv, timeline.csv' "$CONTEND_BINARY" comms --read "$scratch/split"
expect_equal "matrix.csv" "$(sum_of matrix.csv '^total,' 4)" 208000
expect_equal "matrix.csv, by communicator" "$(sum_of matrix.csv '^[0-9]+,' 4)" 208000
expect_equal "calls.csv" "$(sum_of calls.csv '^[0-9]+,AllReduce,RING,SIMPLE,0,2048,' 7)" 14
expect_equal "ranks.csv" "$(grep -c '^[0-9]*,[0-9a-f]*,[a-z]*,[24],1,[0-3],[0-3],.*,finalized,' "$scratch/split/ranks.csv")" 12
expect_equal "timeline.csv" "$(sum_of timeline.csv '^[0-9.]+,[1-4],[0-3],AllReduce,RING,SIMPLE,0,,4000,$' 9)" 160000
"$CONTEND_BINARY" comms --out "$scratch/again" -- true 2>/dev/null # it is made, and stays empty
cp "$scratch/split"/*.comms "$scratch/again"
echo mine >"$scratch/again/matrix.csv"
expect 2 "'matrix.csv' is not replaced: it is no file of contend" "$CONTEND_BINARY" comms \
    --read "$scratch/again"
expect_equal "a file of the user's" "$(cat "$scratch/again/matrix.csv"; ls "$scratch/again/plots" 2>/dev/null)" mine
rm "$scratch/again/matrix.csv"
PATH=$drawing expect 0 'wrote' "$CONTEND_BINARY" comms --read "$scratch/again"
for table in matrix calls ranks timeline; do
    cmp "$scratch/split/$table.csv" "$scratch/again/$table.csv" || fail "$table.csv differs"
done
cp -r "$scratch/again" "$scratch/plain"
rm -r "$scratch/plain"/plots "$scratch/plain"/*.csv "$scratch/plain/report.html"
"$CONTEND_BINARY" comms --read "$scratch/plain" --json >/dev/null || fail "--json"
expect_equal "--json writes" "$(find "$scratch/plain" ! -name '*.comms*' -type f)" ""
# The page has no script, loads nothing, and escapes names.
drive "$scratch/<b>&" init:c:2:0:1:'<script>x' $all_reduce:2:0 finalize
expect 0 'wrote .*and report.html' "$CONTEND_BINARY" comms --read "$scratch/<b>&"
for page in "$scratch/again/report.html" "$scratch/<b>&/report.html"; do
    grep -q '<h4>Bytes from ' "$page" || fail "$page has no matrix"
    well_formed "$page"
    grep -Eqi '<script|<b>&|https?://|<link' "$page" && fail "$page loads or runs something"
    grep -q '</html>' "$page" || fail "$page is cut"
done
grep -q '&lt;script&gt;x' "$scratch/<b>&/report.html" || fail "the name of a communicator is not in its page"
grep -q 'modelled: rings' "$scratch/again/report.html" || fail "the page does not say how pairs are known"
rm -r "${scratch:?}/<b>&"/{plots,*.csv}
echo mine >"$scratch/<b>&/report.html"
expect 2 'is no report of contend' "$CONTEND_BINARY" comms --read "$scratch/<b>&"
if PATH=$drawing command -v gnuplot >/dev/null; then
    for figure in bytes timeline sizes; do
        [ -s "$scratch/again/plots/comms_$figure.png" ] || fail "no figure of $figure"
        grep -q '<svg' "$scratch/again/plots/comms_$figure.svg" || fail "$figure is no SVG"
    done
    grep -q 'modelled: rings in the order of ranks' "$scratch/again/plots/comms_bytes.svg" ||
        fail "the figure does not say how its pairs are known"
fi

# Training like DistributedDataParallel's has no finding. Many small calls in a row have one, with a remedy.
for rank in 0 1; do
    steps=(coll:Broadcast:ncclFloat32:100:0:RING:LL:2:200:0)
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        steps+=(coll:AllReduce:ncclFloat32:6553600:0:RING:SIMPLE:2:400:0 coll:AllReduce:ncclFloat32:1:0:RING:LL:2:100:0)
    done
    drive "$scratch/ddp" "init:ab:2:$rank:1:dp" "${steps[@]}" finalize
    drive "$scratch/small" "init:ab:2:$rank:1:dp" coll:AllReduce:ncclFloat32:100:0:RING:LL:2:5000:0 finalize
done
expect_equal "findings of data parallel training" "$(read_json "$scratch/ddp" '[.findings[] | select(.id != "comms_late")]')" '[]'
expect_equal "findings of small calls" "$(read_json "$scratch/small" '[.findings[] | select(.id != "comms_late") | .id]')" '["comms_many_small"]'
expect 0 'mostly latency. They come 5000 in a row' "$CONTEND_BINARY" comms --read "$scratch/small"

# Traffic per link, with links.csv as a machine with GPUs writes it. For GPUs without an address the links are unknown.
expect_equal "no links" "$(read_json "$scratch/ddp" '[.links, .links_unknown_bytes]')" '[[],251658419200]'
cp -r "$scratch/ddp" "$scratch/linked"
printf 'host,pci,way,to,links,gbps\nhere,0000:01:00.0,pcie,,16,31.5\n' >"$scratch/linked/links.csv"
expect_equal "a link" "$(read_json "$scratch/linked" '.links')" '[]'
echo "here,0000:01:00.0,pcie,,16" >>"$scratch/linked/links.csv"
expect 0 'left out: links.csv, line 3: no link of a GPU' "$CONTEND_BINARY" comms --read "$scratch/linked"

# If no communicator has calls, the report says so as a doubt. An unused communicator beside used ones is a note.
drive "$scratch/unused" init:f1:2:0:1: finalize
expect_equal "no calls at all" "$(read_json "$scratch/unused" '[.findings[] | select(.id == "comms_no_calls") | .severity]')" '["doubt"]'
drive "$scratch/unused" init:f2:2:0:1: $all_reduce:1:0 finalize init:f3:1:0:1: finalize
expect_equal "one without calls" "$(read_json "$scratch/unused" '[.findings[] | select(.id == "comms_no_calls") | .severity]')" '["note"]'
version=3 drive "$scratch/silent" init:f1:2:0:1: finalize
expect_equal "silent ranks" "$(read_json "$scratch/silent" '[.findings[] | [.id, .severity]]')" '[["comms_silent","doubt"]]'

# Calls from many threads at once are all counted. The timeline reports dropped events: its ring has 16,384 places,
# which each thread takes 16 at a time and may leave unfilled.
drive "$scratch/threads" init:f:1:0:1: threads:8:5000 finalize
expect_equal "threads" "$(read_json "$scratch/threads" '[.communicators[0].calls[0].calls, .logs[0].events,
    (.logs[0].events_dropped | . >= 40000 - 16384 and . < 40000 - 16384 + 8 * 16)]')" '[40000,40000,true]'

# A forked child adds nothing to its parent's log. If it continues to make calls, it prints a message.
drive "$scratch/forked" init:1:2:0:1: $all_reduce:1:0 fork $all_reduce:1:0
expect_equal "forked" "$(read_json "$scratch/forked" '[.communicators[] | .calls[0].calls]')" '[2]'
grep -q 'off in process .* forked from a logged process' "$scratch/said" ||
    fail "nothing said of a fork: $(cat "$scratch/said")"

# Odd calls: captured ones, calls without work, unknown types and names, algorithms without a formula.
drive "$scratch/odd" init:2:4:0:1: $all_reduce:2:1 call:Broadcast:ncclFloat16:100:3 odd \
    coll:AllReduce:ncclFloat32:1000:0:NVLS:SIMPLE:2:1:0
expect_equal "odd findings" "$(read_json "$scratch/odd" '[.findings[].id] | sort')" \
    '["comms_captured","comms_missing","comms_type","comms_unknown","comms_untold"]'
expect_equal "untold" "$(read_json "$scratch/odd" '[.findings[] | select(.id == "comms_untold") | .sentence]' |
    grep -o 'Broadcast: NCCL reports no work of 3 calls (600 bytes)')" \
    'Broadcast: NCCL reports no work of 3 calls (600 bytes)'
expect_equal "unknown" "$(read_json "$scratch/odd" \
    '.communicators[0].matrix | [.unknown_calls, .unknown_bytes]')" '[3,4000]'
for version in 1 2 3 4 6; do
    drive "$scratch/odd$version" init:2:4:0:1: odd $all_reduce:2:0 || fail "odd events, $version"
    expect_equal "after odd events, $version" "$(read_json "$scratch/odd$version" \
        '[.communicators[0].calls[] | select(.collective == "AllReduce") | .calls]')" '[2]'
done
version=5

# If the plugin cannot work, the watched program still continues.
# stays_off PATTERN COMMAND...
stays_off() {
    local pattern=$1
    shift
    expect 0 "contend comms: off in process [0-9]+: $pattern" "$@" "$stub" "$CONTEND_COMMS_PLUGIN" 5 \
        init:3:2:0:1: $all_reduce:2:0 odd finalize init:4:2:0:1: $all_reduce:2:0 reload
}
stays_off 'CONTEND_COMMS_DIR names no directory' env
stays_off 'cannot create .*No such file' env "CONTEND_COMMS_DIR=$scratch/none"
stays_off 'cannot create .*Not a directory' env "CONTEND_COMMS_DIR=/dev/null"
mkdir "$scratch/limited"
stays_off 'cannot write .*File too large' env "CONTEND_COMMS_DIR=$scratch/limited" \
    bash -c 'ulimit -f 100; exec "$@"' -
expect_equal "left of a limit" "$(ls "$scratch/limited")" ""
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    stays_off 'cannot write .*No space left' env "CONTEND_COMMS_DIR=$scratch/limited" \
        unshare -m bash -c 'mount -t tmpfs -o size=1M none "$CONTEND_COMMS_DIR"; exec "$@"' -
fi

# If there are more kinds of calls than a log has room for, calls are counted without details, and none is lost.
seq -f 'p2p:Send:ncclInt8:8:%.0f:1:1:0' 1 29900 >"$scratch/steps"
mkdir "$scratch/many"
CONTEND_COMMS_DIR=$scratch/many xargs -s 2000000 "$stub" "$CONTEND_COMMS_PLUGIN" 5 init:5:100000:0:1: \
    <"$scratch/steps" || fail "many kinds"
expect_equal "many kinds" "$(read_json "$scratch/many" \
    '[([.communicators[0].done[] | select(.algorithm != "CALLED") | .calls] | add),
      (.communicators[0] | .matrix), ([.findings[].id] | contains(["comms_coarse"]))]')" \
    '[29900,null,true]'
expect 0 'no matrix of more than 2048 ranks' "$CONTEND_BINARY" comms --read "$scratch/many"

# Tasks of a launcher share one directory, and each writes its part. Every task refuses a directory with files of
# another run.
# task RANK OF DIR ID: runs one of OF tasks.
task() {
    SLURM_STEP_ID=0 SLURM_PROCID=$1 SLURM_STEP_NUM_TASKS=$2 "$CONTEND_BINARY" comms --out "$3" -- "$stub" - 5 \
        "init:$4:$2:$1:2:" $all_reduce:3:0 finalize
}
tasks=()
for rank in 0 1 2; do
    task "$rank" 3 "$scratch/tasks" e0 2>"$scratch/task$rank" &
    tasks+=("$!")
done
for rank in 0 1 2; do
    wait "${tasks[rank]}" || fail "task $rank: $(cat "$scratch/task$rank")"
    grep -q "this is only task $rank of 3: .contend comms --read $scratch/tasks. has all" "$scratch/task$rank" || fail "$(cat "$scratch/task$rank")"
done
expect_equal "tasks together" "$(read_json "$scratch/tasks" '[(.logs | length), (.communicators[] | [.ranks, (.present | length), .calls[0].calls]), [.findings[].id | select(. != "comms_late")]]')" \
    '[3,[3,3,3],[]]'
expect 0 'wrote matrix.csv' "$CONTEND_BINARY" comms --read "$scratch/tasks"
for rank in 0 1 2; do
    for size in 3 4; do
        expect 2 'is not empty' env SLURM_STEP_ID=0 SLURM_PROCID=$rank SLURM_STEP_NUM_TASKS=$size "$CONTEND_BINARY" \
            comms --out "$scratch/tasks" -- true
    done
done

# Two machines with the same host name and the same GPU addresses are told apart by their running kernels.
for rank in 0 1; do
    drive "$scratch/same-name" gpu:0 init:e5:2:$rank:2: $all_reduce:2:0 finalize
done
expect_equal "one machine" "$(read_json "$scratch/same-name" '[(.total.gpus | length), [.findings[].id | select(. != "comms_late")]]')" '[1,[]]'
for log in "$scratch"/same-name/*.comms; do
    printf '\x99\x88\x77' | dd of="$log" bs=1 seek=232 conv=notrunc status=none
    break
done
expect_equal "two machines" "$(read_json "$scratch/same-name" '[(.total.gpus | length), [.findings[].id]]')" '[2,["comms_same_name"]]'

# An incomplete or invalid log is refused, with file and byte.
log=$(basename "$scratch/killed"/*.comms)
refused() { # refused PATTERN: of $scratch/bad
    expect 2 "'$log', byte $1" "$CONTEND_BINARY" comms --read "$scratch/bad"
}
mkdir "$scratch/bad"
head -c 100 "$scratch/killed/$log" >"$scratch/bad/$log"
refused '100: cut: no whole header'
head -c 5000 "$scratch/killed/$log" >"$scratch/bad/$log"
refused '5000: cut: 5000 of [0-9]+ bytes'
# planted AT BYTES PATTERN: overwrites bytes of a log, which must then be refused.
planted() {
    cp "$scratch/killed/$log" "$scratch/bad/$log"
    printf "$2" | dd of="$scratch/bad/$log" bs=1 seek="$1" conv=notrunc status=none
    refused "$3"
}
planted 0 X '0: no log'
planted 8 '\x63' '8: a log of version 99, but this program reads 4'
planted 12 '\x01\x02\x03\x04' '12: written by a machine of another byte order'
planted 44 '\x09' '44: interface 9'
planted 392 '\x07' '384: a communicator in state 7'
planted $((384 + 4096 * 128)) '\xff\xff\xff\xff' "$((384 + 4096 * 128)): a key of"

# A bad log does not hide others: the report covers readable logs and names the rest. If a command left a bad log, its
# logs are kept.
cp "$scratch/killed/$log" "$scratch/bad/whole.comms"
head -c 5000 "$scratch/killed/$log" >"$scratch/bad/$log"
expect_equal "beside a damaged log" "$(read_json "$scratch/bad" '[.communicators[0].calls[0].calls, (.findings[0] | [.id, .severity, .subject, .sentence])]')" \
    "[7,[\"comms_unreadable\",\"doubt\",\"left out\",\"'$log', byte 5000: cut: 5000 of 3408256 bytes\"]]"
for n in 1 2 3 4 5 6 7 8; do echo >"$scratch/bad/$n.comms"; done
expect 0 'left out: 2 more files, the first one: ' "$CONTEND_BINARY" comms -v --read "$scratch/bad"
# shellcheck disable=SC2016 # the command's
TMPDIR=$scratch/tmp expect 0 'they are kept in' "$CONTEND_BINARY" comms -- bash -c 'echo >"$CONTEND_COMMS_DIR/x.comms"'
[ -e "$(echo "$scratch"/tmp/contend-comms-*/x.comms)" ] || fail "a log that cannot be read is deleted"
rm -r "$scratch"/tmp/contend-comms-*

command -v python3 >/dev/null || { echo "python3 is not installed: matrices were not checked"; finish; }
python3 tests/lib/comms_exact.py || fail "matrices differ, see above"
finish
