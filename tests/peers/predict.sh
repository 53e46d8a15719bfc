#!/usr/bin/env bash
# How far contend predict is off, on jobs that its constants were not fitted on. By hand; minutes a job.
#
#   tests/peers/predict.sh OUT [JOB...]        CONTEND=./build/release/contend COUNTS=1..8 ROUNDS=3
#
# Jobs: numpy (matrix products, OpenBLAS), xz, openssl (hashes), sort (GNU, threads of its own); with PyTorch: torch
# (tests/peers/torch_worker.py), loader (a DataLoader). Every cell of every job counts; OUT/JOB has prediction.json, written before
# any of them is measured. predict_read.py prints the table.
set -u
out=$(readlink -f "$1") here=$(dirname "$(readlink -f "$0")")
shift
contend=${CONTEND:-$here/../../build/release/contend} python=${PYTHON:-python3}
jobs=("$@")
[ ${#jobs[@]} -gt 0 ] || jobs=(numpy xz openssl sort)
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
head -c 8000000 /dev/urandom | od -An -tx8 >"$work/text"

held() { # held JOB COMMAND...: its lines that begin with "step" are steps
    local name=$1
    shift
    timeout "${LIMIT:-600}" "$contend" predict --verify --rounds "${ROUNDS:-3}" -n "${COUNTS:-1..8}" --time "${EACH:-1}" --force \
        --no-plots --out "$out/$name" --steps-by-lines --line '^step' -- "$@" >"$out/$name.txt" 2>"$out/$name.log" ||
        echo "FAILED: $name: $(tail -n 3 "$out/$name.log")"
    tail -n 20 "$out/$name.txt"
}

for job in "${jobs[@]}"; do
    echo "== $job, $SECONDS s"
    case $job in
    numpy) held numpy "$python" -c 'import numpy
a = numpy.random.rand(700, 700)
while True: a @ a; print("step", flush=True)' ;;
    xz) held xz sh -c 'while :; do head -c 300000 "$0" | xz -T1 -2 -c >/dev/null; echo step; done' "$work/text" ;;
    openssl) held openssl sh -c 'while :; do head -c 4000000 "$0" | openssl sha512 >/dev/null; echo step; done' "$work/text" ;;
    sort) held sort sh -c 'while :; do head -c 3000000 "$0" | LC_ALL=C sort --parallel="$(nproc)" >/dev/null; echo step; done' "$work/text" ;;
    torch) held torch "$python" "$here/torch_worker.py" 300 /dev/stdout ;;
    loader) held loader "$python" "$here/loader_worker.py" 300 /dev/stdout "$(nproc)" ;;
    *) echo "no job '$job'" ;;
    esac
done
