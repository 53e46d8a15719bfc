#!/usr/bin/env bash
# A rank of NCCL that cannot join the others, in separate processes, with a fake GPU driver, CUDA runtime and NCCL
# (fake_gpu_driver.c, fake_gpus.h).
. tests/lib/cli.sh

[ -n "${CONTEND_FAKE_GPUS:-}" ] || skip "needs a C++ compiler, when it is built"
export CONTEND_LIBCUDA=$CONTEND_FAKE_DRIVER CONTEND_LIBNVML=$CONTEND_FAKE_DRIVER CONTEND_LIBNCCL=$CONTEND_FAKE_NCCL
unset CUDA_VISIBLE_DEVICES CUDA_LAUNCH_BLOCKING

# The reason is NCCL's own message; `expect` ends long before the time limit for the other ranks.
FAKE_NCCL_JOIN_FAILS=1 expect 3 'nothing was measured: worker 1: rank 1, GPU 1 .beef:07:00.0.: cannot' \
    "$CONTEND_FAKE_GPUS" bench collective --workers 2 --rounds 1 --setup-limit 600 --no-plots \
    --out "$scratch/join"
grep -q "failed,\"worker 1: rank 1, .* NCCL says 'unhandled system error'" "$scratch/join/rows.csv" ||
    fail "no reason in rows.csv:"$'\n'"$(cat "$scratch/join/rows.csv")"
finish
