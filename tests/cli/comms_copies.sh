#!/usr/bin/env bash
# contend comms --copies: what a stub of CUPTI tells of a stub of a program, to the byte.
. tests/lib/cli.sh
needs jq
stub=$CONTEND_STUB_COPIES
stub_cuda=$CONTEND_STUB_CUDA
unset CONTEND_STUB_CUDA CUDA_INJECTION64_PATH NCCL_PROFILER_PLUGIN CONTEND_COMMS_DIR
export CONTEND_LIBCUPTI=$CONTEND_STUB_CUPTI

# read_json DIR FILTER: what jq makes of it.
read_json() {
    "$CONTEND_BINARY" comms --read "$1" --json | jq -c "$2"
}

# counted DIR STEP...: the stub under the command; what is said goes to $scratch/err.
counted() {
    local dir=$1
    shift
    "$CONTEND_BINARY" comms --copies --out "$dir" -- "$stub" "$@" 2>"$scratch/err"
}

rows='[.copies.rows[] | [.from, .to, .kind, .from_memory, .to_memory, .calls, .bytes, .timed_calls, .time_s]]'
# All kinds, of CUPTI of CUDA 13 and of 12, and a driver that knows the addresses of its GPUs.
for version in 130001 26; do
    STUB_CUPTI_VERSION=$version counted "$scratch/kinds$version" copy:1:1:3:0:1000:2000:10 copy:1:2:3:0:4096:100:3 \
        copy:2:3:2:1:500:50:2 copy:8:3:3:1:300:30:4 peer:0:1:1000000:1000:7 copy:9:1:2:0:100:0:1 copy:3:2:4:0:64:64:1 ||
        fail "kinds: $(cat "$scratch/err")"
    is "kinds of $version" "$(read_json "$scratch/kinds$version" "$rows | sort_by(.[6])" | sed 's/@[0-9]*//g')" \
        '[["host","GPU0","HtoA","pinned","array",1,64,1,6.4e-08],["host","host","HtoH","pageable","pinned",1,100,0,null],["GPU1","host","DtoH","device","pinned",2,1000,2,1e-07],["GPU1","GPU1","DtoD","device","device",4,1200,4,1.2e-07],["host","GPU0","HtoD","pageable","device",10,10000,10,2e-05],["host","GPU0","HtoD","pinned","device",3,12288,3,3e-07],["GPU0","GPU1","PtoP","device","device",7,7000000,7,7e-06]]'
done
is "whole" "$(read_json "$scratch/kinds26" '[.logs, (.copies.logs[0] | [.program, .cupti, .finished, .dropped, .unknown, .buffers_out])]')" \
    '[[],["stub_copies",26,true,0,0,0]]'
is "sizes" "$(read_json "$scratch/kinds26" '[.copies.rows[] | select(.from_memory == "pageable" and .to_memory == "device") | .sizes]')" \
    '[[{"from_bytes":512,"calls":10,"bytes":10000}]]'
grep -q '^from  *to  *memory  *calls  *bytes  *time  *GB/s$' "$scratch/err" || fail "$(cat "$scratch/err")"
grep -q 'no process of the command' "$scratch/err" && fail "copies are enough: $(cat "$scratch/err")"
[ "$(wc -L <"$scratch/err")" -le 200 ] || fail "wide: $(cat "$scratch/err")"
grep -c '^[^,]*,GPU0@[0-9]*,GPU1@[0-9]*,PtoP,device,device,7,7000000,7,7000000,0.000007000$' \
    "$scratch/kinds26/copies.csv" >/dev/null || fail "$(cat "$scratch/kinds26/copies.csv")"
grep -q '<h4>Copies</h4>' "$scratch/kinds26/report.html" || fail "no copies on the page"
CONTEND_STUB_CUDA=$stub_cuda counted "$scratch/pci" peer:0:1:10:1:1 || fail "$(cat "$scratch/err")"
is "addresses" "$(read_json "$scratch/pci" '[.copies.rows[] | [.from, .to]]')" '[["beef:07:00.0","beef:08:00.0"]]'
grep -q '^beef:07:00.0  beef:08:00.0  device  *1  *10.0  ' "$scratch/err" || fail "$(cat "$scratch/err")"

# A rate stays within its column.
counted "$scratch/fast" copy:8:3:3:1:1234567:1000:1
grep -q ' 1235$' "$scratch/err" || fail "a fast copy: $(cat "$scratch/err")"

# More than a buffer holds, and a batch of copies in one record, which CUDA 13 alone tells.
counted "$scratch/many" copy:2:3:1:0:8:1:100000 copy:1:2:3:0:4000:10:5:40 || fail "$(cat "$scratch/err")"
is "many" "$(read_json "$scratch/many" '[.copies.rows[] | [.kind, .calls, .bytes]] | sort')" \
    '[["DtoH",100000,800000],["HtoD",200,20000]]'
is "small" "$(read_json "$scratch/many" '[.findings[].id]')" '["copies_many_small"]'
counted "$scratch/pageable" copy:1:1:3:0:100000000:50000000:1 copy:1:2:3:0:100000000:4000000:1
grep -q '100.0\? *MB (50%) of what was copied .* pageable .* at 2.00 GB/s; of pinned memory at 25.00 GB/s' \
    <<<"$(tr -s '\n ' ' ' <"$scratch/err")" || fail "$(cat "$scratch/err")"

# Unified memory that moved: asked for, touched, evicted and from GPU to GPU; told once CUPTI is ready.
for version in 130001 26; do
    STUB_CUPTI_VERSION=$version counted "$scratch/moved$version" ready move:1:1:0:0:2000000:40000:50 move:1:2:0:1:4000:1000:100 \
        move:2:3:1:0:1000000:40000:100 move:2:4:1:0:2000000:0:60 move:8:5:0:1:7:1:1 move:1:77:0:0:9:1:1 copy:8:5:5:0:64:1:2000 ||
        fail "moved: $(cat "$scratch/err")"
    is "moved, $version" "$(read_json "$scratch/moved$version" "$rows" | sed 's/@[0-9]*//g')" \
        '[["GPU1","host","migration-eviction","managed","managed",60,120000000,0,null],["GPU1","host","migration-prefetch","managed","managed",100,100000000,100,0.004],["host","GPU0","migration-user","managed","managed",50,100000000,50,0.002],["host","GPU1","migration-coherence","managed","managed",100,400000,100,0.0001],["GPU0","GPU0","DtoD","managed","managed",2000,128000,2000,2e-06],["host","GPU0","migration","managed","managed",1,9,1,1e-09],["GPU0","GPU1","migration-access-counters","managed","managed",1,7,1,1e-09]]'
    is "moved, found" "$(read_json "$scratch/moved$version" '[[.findings[].id], (.copies.logs[0] | [.migrations_since_ns > .start_ns, .migrations_error])]')" \
        '[["copies_migrated","copies_evicted","copies_many_small"],[true,0]]'
done
for said in '100\(.4\)\? *MB of unified memory moved on demand, in pieces of 497029 bytes on average at 24.49 GB/s; prefetched, at 50.00 GB/s:' \
    '120 *MB of unified memory was evicted from a GPU by other: '; do
    grep -q "$said" <<<"$(tr -s '\n ' ' ' <"$scratch/err")" || fail "no '$said' in $(cat "$scratch/err")"
done
[ "$(grep -c '^host *GPU[01]@.* managed [amt]' "$scratch/err")" = 3 ] || fail "$(cat "$scratch/err")"

# Where CUPTI tells none of that, only who has unified memory is told so.
for how in migrations:1 not-ready:0; do
    STUB_CUPTI_FAIL=${how%:*} counted "$scratch/untold${how%:*}" sleep:20 move:1:1:0:0:20:4:5 copy:8:5:5:0:64:1:2 || fail "$(cat "$scratch/err")"
    is "untold, $how" "$(read_json "$scratch/untold${how%:*}" '[(.copies.rows | length), [.findings[].id], (.copies.logs[0] | .migrations_since_ns)]')" \
        '[1,["copies_migrations_unknown"],null]'
    said='its error 1'
    [ "$how" = migrations:1 ] || said='it was never ready to'
    grep -q "$said" <<<"$(tr -s '\n ' ' ' <"$scratch/err")" || fail "no '$said' in $(cat "$scratch/err")"
done
STUB_CUPTI_FAIL=migrations counted "$scratch/none-managed" sleep:20 copy:1:2:3:0:10:1:2 || fail "$(cat "$scratch/err")"
is "none managed" "$(read_json "$scratch/none-managed" '.findings')" '[]'

# What finds no place in the table is counted in a row of its own; what CUPTI dropped is told.
counted "$scratch/full" sizes:1600 drop:5
is "full" "$(read_json "$scratch/full" '.copies | [(.rows | length), ([.rows[].calls] | add), ([.rows[].bytes] | add), ([.rows[] | select(.unplaced) | [.from, .calls]])]')" \
    '[1024,1600,16000,[["?",577]]]'
is "full, found" "$(read_json "$scratch/full" '[.findings[].id]')" '["copies_dropped","copies_unplaced"]'

counted "$scratch/dropped" drop:5
is "all dropped" "$(read_json "$scratch/dropped" '[.copies.logs[0].dropped, [.findings[].id]]')" '[5,["copies_dropped"]]'

# Another tool takes CUPTI over, and has what was copied since; CUPTI hands over a record behind the end.
counted "$scratch/taken" copy:1:2:3:0:10:1:2 taken copy:1:2:3:0:10:1:3
is "taken over" "$(read_json "$scratch/taken" '[(.copies.logs[0] | [.finished, .buffers_out]), [.findings[].id]]')" \
    '[[true,1],["copies_taken_over"]]'
CONTEND_COPIES_PERIOD_MS=1 counted "$scratch/taken-idle" copy:1:2:3:0:10:1:2 sleep:1000 taken copy:1:2:3:0:10:1:3
is "taken over, with no buffer out" "$(read_json "$scratch/taken-idle" '[(.copies.logs[0] | [.finished, .taken_over]), [.findings[].id]]')" \
    '[[true,true],["copies_taken_over"]]'
STUB_CUPTI_LATE=1 counted "$scratch/late" copy:1:2:3:0:10:1:2
is "late" "$(read_json "$scratch/late" '[.copies.logs[0].finished, [.copies.rows[].calls], .findings]')" '[true,[3],[]]'

# Many buffers are out: CUPTI drops what it gets none for, and before CUDA 12.9, which could crash there, has more.
for version in 130001 26; do
    STUB_CUPTI_HOLDS=1 CONTEND_COPIES_PERIOD_MS=900000 STUB_CUPTI_VERSION=$version counted "$scratch/held$version" \
        copy:1:2:3:0:100000:1:800000 || fail "held: $(cat "$scratch/err")"
done
is "held" "$(read_json "$scratch/held26" '[.copies.rows[0].calls, .copies.logs[0].dropped]')" '[800000,0]'
is "dropped" "$(read_json "$scratch/held130001" '[.copies.rows[0].calls < 800000, .copies.rows[0].calls + .copies.logs[0].dropped]')" \
    '[true,800000]'

# CUPTI asks for a buffer under a lock of its own, which it also needs to answer what was dropped.
code=0
STUB_CUPTI_SLOW=1 CONTEND_COPIES_PERIOD_MS=1 timeout -k 1 120 "$CONTEND_BINARY" comms --copies --out "$scratch/locks" -- \
    "$stub" copy:1:2:3:0:10:1:1 sleep:10 copy:1:2:3:0:10:1:1 sleep:10 copy:1:2:3:0:10:1:100000 2>"$scratch/err" || code=$?
is "locks" "$code $(read_json "$scratch/locks" '[.copies.rows[].calls]')" '0 [100002]'

# CUPTI does not answer at the end: the program ends all the same, with its code.
code=0
STUB_CUPTI_HANGS=1 timeout -k 1 120 "$CONTEND_BINARY" comms --copies --out "$scratch/hangs" -- "$stub" copy:1:2:3:0:10:1:1 exit:7 \
    2>"$scratch/err" || code=$?
is "hangs at the end" "$code $(read_json "$scratch/hangs" '[.findings[].id]')" '7 ["copies_unfinished"]'

# Killed, after the thread has looked: what it had is there. At once: nothing, but no error. _exit: as killed.
export CONTEND_COPIES_PERIOD_MS=20
"$CONTEND_BINARY" comms --copies --out "$scratch/killed" -- bash -c \
    "$stub copy:1:1:3:0:1000:1:10 sleep:3000 copy:1:1:3:0:1000:1:10 kill; $stub quick; exit 9" 2>"$scratch/err"
is "exit code" $? 9
is "killed" "$(read_json "$scratch/killed" '.copies | [([.rows[].calls] | add) >= 10, ([.logs[].finished] | unique)]')" '[true,[false]]'
is "killed, found" "$(read_json "$scratch/killed" '[.findings[].id]')" '["copies_unfinished"]'
unset CONTEND_COPIES_PERIOD_MS

# A forked child writes nothing into its parent's file.
counted "$scratch/forked" copy:1:2:3:0:10:1:2 fork copy:1:2:3:0:10:1:2
is "forked" "$(read_json "$scratch/forked" '[(.copies.logs | length), .copies.logs[0].finished, [.copies.rows[] | [.from_memory, .calls]]]')" \
    '[1,true,[["pinned",4]]]'

# The program goes on, with its exit code, where CUPTI is not to be had, or is another tool's.
for how in "CONTEND_LIBCUPTI=$scratch/none.so|no libcupti" "STUB_CUPTI_FAIL=subscriber|another tool uses CUPTI" \
    "STUB_CUPTI_FAIL=register|CUPTI records no copies: STUB_INVALID" "STUB_CUPTI_FAIL=enable|CUPTI records no copies"; do
    code=0
    env "${how%%|*}" "$CONTEND_BINARY" comms --copies -- "$stub" copy:1:1:3:0:1:1:1 exit:7 2>"$scratch/err" || code=$?
    is "exit code, ${how%%|*}" "$code" 7
    is "lines, ${how%%|*}" "$(grep -c "contend comms --copies: off in process .*${how#*|}" "$scratch/err")" 1
    grep -q 'no process of the command logged copies' "$scratch/err" || fail "$(cat "$scratch/err")"
done
code=0
(ulimit -f 1 && CONTEND_COMMS_DIR=$scratch CUDA_INJECTION64_PATH=$CONTEND_COPIES_LIBRARY "$stub" copy:1:1:3:0:1:1:1 exit:7) \
    2>"$scratch/err" || code=$?
is "a limit on files" "$code $(grep -c 'off in process' "$scratch/err")" "7 1"
code=0
CUDA_INJECTION64_PATH=$CONTEND_COPIES_LIBRARY "$stub" copy:1:1:3:0:1:1:1 exit:7 2>"$scratch/err" || code=$?
is "no directory" "$code $(grep -c 'CONTEND_COMMS_DIR names no directory' "$scratch/err")" "7 1"

# An injection that the user has set is theirs.
CUDA_INJECTION64_PATH=other.so expect 3 'another injection is set.*other.so' \
    "$CONTEND_BINARY" comms --copies -- touch "$scratch/was-run"
[ ! -e "$scratch/was-run" ] || fail "the command was run"
CUDA_INJECTION64_PATH=other.so expect 0 'no process of the command loaded the plugin' "$CONTEND_BINARY" comms -- true
expect 2 'copies needs a command' "$CONTEND_BINARY" comms --copies --read "$scratch/full"
expect 2 'either a command' "$CONTEND_BINARY" comms --copies

# A damaged file is named; without one whole slot there is nothing to be read.
file=$(echo "$scratch"/pci/*.copies)
for damage in "0:X:byte 0: no copies" "8:\\x09:version 9" "12:X:another byte order" "20:X:its sizes"; do
    IFS=: read -r at byte said <<<"$damage"
    mkdir "$scratch/damaged"
    cp "$file" "$scratch/damaged"
    printf '%b' "$byte" | dd of="$(echo "$scratch"/damaged/*.copies)" bs=1 seek="$at" conv=notrunc status=none
    expect 2 "$said" "$CONTEND_BINARY" comms --read "$scratch/damaged"
    rm -r "$scratch/damaged"
done
mkdir "$scratch/damaged"
head -c 1000 "$file" >"$scratch/damaged/a.comms.copies"
expect 2 "byte 1000: cut" "$CONTEND_BINARY" comms --read "$scratch/damaged"
expect 2 "damaged" "$CONTEND_BINARY" comms --read "$scratch/damaged/none"

# Beside NCCL, and what NVLink counted: copies between GPUs are explained.
if cc -shared -fPIC -DFULL -o "$scratch/nvml.so" tests/lib/fake_gpu_driver.c 2>/dev/null; then
    export CONTEND_LIBNVML=$scratch/nvml.so CONTEND_STUB_CUDA=$stub_cuda
    states="nvlink_sent=7 nvlink_received=9 nvlink_sent_more2=0 nvlink_received_more2=0"
    FAKE_GPU_READINGS=$scratch/readings FAKE_GPU="$states nvlink_sent_more=3906250 nvlink_received_more=3906250" \
        "$CONTEND_BINARY" comms --copies --out "$scratch/true" -- "$stub" peer:0:1:1000000000:1000:4 peer:1:0:1000000000:1000:4 \
        2>"$scratch/err" || fail "$(cat "$scratch/err")"
    is "truth" "$(read_json "$scratch/true" '.nvlink | [.copied_bytes, .all.sent.called_bytes, .all.sent.counted_bytes]')" \
        '[8000000000,8000000000,8000000000]'
    is "truth's findings" "$(read_json "$scratch/true" '[.findings[].id]')" '[]'
    grep -q 'Of these calls and copies' "$scratch/err" || fail "$(cat "$scratch/err")"
fi
finish
