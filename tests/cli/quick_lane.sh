#!/usr/bin/env bash
# tests/run.sh prints which tests were not run, why, and the command that runs them, then ctest's verdict. It exits with
# ctest's code.
. tests/lib/cli.sh
needs ctest cmake ninja
mkdir "$scratch/tree"
cat >"$scratch/tree/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(lanes LANGUAGES NONE)
enable_testing()
function(one name label)
    add_test(NAME ${name} COMMAND sh -c "${ARGN}")
    set_tests_properties(${name} PROPERTIES LABELS "${label}" SKIP_RETURN_CODE 77)
endfunction()
one(fine unit "exit 0")
one(lacks_jq cli "echo 'SKIP: needs jq' && exit 77")
one(lacks_a_gpu gpu "echo 'SKIP: needs a GPU: no driver' && exit 77")
one(lacks_a_part cli "echo 'SKIP: one part' && exit 0")
one(silent cli "exit 77")
one(hours slow "exit 1")
CMAKE
cmake -G Ninja -S "$scratch/tree" -B "$scratch/build" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"

said=$(tests/run.sh "$scratch/build" 2>&1) || fail "exit $?"
for part in "    1  needs jq (lacks_jq)
       ./contend test --all" "    1  needs a GPU (lacks_a_gpu)
       ./contend test -L gpu " "    1  gives no reason (silent)
       -" "    1  not in the quick lane"; do
    [[ $said == *"$part"* ]] || fail "no '$part' in: $said"
done
[[ $said != *"one part"* ]] || fail "a test that passed is listed: $said"
[[ ${said##*not run:} == *"100% tests passed"*" out of 5"* ]] || fail "no verdict at the end: $said"
[[ $said != *"did not run:"* ]] || fail "listed twice: $said"

# The slow test fails: only --all runs it. Tests that are named run alone.
expect 8 '83% tests passed, 1 tests failed out of 6' tests/run.sh "$scratch/build" --all
expect 0 'out of 1$' tests/run.sh "$scratch/build" -R fine
expect 8 '0% tests passed' tests/run.sh "$scratch/build" -L slow
finish
