#!/usr/bin/env bash
# Plants one fault after another in a copy of the source tree, and prints which test catches it. Exit 1: no test of the
# quick lane catches a fault; 2: a fault cannot be planted or built.
#
#   tests/planted.sh [MODULE...]    all faults, or those of these modules
#
# The copy and its build are kept in build/planted, so that each fault rebuilds only the files that it affects.
set -euo pipefail
cd "$(dirname "$0")/.."

# module | file | edit by sed | test that should catch it (tried first) | the fault
faults() {
    cat <<'EOF'
lib|harness/lib/stats.c|s/(double)(n - 1) \* fraction/(double)n * fraction/|lib/test_stats|percentile of n, not of n - 1
lib|harness/lib/text.c|s/{"us", 1e-6}/{"us", 1e-3}/|lib/test_units|microseconds read as milliseconds
lib|harness/lib/stats.c|s/-(df + 1) \/ 2 \*/-df \/ 2 */|lib/test_student|a degree of freedom lost
bench|bench/gpu/gpu_set.c|s/fmax(slice_s/fmin(slice_s/|bench/test_overlap|GPUs settle for less than 0.1 s
cmd|harness/cmd/common/start.c|s/\.\.\/share\/contend/..\/share/|cmd/test_program|files of an installation sought elsewhere
comms|harness/comms/total.c|s/gpu->slot + 1/gpu->slot/|comms/test_total|GPUs of a process counted from 0
verdict|harness/verdict/runs/compare.c|s/"lower") ? -1 : 1/"lower") ? 1 : -1/|verdict/test_compare|sign of what is better when lower
verdict|harness/verdict/runs/compare.c|s/COMPARE_ERROR \/ fmax(measurements, 1)/COMPARE_ERROR/|verdict/test_compare_rates|each measurement has the whole error rate
verdict|harness/verdict/evidence.h|s/\(RUN_SPREAD_BEFORE\) 0.03/\1 0.003/|verdict/test_compare_rates|spread between runs is a tenth
doctor|harness/doctor/checks/checks_quota.c|s/threads > granted/threads >= granted/|doctor/test_checks|a team that fits its quota is too large
doctor|harness/doctor/checks/checks_ranks.c|s/process->spins - process->calls/process->spins/|doctor/test_ranks|ranks that yield count as polling
validate|harness/validate/bounds.c|s/1 - BOUNDS_MOST/0.01/|validate/test_fleet_judge|a bad batch widens its own bounds
record|harness/show/json/result_json.c|s/of(object, "low")/of(object, "high")/|record/test_comparison_json|lower end read from the upper one
verdict|harness/verdict/outlier.c|s/4 \* nlow > n/4 * nlow >= n/|verdict/test_outlier|a quarter that is slow is a group
kernels|kernels/matmul/gpu_matmul_freivalds.c|s/sums->worst <= allowed/sums->worst <= limit/|kernels/test_freivalds|products judged by the loose limit only
machine|harness/machine/env.c|s/NULL, 10) < threads/NULL, 10) <= threads/|machine/test_openmp|a thread limit that is enough is noted
plan|harness/plan/slices.c|s/a->llc == b->llc/a->package == b->package/|plan/test_plan_golden|slices by package, not by cache
show|harness/show/export.c|s/"low", finding->low/"low", finding->high/|show/test_junit|upper end printed as the lower one
record|harness/record/analysis.c|s/arm->plan.status == PLAN_OK)/true)/|record/test_scaling|plans that were skipped are in the curves
verdict|harness/verdict/runs/sizing.c|s/first + 3/first + 4/|verdict/test_sizing|three points have no knee
verdict|harness/verdict/runs/halving.c|s/round\[other\] - round\[arm\]/round[arm] - round[other]/|verdict/test_halving|the slower half is kept
record|harness/record/csv.c|s/if (\*text == '"')/if (*text == '\\'')/|record/test_csv|quotes in CSV are not doubled
cmd|harness/cmd/session/run_dir.c|s/return rc ? rc : directory_publish/return directory_publish/|cmd/test_run_dir|a record that was not written is published
machine|harness/lib/sys/cgroup.c|s/? quota_us \/ period_us/? period_us \/ quota_us/|machine/test_env|quota and period swapped
show|harness/show/scans.c|s/rest = dims_without(&rest, by_size);//|show/test_retention|a size is said twice
engine|harness/engine/worker/usage.c|s/times.oncpu_ns \* 1e-9/times.oncpu_ns * 1e-6/|engine/test_usage|helper threads in milliseconds
EOF
}

copy=$PWD/build/planted build=build/release
# Files that differ get a new time, so that no fault of an interrupted run stays in the build.
fresh_copy() {
    local file
    mkdir -p "$copy"
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
        cmp -s "$file" "$copy/$file" || cp --parents "$file" "$copy"
    done
    find "$copy" -path "$copy/build" -prune -o -type f -printf '%P\0' | while IFS= read -r -d '' file; do
        [ -e "$file" ] || rm "$copy/$file"
    done
    (cd "$copy" && cmake --preset release -DCONTEND_TESTS=ON -DCONTEND_CUDA=OFF) > "$copy.log" 2>&1
}

# Builds a target and runs tests until one fails. Prints that test's name, or nothing. The log is build/planted.log.
try() {
    local target=$1
    shift
    if ! nice cmake --build "$copy/$build" --target "$target" > "$copy.log" 2>&1; then
        tail -n 20 "$copy.log" >&2
        return 2
    fi
    nice ctest --test-dir "$copy/$build" --stop-on-failure "$@" > "$copy.log" 2>&1 ||
        awk '/^The following tests FAILED/ { list = 1; next } list { print $3; exit }' "$copy.log"
}

# Prints the first test that fails, or nothing.
catcher() {
    local first=$1 caught name
    name=${first#*/}
    if [[ " $alone " == *" $name "* ]]; then target=$name; else target=units_${first%/*}; fi
    caught=$(try "$target" -R "^$name\$") || return
    [ -n "$caught" ] || caught=$(try all -L unit) || return
    [ -n "$caught" ] || caught=$(try all -L cli -LE 'long|slow') || return
    echo "$caught"
}

fresh_copy
alone=$(sed -n 's/^set(alone \(.*\))$/\1/p' tests/CMakeLists.txt)
status=0
while IFS='|' read -r module file edit first fault; do
    [ $# = 0 ] || [[ " $* " == *" $module "* ]] || continue
    sed "$edit" "$file" > "$copy/$file"
    if cmp -s "$file" "$copy/$file"; then
        echo "$file: nothing to edit with '$edit'" >&2
        exit 2
    fi
    if ! caught=$(catcher "$first" < /dev/null); then
        echo "$file: does not build with '$edit'" >&2
        exit 2
    fi
    printf '%-9s%-46s%s\n' "$module" "$fault" "${caught:+caught by }${caught:-NOT CAUGHT}"
    [ -n "$caught" ] || status=1
    cp "$file" "$copy/$file"
    if [ -n "$caught" ] && [ "$caught" != "${first#*/}" ] && [ "$(try all -R "^$caught\$" < /dev/null)" ]; then
        echo "$caught fails without the fault, too" >&2
        exit 2
    fi
done < <(faults)
exit "$status"
