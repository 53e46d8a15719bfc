#!/usr/bin/env bash
# With fewer workers than GPUs under Slurm, each task has the GPU of its plan if it is started by the text's header
# lines.
. tests/lib/slurm.sh
needs two-cpus
start_slurm task/affinity 4
export OUT=$scratch/out
unset CUDA_VISIBLE_DEVICES

# emitted OPTION...: makes the text. Its workers write their GPU's number, in the order of the bus.
gpus=0000:01:00.0@0,0000:02:00.0@0,0000:81:00.0@1,0000:82:00.0@1
emitted() {
    "$CONTEND_BINARY" place --xml "numa:2 core:1 pu:1" --gpus "$gpus" --mem default --emit slurm "$@" -- sh -c \
        'echo "$CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES" >"$OUT/$1"' sh '{worker}' >"$scratch/job" 2>"$scratch/err" ||
        fail "$(cat "$scratch/err")"
}
# has HOW EXPECTED COMMAND...: checks the workers' GPUs.
has() {
    local how=$1 expected=$2 got
    shift 2
    rm -rf "$OUT"
    mkdir "$OUT"
    (cd "$scratch" && timeout 100 "$@") >"$scratch/said" 2>&1 </dev/null || fail "$how: $(cat "$scratch/said")"
    got=$(cat "$OUT"/* | sed 's/^PCI_BUS_ID //' | paste -sd' ')
    [ "$got" = "$expected" ] || fail "$how: GPUs '$got', planned '$expected': $(cat "$scratch/said")"
}

for how in sbatch salloc; do
    emitted -n 2 -P gpu-local
    [ "$how" != sbatch ] || line="sbatch --wait job"
    [ "$how" != salloc ] || line=$(sed -n 's/^#.*or: \(salloc .*\) FILE$/\1 job/p' "$scratch/job")
    # shellcheck disable=SC2086
    has "$how" "0 2" $line
done
# Both GPUs near one node, and one worker alone.
gpus=0000:01:00.0@0,0000:02:00.0@1,0000:81:00.0@1,0000:82:00.0@1
emitted -n 2 -P gpu-local
has "other nodes" "0 1" sbatch --wait job
emitted -n 1 -P numa
has "one worker" "0" sbatch --wait job
# If there are more workers than GPUs in the plan, they share GPUs.
gpus=0000:01:00.0@0,0000:02:00.0@1
emitted -n 2 -P sized --gpus 0000:01:00.0@0
has "a shared GPU" "0 0" sbatch --wait job

# A job that did not ask for GPUs has them too: --exclusive gives it all of the node's.
gpus=0000:01:00.0@0,0000:02:00.0@0,0000:81:00.0@1,0000:82:00.0@1
emitted -n 2 -P gpu-local
has "without a request" "0 2" salloc -N 1 --exclusive sh job
finish
