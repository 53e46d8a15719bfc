#!/usr/bin/env bash
# A checkout in a folder with an apostrophe and a blank in its name builds: the build's tools quote the path.
. tests/lib/cli.sh
[ -z "$CONTEND_SANITIZE" ] || skip "as in a release"
unset CONTEND_BUILD_DIR
tree="$scratch/it's a tree" build="$scratch/it's a tree/build/release"
mkdir "$tree"
cp -r CMakeLists.txt CMakePresets.json cmake kernels bench harness plots share "$tree"
nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "${CONTEND_BINARY%/*}/CMakeCache.txt")
[ -x "$nvcc" ] || nvcc=
log=$scratch/log
cmake --preset release -S "$tree" -B "$build" -DCONTEND_TESTS=OFF "-DCONTEND_CUDA=${nvcc:+ON}" >"$log" \
    2>&1 || fail "configure: $(cat "$log")"

# One target of each kind: output of CMake scripts, C, and CUDA. A full build takes minutes.
objects=(plot_embedded.c contend_commit CMakeFiles/contend_core.dir/harness/lib/err.c.o)
[ -z "$nvcc" ] || objects+=(CMakeFiles/contend_kernels.dir/kernels/gpu/gpu_common.cu.o)
ninja -C "$build" "${objects[@]}" >"$log" 2>&1 || fail "build: $(cat "$log")"
finish
