#!/usr/bin/env bash
# contend run --comms: our own loops under the plugin, held against their own count of their calls;
# over an NCCL made up for it (fake_gpus.h), whose ranks are threads of one worker.
. tests/lib/cli.sh
needs jq
unset NCCL_PROFILER_PLUGIN CONTEND_COMMS_DIR CONTEND_COMMS_MAPPED

# Without NCCL there is nothing to log, and one line says so.
expect 2 "^contend: error: --comms: train runs over 'sim' here, .*it needs GPUs$" "$CONTEND_BINARY" run train \
    --comms --device sim --workers 2 --out "$scratch/sim"
[ ! -e "$scratch/sim/run.json" ] || fail "something was run"
expect 2 "'mpi' here, and without NCCL" "$CONTEND_BINARY" run allreduce --comms --device sim
expect 2 'pipeline does not call NCCL; allreduce and train do' "$CONTEND_BINARY" run pipeline --comms

[ -n "${CONTEND_FAKE_GPUS:-}" ] && command -v cc >/dev/null || finish
driver=$scratch/gpu.so
cc -shared -fPIC -DFULL -o "$driver" tests/lib/fake_gpu_driver.c || skip "needs a C compiler"
export CONTEND_LIBCUDA=$driver CONTEND_LIBNVML=$driver CONTEND_LIBNCCL=$CONTEND_FAKE_NCCL
unset CUDA_VISIBLE_DEVICES CUDA_LAUNCH_BLOCKING

# collective OUT ARG...: one process of several ranks, two rounds.
collective() {
    local out=$1
    shift
    "$CONTEND_FAKE_GPUS" bench collective --comms --workers 1 --rounds 2 --no-plots --time 0.3 \
        --no-canary --out "$scratch/$out" -p begin=4K -p end=16K "$@"
}

# found OUT: ids of what --comms has found.
found() {
    jq -c '[.findings[] | select(.id | startswith("comms")) | .id]' "$scratch/$1/run.json"
}

for op in allreduce allgather alltoall gather; do
    collective "$op" -p op="$op" >"$scratch/said" 2>&1 || fail "$op: $(cat "$scratch/said")"
    [ "$(found "$op")" = '["comms_equal"]' ] || fail "$op: $(found "$op"): $(cat "$scratch/said")"
    grep -q "NCCL's calls in the last round: collective" "$scratch/said" ||
        fail "$op: no matrix: $(cat "$scratch/said")"
done
jq -r '.findings[] | select(.id == "comms_equal") | .sentence' "$scratch/allreduce/run.json" |
    grep -Eq 'exactly the calls of the benchmark: [1-9][0-9]+ calls of [1-9][0-9]{5,} bytes by 2 processes' ||
    fail "nothing was compared"

# The folder of an arm has the logs of its last round, and is read like others.
folder=$scratch/allreduce/comms/00-none-1
[ "$(find "$folder" -name '*.comms' | wc -l)" = 1 ] || fail "logs: $(find "$scratch/allreduce")"
expect 0 'AllReduce *RING *SIMPLE' "$CONTEND_BINARY" comms --read "$folder"

# NVLink's counters of its last round lie beside them, and so does what joins GPUs.
rm -f "$scratch/readings"
FAKE_GPU_READINGS=$scratch/readings FAKE_GPU="nvlink_sent=7 nvlink_received=9 nvlink_sent_more=5 nvlink_received_more=5" \
    collective counted >"$scratch/said" 2>&1 || fail "counted: $(cat "$scratch/said")"
[ "$(find "$scratch/counted/comms" -name '*.nvlink' | wc -l)" = 1 ] || fail "counters: $(find "$scratch/counted")"
grep -q '^gpu .* 5120 5120$' "$scratch/counted/comms/00-none-1/"*.nvlink ||
    fail "counted: $(cat "$scratch"/counted/comms/*/*.nvlink)"
grep -q '^Bytes over NVLink' "$scratch/said" || fail "not said: $(cat "$scratch/said")"

# One call that NCCL does not tell is seen.
FAKE_NCCL_UNTOLD=1 collective untold >"$scratch/said" 2>&1 || fail "untold: $(cat "$scratch/said")"
[ "$(found untold)" = '["comms_differs"]' ] || fail "untold: $(found untold)"
grep -q 'AllReduce: the benchmark made' "$scratch/said" || fail "not said: $(cat "$scratch/said")"

# Graphs are not compared, and NCCL that loads no plugin is named.
NCCL_PROFILER_PLUGIN=other.so expect 2 'another profiler plugin is set.*other.so' \
    "$CONTEND_FAKE_GPUS" bench collective --comms --workers 1
collective graph -p graph=1 >"$scratch/said" 2>&1 || fail "graph: $(cat "$scratch/said")"
[ "$(found graph)" = '["comms_graphs","comms_equal"]' ] || fail "graph: $(found graph)"
cp "$CONTEND_FAKE_NCCL" "$scratch/empty.so"
CONTEND_COMMS_PLUGIN=$scratch/empty.so collective unloaded >"$scratch/said" 2>&1
[ "$(found unloaded)" = '["comms_no_log"]' ] || fail "unloaded: $(found unloaded) $(cat "$scratch/said")"

# A new result takes the folders of the old one with it.
collective allreduce -p op=allgather >"$scratch/said" 2>&1 || fail "again: $(cat "$scratch/said")"
"$CONTEND_BINARY" comms --read "$folder" | grep -q AllGather || fail "old logs are there"
[ -s "$scratch/allreduce/comms.1/${folder##*/}/calls.csv" ] || fail "what was made of earlier logs is gone"
finish
