#!/usr/bin/env bash
# Compares read_path with fio: the same file, block size and CPU, in turn, both with O_DIRECT.
#
#   tests/fio.sh [TURNS [SECONDS [DIRECTORY]]]     3 turns of 1 s each, in $TMPDIR
#
# Prints a line for each way to read: both medians, and the ratio of ours to fio's in the same turn.
# Exit 1 if that ratio is below 0.9. On a machine in use, disturbance exceeds the difference between
# the programs.
set -euo pipefail
turns=${1:-3} seconds=${2:-1} directory=${3:-${TMPDIR:-/tmp}}
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
reader=${CONTEND_BUILD_DIR:-build/release}/tests/read_file
for tool in fio jq; do
    command -v $tool >/dev/null || { echo "SKIP: needs $tool"; exit 77; }
done
case $(stat -f -c %T "$directory") in
tmpfs | ramfs) echo "SKIP: $directory is in memory" && exit 77 ;;
esac
file=$(mktemp "$directory/contend-fio-XXXXXX") log=$(mktemp)
trap 'rm -f "$file" "$log"' EXIT
dd if=/dev/urandom of="$file" bs=1M count=512 conv=fsync status=none

# by_fio ORDER BLOCK: prints GB/s
by_fio() {
    local options=(--name=x "--filename=$file" --readonly --thread --direct=1 --time_based
        "--runtime=$seconds" "--bs=$2" "--cpus_allowed=$cpu" --norandommap
        --ioengine=psync --output-format=json)
    [ "$1" = seq ] && options+=(--rw=read) || options+=(--rw=randread)
    fio "${options[@]}" | jq -r '.jobs[0].read.bw_bytes / 1e9'
}

by_us() {
    "$reader" "$file" "$1" "$2" "$seconds" "$cpu" | cut -d' ' -f1
}

ways=('seq 131072' 'random 4096')
for ((turn = 0; turn < turns; turn++)); do
    for way in "${ways[@]}"; do
        read -ra parts <<<"$way"
        if ((turn % 2)); then
            ours=$(by_us "${parts[@]}") fios=$(by_fio "${parts[@]}")
        else
            fios=$(by_fio "${parts[@]}") ours=$(by_us "${parts[@]}")
        fi
        echo "${way// /_} $ours $fios" >>"$log"
    done
done

median() {
    sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}
failed=0
[ -z "${FIO_RAW:-}" ] || cp "$log" "$FIO_RAW"
printf '%-24s %10s %10s %8s\n' way 'ours GB/s' 'fio GB/s' ratio
for way in "${ways[@]}"; do
    rows=$(grep "^${way// /_} " "$log")
    ratio=$(awk '{ print $2 / $3 }' <<<"$rows" | median)
    printf '%-24s %10.3f %10.3f %8.3f\n' "${way// /_}" "$(awk '{ print $2 }' <<<"$rows" | median)" \
        "$(awk '{ print $3 }' <<<"$rows" | median)" "$ratio"
    awk -v ratio="$ratio" 'BEGIN { exit ratio < 0.9 }' || failed=1
done
exit $failed
