#!/usr/bin/env bash
# Tests which nvcc builds the GPU parts, and what a bundle of two builds contains. The toolkits are fakes that only
# print a version, and the tree has one small program.
. tests/lib/cli.sh
unset CONTEND_BUILD_DIR CONTEND_NO_INSTALL CONTEND_CUDA12 CUDACXX CUDA_HOME CUDA_PATH

# make_nvcc FOLDER RELEASE
make_nvcc() {
    mkdir -p "$1/bin"
    printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.52"\n' "$2" "$2" >"$1/bin/nvcc"
    chmod +x "$1/bin/nvcc"
}

# Too old a toolkit gives a reason and a CPU-only program.
make_nvcc "$scratch/cuda-11.4" 11.4
expect 0 'GPU parts are not built \(.*nvcc is of CUDA 11\.4, and 11\.8 or later is needed: .*fp8' \
    cmake -G Ninja -S "$CONTEND_SOURCE_DIR" -B "$scratch/old" -DCONTEND_TESTS=OFF \
    -DCONTEND_NVCC="$scratch/cuda-11.4/bin/nvcc"

# The program built here prints which nvcc built it.
tree=$scratch/tree
mkdir -p "$tree"/{bench,cmake,docs,harness,kernels,plots,share}
echo "A page" >"$tree/docs/page.md"
cp "$CONTEND_SOURCE_DIR"/{contend,CMakePresets.json,LICENSE} "$tree"
cp -r "$CONTEND_SOURCE_DIR"/share/{sample_worker.py,machines} "$tree/share"
cp "$CONTEND_SOURCE_DIR"/cmake/{packages,bundle,manual}.sh "$tree/cmake"
cat >"$tree/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(contend LANGUAGES C)
find_program(CONTEND_NVCC nvcc)
execute_process(COMMAND "${CONTEND_NVCC}" --version OUTPUT_VARIABLE said)
string(REGEX MATCH "V([0-9.]+)" said "${said}")
add_executable(bundle harness/main.c)
target_compile_definitions(bundle PRIVATE CUDA="${CMAKE_MATCH_1}")
target_link_libraries(bundle PRIVATE -Wl,--no-as-needed jansson)
set_target_properties(bundle PROPERTIES OUTPUT_NAME contend
                      RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bundle")
add_library(comms MODULE harness/main.c)
target_compile_definitions(comms PRIVATE CUDA="")
set_target_properties(comms PROPERTIES OUTPUT_NAME contend_comms
                      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bundle")
add_dependencies(bundle comms)
foreach(name comms doctor)
  add_executable(contend-${name} harness/main.c)
  target_compile_definitions(contend-${name} PRIVATE CUDA="")
  set_target_properties(contend-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bundle")
  add_dependencies(bundle contend-${name})
endforeach()
CMAKE
cat >"$tree/harness/main.c" <<'C'
#include <stdio.h>
int main(void)
{
    printf("contend 9.8.7\n");
    if (CUDA[0])
        printf("built with CUDA %s\n", CUDA);
    return 0;
}
C
# bundle [VARIABLE=VALUE...]: runs the front door, and unpacks the tarball in $scratch/out.
bundle() {
    rm -rf "$scratch/out" "$scratch"/contend-9.8.7-*
    mkdir "$scratch/out"
    (cd "$scratch" && env "$@" "$tree/contend" bundle) >"$scratch/name" 2>"$scratch/said" ||
        fail "no bundle: $(cat "$scratch/said")"
    tar -xzf "$scratch/$(cat "$scratch/name")" -C "$scratch/out" --strip-components 1 ||
        fail "no tarball"
}
needs ninja gnuplot # or the front door would install them
make_nvcc "$scratch/cuda-13" 13.0
make_nvcc "$scratch/cuda-12" 12.9
with_13=PATH=$scratch/cuda-13/bin:$PATH

# With CUDA 13 and CUDA 12: two programs, and a list of the drivers that each serves.
bundle "$with_13" CONTEND_CUDA12="$scratch/cuda-12"
[ "$("$scratch/out/contend" --version | tail -n 1)" = 'built with CUDA 13.0.52' ] ||
    fail "not the first build in front: $("$scratch/out/contend" --version)"
[ "$("$scratch/out/contend-cuda12" --version | tail -n 1)" = 'built with CUDA 12.9.52' ] ||
    fail "not the second build beside it"
[ "$(cat "$scratch/out/drivers.txt")" = 'contend: CUDA 13.0.52, NVIDIA drivers from 580 on
contend-cuda12: CUDA 12.9.52, NVIDIA drivers from 525 on' ] ||
    fail "drivers.txt: $(cat "$scratch/out/drivers.txt")"
grep -q 'contend-cuda12: CUDA 12.9.52, NVIDIA drivers from 525 on' "$scratch/said" ||
    fail "the bundle does not say which drivers it serves: $(cat "$scratch/said")"

# A folder without CUDA 12 is ignored; without any CUDA 12 there is one program.
if [ -z "$(find /usr/local -maxdepth 1 -name 'cuda-12*')" ]; then
    bundle "$with_13" CONTEND_CUDA12="$scratch/cuda-11.4"
    [ ! -e "$scratch/out/contend-cuda12" ] || fail "a second program of CUDA 11"
    [ "$(cat "$scratch/out/drivers.txt")" = 'contend: CUDA 13.0.52, NVIDIA drivers from 580 on' ] ||
        fail "drivers.txt of one program: $(cat "$scratch/out/drivers.txt")"
fi

# If the build itself uses CUDA 12, there is one program.
rm -rf "$tree/build"
bundle PATH="$scratch/cuda-12/bin:$PATH" CONTEND_CUDA12="$scratch/cuda-12"
[ ! -e "$scratch/out/contend-cuda12" ] || fail "a second program of the same CUDA"
grep -q '^contend: CUDA 12.9.52, NVIDIA drivers from 525 on' "$scratch/out/drivers.txt" ||
    fail "drivers.txt of CUDA 12: $(cat "$scratch/out/drivers.txt")"
finish
