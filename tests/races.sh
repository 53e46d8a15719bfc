#!/usr/bin/env bash
# Runs tests many times beside programs that keep every CPU busy. A test that fails there depends on the load of the
# machine, and not only on contend. Prints a table; exit 1 if a run failed. The logs of failures are in build/races.
#
#   tests/races.sh [RUNS [REGEX]]    20 runs of the tests labelled race, or of those whose names match
set -uo pipefail
cd "$(dirname "$0")/.." || exit
runs=${1:-20}
tests=(-L '^race$')
[ $# -lt 2 ] || tests=(-R "$2")
build=${CONTEND_BUILD_DIR:-build/release}
kept=build/races
mkdir -p "$kept"
mapfile -t names < <(ctest --test-dir "$build" -N "${tests[@]}" | sed -n 's/^ *Test *#[0-9]*: //p')
[ ${#names[@]} -gt 0 ] || {
    echo "no such test in $build" >&2
    exit 2
}

# Each loop ends with this script, even if the script is killed.
busy_loop() {
    # shellcheck disable=SC2016 # the inner shell's
    exec sh -c 'while kill -0 "$1" 2>/dev/null; do i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done; done' - $$
}
loops=()
trap 'kill "${loops[@]}" 2>/dev/null' EXIT
for ((i = 0; i < $(nproc); i++)); do
    busy_loop &
    loops+=($!)
done

# once NAME RUN: prints passed, failed or skipped, and the seconds that the test took.
once() {
    local log=$kept/$1.log
    ctest --test-dir "$build" --verbose -R "^$1\$" >"$log" 2>&1 </dev/null
    awk '/^ *1\/1 Test/ { print /Passed/ ? "passed" : /\*\*\*Skipped/ ? "skipped" : "failed", $(NF - 1); said = 1 }
         END { if (!said) print "failed", 0 }' "$log"
}

printf '%-28s %5s %7s %7s %8s %8s\n' test runs passed failed skipped seconds
code=0
for name in "${names[@]}"; do
    passed=0 failed=0 skipped=0 seconds=()
    for ((run = 1; run <= runs; run++)); do
        read -r outcome took < <(once "$name")
        seconds+=("$took")
        case $outcome in
        passed) passed=$((passed + 1)) ;;
        skipped) skipped=$((skipped + 1)) && mv "$kept/$name.log" "$kept/$name.skipped.log" ;;
        *) failed=$((failed + 1)) code=1 && mv "$kept/$name.log" "$kept/$name.$run.log" ;;
        esac
    done
    rm -f "$kept/$name.log"
    median=$(printf '%s\n' "${seconds[@]}" | sort -n | sed -n "$(((runs + 1) / 2))p")
    printf '%-28s %5d %7d %7d %8d %8.1f\n' "$name" "$runs" $passed $failed $skipped "$median"
done
exit $code
