#!/usr/bin/env bash
# What a step of train sends under each communication pattern, on the model of a GPU.
. tests/lib/cli.sh

# train PATTERN ARG...: prints bytes, calls and what two ranks send.
train() {
    local pattern=$1 out=$scratch/$1
    shift
    "$CONTEND_BINARY" bench train -n 2 --device sim --rounds 1 --time 0.1 --warmup 0 --no-plots \
        --no-baselines --no-canary --placement none -v --out "$out" -p gradient=64M -p pattern="$pattern" \
        -p rows=64 -p cols=64 "$@" >"$out.txt" 2>&1 || fail "$pattern: $(cat "$out.txt")"
    columns "$out/rows.csv" metric params median | sed -n \
        's/^\(step_bytes\|step_calls\|step_sent\),.*;slots=2;*\([^,]*\),/\1,\2,/p' | sort | paste -sd' '
}

expect_equal whole "$(train whole)" ""
expect_equal ddp "$(train ddp)" \
    "step_bytes,func=AllReduce,67108864 step_calls,func=AllReduce,3 step_sent,,67108864"
expect_equal zero "$(train zero -p overlap=1)" "step_bytes,func=AllGather,67108864 \
step_bytes,func=ReduceScatter,67108864 step_calls,func=AllGather,3 step_calls,func=ReduceScatter,3 \
step_sent,,67108864"
expect_equal fsdp "$(train fsdp -p layers=4 -p overlap=1)" "step_bytes,func=AllGather,134217728 \
step_bytes,func=ReduceScatter,67108864 step_calls,func=AllGather,8 step_calls,func=ReduceScatter,4 \
step_sent,,100663296"
expect_equal accumulate "$(train accumulate -p accumulate=3)" \
    "step_bytes,func=AllReduce,67108864 step_calls,func=AllReduce,3 step_sent,,67108864"
grep -q "sent by each rank a step" "$scratch/ddp.txt" || fail "not reported: $(cat "$scratch/ddp.txt")"

# A step of three batches has three times the rows of a step of one.
rows() {
    columns "$scratch/$1/samples.csv" ops | head -1
}
expect_equal "rows of a step" "$(rows accumulate)" $((3 * $(rows ddp)))

# Overlapped work and sending take less time than sequential ones: a second each.
least_ms() {
    train ddp -p sim_work_us=500000 -p gpu_work=2 -p sim_reduce_gbps=0.067108864 -p overlap="$1" \
        >/dev/null
    columns "$scratch/ddp/samples.csv" elapsed_ns | awk 'NR == 1 || $1 < least { least = $1 }
        END { print int(least / 1e6) }'
}
behind=$(least_ms 0) beside=$(least_ms 1)
[ "$behind" -ge 1990 ] || fail "one behind the other: $behind ms"
[ "$beside" -ge 990 ] && [ "$beside" -lt $((behind - 300)) ] || fail "beside: $beside ms, behind: $behind"

refused() {
    expect 2 "$1" "$CONTEND_BINARY" bench train --device sim -n 2 --out "$scratch/refused" "${@:2}"
}
refused 'bucket 6 is not a multiple of 4' -p pattern=ddp -p bucket=6
refused 'gradient 64 has no float32 for each of 17 layers' -p pattern=fsdp -p gradient=64 -p layers=17
refused "pattern" -p pattern=tensor
finish
