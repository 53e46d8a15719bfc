#!/usr/bin/env bash
# Feeds the readers of results with inputs that libFuzzer derives from tests/fuzz/corpus, each reader for the given
# seconds.
#
#   tests/fuzz.sh [SECONDS [TARGET...]]    5 s each; targets: csv, json, recorded,
#                                          comms, beside, graph, bounds, waivers, machine,
#                                          walk, fleet, validation
#
# Exit 1: a reader crashed or broke a rule; the input is in build/fuzz/found. 77: no clang with libFuzzer here. New
# inputs are kept in build/fuzz/grown, and the next run starts with them too.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-5}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- csv json recorded comms beside graph bounds waivers machine walk fleet validation

probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int LLVMFuzzerTestOneInput(const char *data, long size) { return data[0] == 0 && size == 9; }' \
    >"$probe/probe.c"
clang -fsanitize=fuzzer,address,undefined "$probe/probe.c" -o "$probe/probe" 2>/dev/null ||
    { echo "SKIP: needs clang with libFuzzer" && exit 77; }

build=build/fuzz
cmake -S . -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DCONTEND_FUZZ=ON \
    -DCONTEND_TESTS=OFF -DCONTEND_CUDA=OFF >"$probe/log" 2>&1 &&
    cmake --build "$build" --target fuzz >"$probe/log" 2>&1 || { cat "$probe/log" && exit 1; }
mkdir -p "$build/found"
for target in "$@"; do
    mkdir -p "$build/grown/$target"
    printf '%s: ' "$target"
    "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=16384 -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix="$build/found/$target-" -print_final_stats=1 \
        "$build/grown/$target" "tests/fuzz/corpus/$target" >"$probe/log" 2>&1 ||
        { tail -60 "$probe/log" && exit 1; }
    sed -n 's/^stat::number_of_executed_units: */inputs tried: /p' "$probe/log"
done
