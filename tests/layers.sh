#!/usr/bin/env bash
# Who may include whom, and what pure modules may not do: the tables of harness/README.md,
# bench/README.md and kernels/README.md, and the rules below the first of them.
#
#   tests/layers.sh [ROOT]       prints each violation; exit 1 if there is one
#   tests/layers.sh --self-test  plants a violation of every rule and checks that it is caught
set -euo pipefail

self=$(readlink -f "$0")
source_root=$(dirname "$self")/..
violations=0

# sources DIR [find's condition...]: what the compilers read, below DIR.
sources() {
    [ ! -d "$1" ] || find "$@" -type f -regex '.*\.\(c\|h\|cu\|cuh\|inc\|in\)'
}

# line_of TOP: its folders in order, from the table of its README.
line_of() {
    grep -oP '^\| \d+ \| `\K[a-z]+(?=/`)' "$1/README.md"
}

# up_to TOP FOLDER: FOLDER and those above it, as alternatives of a pattern.
up_to() {
    line_of "$1" | sed "/^$2\$/q" | paste -sd'|'
}

# Rules: the lines of stdin are files, every line of theirs that breaks the rule is printed.

# may_include PATTERN: what quoted includes may begin with; system headers are free.
may_include() {
    must_not "^ *# *include +\"(?!$1)" "may include only $1"
}

# must_not PATTERN RULE: Perl's syntax; lines that are comments are left out.
must_not() {
    local hit
    while IFS= read -r hit; do
        printf '%s\n    rule: %s\n' "$hit" "$2"
        violations=$((violations + 1))
    done < <(xargs -r grep -nHP -- "$1" | grep -vP '^[^:]+:\d+: *(\*|/\*|//)')
}

# Every folder of TOP is in the table, and every folder of the table is there.
check_table() {
    local top=$1 there
    there=$(find "$top" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)
    if [ "$there" != "$(line_of "$top" | sort)" ]; then
        printf '%s/README.md: its table and the folders differ\n' "$top"
        violations=$((violations + 1))
    fi
}

check_order() {
    local folder
    for folder in $(line_of kernels); do
        may_include "kernels/($(up_to kernels "$folder"))/" < <(sources "kernels/$folder")
    done
    for folder in $(line_of bench); do
        may_include "(kernels/|bench/registry\.h\"|bench/($(up_to bench "$folder"))/|harness/($(up_to harness gpu))/)" \
            < <(sources "bench/$folder")
    done
    may_include "(bench/registry\.h\"|harness/($(up_to harness gpu))/)" \
        < <(sources bench -maxdepth 1)
    for folder in $(line_of harness); do
        may_include "(version\.h\"|harness/($(up_to harness "$folder"))/)" \
            < <(sources "harness/$folder")
    done
    may_include '(harness/cmd|harness/rules|bench)/' < <(sources harness -path 'harness/main.c')
}

check_neighbours() {
    local shows='plot, report and table do not know each other'
    must_not '"harness/(report|table)/' "$shows" < <(sources harness/plot)
    must_not '"harness/(plot|table)/' "$shows" < <(sources harness/report)
    must_not '"harness/(plot|report)/' "$shows" < <(sources harness/table)
    must_not '"harness/mpi/' "only job knows mpi, and cmd an MPI process's main" \
        < <(sources harness ! -path 'harness/mpi/*' ! -path 'harness/job/*' ! -path 'harness/cmd/*')
    must_not '"harness/mpi/(?!server\.h)' "of mpi, cmd knows an MPI process's main" \
        < <(sources harness/cmd)
    must_not '"harness/(?!(base|core|machine|plan|emit)/)' "emit knows plans, and nothing that runs" \
        < <(sources harness/emit)
    must_not '"harness/job/' "only cmd knows job" \
        < <(sources harness ! -path 'harness/job/*' ! -path 'harness/cmd/*')
}

check_owners() {
    must_not '\bexit\(' "only main.c ends the program" \
        < <(sources kernels; sources bench; sources harness ! -path 'harness/main.c')
    must_not 'include <hwloc' "hwloc stays inside machine/topo_source and topo_load" \
        < <(sources bench; sources harness ! -path 'harness/machine/topo_source.*' \
            ! -path 'harness/machine/topo_load.c')
    must_not 'include <jansson' "jansson stays inside json and store" \
        < <(sources bench; sources harness ! -path 'harness/json/*' ! -path 'harness/store/*')
    must_not 'include <mpi\.h' "MPI stays inside mpi/contend_mpi.c" \
        < <(sources kernels; sources bench; sources harness ! -path 'harness/mpi/contend_mpi.c')
    must_not 'include <numaif' "memory policies are a worker's" \
        < <(sources kernels; sources harness ! -path 'harness/worker/*')
    must_not '\b(kill|killpg|tg?kill|raise|sigqueue|pthread_kill)\(|pidfd_send_signal' \
        "only sys/process.c signals processes" < <(beside_process)
    must_not '(?<!->)\b(waitpid|wait[34]?|waitid)\(' "only sys/process.c waits for processes" \
        < <(beside_process)
    must_not '\b(v?fork|clone3?|posix_spawnp?|popen|system)\(' \
        "only sys/process.c starts processes" < <(beside_process)
}

# What starts processes in order to time that has to do it itself.
beside_process() {
    sources kernels
    sources bench ! -path 'bench/os/spawn_ways.c'
    sources harness ! -path 'harness/sys/process.c'
}

check_pure() {
    must_not '<(unistd|fcntl|time|hwloc|jansson|sys/[a-z]+)\.h>' "pure: knows no system" < <(pure)
    must_not '\b(f?open|openat|popen|read|write|f?close|fread|fwrite|v?f?printf|f?puts|f?putc)\(' \
        "pure: no files, no output" < <(pure)
    must_not '\b(getenv|time|clock|clock_\w+|s?rand|random|log_\w+)\(' \
        "pure: depends on its arguments alone" < <(pure)
}

# By folder; text prints, opt and cli print help, options parses, scans and probes run, and of doctor
# the view and the checks are meant.
pure() {
    sources harness/base ! -name 'text.*' ! -name 'opt.*' ! -name 'cli.*'
    sources harness/plan ! -name 'options.*'
    sources harness/emit
    sources harness/rows
    sources harness/compare
    sources harness/judge
    sources harness/search
    sources harness/rules
    sources harness/fleet
    sources harness/discover ! -name 'scans.*' ! -name 'probes.*'
    sources harness/doctor -regex '.*/\(view\|check\).*'
}

check() {
    local top
    for top in kernels bench harness; do
        check_table "$top"
    done
    check_order
    check_neighbours
    check_owners
    check_pure
}

# A tree in which all is right: every folder of the tables, with one file.
make_tree() {
    local top folder
    for top in kernels bench harness; do
        mkdir -p "$1/$top"
        cp "$source_root/$top/README.md" "$1/$top/"
        for folder in $(cd "$source_root" && line_of "$top"); do
            mkdir -p "$1/$top/$folder"
            printf '/* exit( is only spoken of */\n#include "%s/%s/a.h"\n' "$top" "$folder" \
                >"$1/$top/$folder/a.c"
        done
    done
    printf '#include "bench/registry.h"\n#include "harness/core/bench.h"\n' >"$1/bench/b.c"
    printf '#include "bench/registry.h"\n#include "harness/cmd/c.h"\nexit(code);\n' \
        >"$1/harness/main.c"
    printf 'snprintf(text, size, "x");\n' >>"$1/harness/plan/a.c"
    printf '#include <jansson.h>\n' >>"$1/harness/store/a.c"
    printf 'kill(pid, 9);\nwaitpid(pid, &status, 0);\npid = fork();\n' >"$1/harness/sys/process.c"
}

# planted FILE LINE: that line, in the tree where all else is right, must be told as a violation.
planted() {
    printf '%s\n' "$2" >>"$scratch/tree/$1"
    printf '%s:%s:%s\n' "$1" "$(wc -l <"$scratch/tree/$1")" "$2" >>"$scratch/planted"
}

# Each folder of TOP includes its neighbour below.
plant_neighbours() {
    local before='' folder
    for folder in $(cd "$source_root" && line_of "$1"); do
        [ -z "$before" ] || planted "$1/$before/a.c" "#include \"$1/$folder/a.h\""
        before=$folder
    done
}

self_test() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    make_tree "$scratch/tree"
    "$self" "$scratch/tree" || { echo "a tree without violations is refused" && exit 1; }
    plant_neighbours kernels
    plant_neighbours bench
    plant_neighbours harness
    planted kernels/cpu/a.c '#include "harness/base/err.h"'
    planted kernels/gpu/a.cu '#include "bench/device/device.h"'
    planted bench/gpu/a.c '#include "harness/plan/plan.h"'
    planted bench/b.c '#include "bench/gpu/gpu.h"'
    planted harness/core/a.h '# include "kernels/prep/prep.h"'
    planted harness/run/a.c '#include "bench/registry.h"'
    planted harness/main.c '#include "kernels/prep/prep.h"'
    planted harness/main.c '#include "harness/run/run.h"'
    planted harness/table/a.c '#include "harness/plot/dat.h"'
    planted harness/table/a.c '#include "harness/report/html.h"'
    planted harness/report/a.c '#include "harness/plot/dat.h"'
    planted harness/discover/a.c '#include "harness/mpi/client.h"'
    planted harness/cmd/a.c '#include "harness/mpi/client.h"'
    planted harness/emit/a.c '#include "harness/sys/file.h"'
    planted harness/emit/a.c '    puts("x");'
    planted harness/rows/a.c '#include "harness/job/job.h"'
    planted harness/run/a.c '    exit(1);'
    planted harness/run/a.c '#include <hwloc.h>'
    planted harness/cmd/a.c '#include <jansson.h>'
    planted harness/job/a.c '#include <mpi.h>'
    planted harness/machine/a.c '#include <numaif.h>'
    planted harness/plan/a.c '    fprintf(stderr, "x");'
    planted harness/base/a.c '#include <unistd.h>'
    planted harness/base/a.c '    FILE *file = fopen(path, "r");'
    planted harness/doctor/check.c '#include <unistd.h>'
    planted harness/rows/a.c '    x = rand();'
    planted harness/judge/a.c '    puts("x");'
    planted harness/discover/a.c '    log_warn("x");'
    planted harness/worker/a.c '    (void)kill(-pid, SIGKILL);'
    planted harness/mpi/a.c '    (void)killpg(pid, SIGKILL);'
    planted bench/b.c '    raise(SIGTERM);'
    planted harness/run/a.c '    rc = (int)syscall(SYS_pidfd_send_signal, fd, 9, NULL, 0);'
    planted harness/plot/a.c '    while (waitpid(pid, &status, 0) < 0)'
    planted harness/plot/a.c '    (void)wait4(pid, &status, 0, &usage);'
    planted harness/run/a.c '    (void)waitid(P_PIDFD, fd, &info, WEXITED);'
    planted harness/run/a.c '    pid = fork();'
    planted bench/b.c '    rc = posix_spawn(&pid, path, NULL, NULL, arguments, environ);'
    planted harness/run/a.c '    FILE *out = popen(line, "r");'
    mkdir "$scratch/tree/harness/attic"
    echo 'harness/README.md: its table and the folders differ' >>"$scratch/planted"
    "$self" "$scratch/tree" >"$scratch/told" && exit 1
    while IFS= read -r plant; do
        grep -qxF -- "$plant" "$scratch/told" || { echo "not caught: $plant" && exit 1; }
    done <"$scratch/planted"
    echo "all $(wc -l <"$scratch/planted") planted violations are caught"
}

if [ "${1:-}" = --self-test ]; then
    self_test
    exit
fi
cd "${1:-$(dirname "$0")/..}"
check
[ "$violations" = 0 ] || { echo "$violations violations of the layers" && exit 1; }
