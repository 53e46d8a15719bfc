#!/usr/bin/env bash
# Plain PyTorch workers under none, sized, passive and partition: what `contend run pipeline` is held
# against, by hand, on a machine with PyTorch and GPUs. Prints the steps per second of each worker.
#
#   tests/peers/torch.sh [WORKERS [SECONDS]]
set -u
workers=${1:-2} seconds=${2:-6} cpus=$(nproc)
here=$(dirname "$(readlink -f "$0")")

worker() { # worker PLACEMENT INDEX
    local share=$((cpus / workers)) command=(python "$here/torch_worker.py" "$seconds")
    case $1 in
    none) "${command[@]}" ;;
    sized) OMP_NUM_THREADS=$share "${command[@]}" ;;
    passive) OMP_WAIT_POLICY=passive "${command[@]}" ;;
    partition)
        OMP_NUM_THREADS=$share taskset -c $(($2 * share))-$((($2 + 1) * share - 1)) "${command[@]}"
        ;;
    esac
}

for placement in none sized passive partition; do
    export GO=$(($(date +%s) + 20)) # all have started by then
    printf '%s:' "$placement"
    for ((i = 0; i < workers; i++)); do
        LOCAL_RANK=$i worker "$placement" "$i" &
    done | tr '\n' ' '
    printf '\n'
done
