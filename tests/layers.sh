#!/usr/bin/env bash
# Checks which folder may include which, and what pure modules may not do: the tables of harness/README.md,
# bench/README.md and kernels/README.md, and the rules below the first of these tables.
#
#   tests/layers.sh [ROOT]       prints each violation; exit 1 if there is one
#   tests/layers.sh --self-test  plants a violation of every rule and checks that it is caught
set -euo pipefail

self=$(readlink -f "$0")
source_root=$(dirname "$self")/..
violations=0

# sources DIR [find's condition...]: files below DIR that the compilers read.
sources() {
    [ ! -d "$1" ] || find "$@" -type f -regex '.*\.\(c\|h\|cu\|cuh\|inc\|in\)'
}

# line_of TOP: the folders of TOP in order, from the table of its README.
line_of() {
    grep -oP '^\| \d+ \| `\K[a-z/]+(?=/`)' "$1/README.md"
}

# tools and parts_of TOOL: tools and a tool's folders in order, from the second table of harness/README.md.
tools() {
    grep -oP '^\| [a-z]+ \| `\K[a-z]+(?=/`)' harness/README.md
}
parts_of() {
    grep -oP "^\\| [a-z]+ \\| \`\\K$1(/[a-z]+)?(?=/\`)" harness/README.md
}

# up_to FOLDER: reads folders from stdin and prints those up to FOLDER, as alternatives of a pattern.
up_to() {
    sed "\|^$1\$|q" | paste -sd'|'
}

# Rules: each reads file names from stdin, and prints every line of these files that breaks it.

# may_include PATTERN: the allowed beginnings of quoted includes; system headers are free.
may_include() {
    must_not "^ *# *include +\"(?!$1)" "may include only $1"
}

# must_not PATTERN RULE: PATTERN in Perl's syntax; comment lines do not count.
must_not() {
    local hit
    while IFS= read -r hit; do
        printf '%s\n    rule: %s\n' "$hit" "$2"
        violations=$((violations + 1))
    done < <(xargs -r grep -nHP -- "$1" | grep -vP '^[^:]+:\d+: *(\*|/\*|//)')
}

# harness/ has two floors, and no folder of it more than 25 files.
check_size() {
    local folder
    for folder in $(line_of harness && tools_of harness); do
        [ "$(sources "harness/$folder" -maxdepth 1 | wc -l)" -gt 25 ] || continue
        printf 'harness/%s: more than 25 files\n' "$folder"
        violations=$((violations + 1))
    done
    must_not '^' "harness/ has two floors" < <(sources harness -mindepth 4)
}

# Every folder of TOP with sources must be in the tables, and every folder of the tables must exist.
check_table() {
    local top=$1 there
    there=$(sources "$top" -mindepth 2 ! -name main.c | sed "s|^$top/||; s|/[^/]*$||" | sort -u)
    if [ "$there" != "$({ line_of "$top" && tools_of "$top"; } | sort)" ]; then
        printf '%s/README.md: its table and the folders differ\n' "$top"
        violations=$((violations + 1))
    fi
}

tools_of() {
    [ "$1" != harness ] || for tool in $(tools); do parts_of "$tool"; done
}

check_order() {
    local folder tool below_bench='harness/((lib|lib/sys|engine/contract)/[^/]+"|machine/gpu_)'
    for folder in $(line_of kernels); do
        may_include "(harness/lib/err\.h\"|kernels/($(line_of kernels | up_to "$folder"))/[^/]+\")" \
            < <(sources "kernels/$folder" -maxdepth 1)
    done
    for folder in $(line_of bench); do
        may_include "(kernels/|bench/registry\.h\"|bench/($(line_of bench | up_to "$folder"))/[^/]+\"|$below_bench)" \
            < <(sources "bench/$folder" -maxdepth 1)
    done
    may_include "(bench/registry\.h\"|$below_bench)" \
        < <(sources bench -maxdepth 1)
    for folder in $(line_of harness); do
        may_include "(version\.h\"|harness/($(line_of harness | up_to "$folder"))/[^/]+\")" \
            < <(sources "harness/$folder" -maxdepth 1)
    done
    for tool in $(tools); do
        for folder in $(parts_of "$tool"); do
            may_include "(version\.h\"|harness/($(line_of harness | up_to cmd/common)|$(parts_of "$tool" | up_to "$folder"))/[^/]+\")" \
                < <(sources "harness/$folder" -maxdepth 1 ! -name main.c)
        done
    done
    may_include '(harness/cmd|harness/validate/rules|bench)/' < <(sources harness -path 'harness/main.c')
    may_include '(harness/cmd/common|bench)/' < <(sources harness -path 'harness/*/main.c')
    may_include 'harness/cmd/common/' < <(sources harness -path 'harness/commands.c')
}

check_neighbours() {
    local shows='figures do not know what people read, nor the other way round'
    must_not '"harness/show/json/' "$shows" < <(sources harness/show/figures)
    must_not '"harness/show/figures/' "$shows" < <(sources harness/show ! -path '*/figures/*')
    must_not '"harness/(?!(lib|machine|plan)/)|"harness/lib/sys/' "emit knows plans, and nothing that runs" \
        < <(sources harness/plan/emit)
}

check_owners() {
    must_not '\bexit\(' "only main.c ends the program" \
        < <(sources kernels; sources bench; sources harness ! -path 'harness/main.c' ! -path 'harness/*/main.c')
    must_not 'include <hwloc' "hwloc stays inside machine/topo_source and topo_load" \
        < <(sources bench; sources harness ! -path 'harness/machine/topo_source.*' \
            ! -path 'harness/machine/topo_load.c')
    must_not 'include <jansson' "jansson stays inside record, show/json, run_dir and the JSON of tools" \
        < <(sources bench; sources harness ! -path 'harness/record/*' ! -path 'harness/*json*' \
            ! -path 'harness/cmd/session/run_dir.*' ! -path 'harness/validate/files.*')
    must_not 'include <mpi\.h' "MPI stays inside bench/collective/contend_mpi.c" \
        < <(sources kernels; sources bench ! -path 'bench/collective/contend_mpi.c'; sources harness)
    must_not '\blisten\(' "only bench/io/event_loop.c opens a port" \
        < <(sources kernels; sources bench ! -path 'bench/io/event_loop.c'; sources harness)
    must_not 'include <numaif' "memory policies are a worker's" \
        < <(sources kernels; sources harness ! -path 'harness/engine/worker/*')
    must_not '\b(kill|killpg|tg?kill|raise|sigqueue|pthread_kill)\(|pidfd_send_signal' \
        "only lib/sys/process.c signals processes" < <(beside_process)
    must_not '(?<!->)\b(waitpid|wait[34]?|waitid)\(' "only lib/sys/process.c waits for processes" \
        < <(beside_process)
    must_not '\b(v?fork|clone3?|posix_spawnp?|popen|system)\(' \
        "only lib/sys/process.c starts processes" < <(beside_process)
}

# All sources but lib/sys/process.c, and but the benchmark that has to start processes itself to time them.
beside_process() {
    sources kernels
    sources bench ! -path 'bench/os/spawn_ways.c'
    sources harness ! -path 'harness/lib/sys/process.c'
}

check_pure() {
    must_not '<(unistd|fcntl|time|hwloc|jansson|sys/[a-z]+)\.h>' "pure: knows no system" < <(pure)
    must_not '\b(f?open|openat|popen|read|write|f?close|fread|fwrite|v?f?printf|f?puts|f?putc)\(' \
        "pure: no files, no output" < <(pure)
    must_not '\b(getenv|time|clock|clock_\w+|s?rand|random|log_\w+)\(' \
        "pure: depends on its arguments alone" < <(pure)
}

# The pure folders, and the pure files of others. Exceptions: text prints, opt prints help, options parses.
pure() {
    sources harness/lib -maxdepth 1 ! -name 'text.*' ! -name 'opt.*'
    sources harness/plan ! -name 'options.*'
    sources harness/record | grep -E '/(analysis|format|grid|metric|rounds|row|values)\.' || true
    sources harness/verdict
    sources harness/validate/rules
    sources harness/validate -maxdepth 1 | grep -E '/(bounds|fleet|intern|judge)\.' || true
    sources harness/doctor/reader -name 'view.*'
    sources harness/doctor/checks ! -name 'live.*'
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
    check_size
}

# Makes a tree that breaks no rule: every folder of the tables, with one file.
make_tree() {
    local top folder
    for top in kernels bench harness; do
        mkdir -p "$1/$top"
        cp "$source_root/$top/README.md" "$1/$top/"
        for folder in $(cd "$source_root" && line_of "$top" && tools_of "$top"); do
            mkdir -p "$1/$top/$folder"
            printf '/* exit( is only spoken of */\n#include "%s/%s/a.h"\n' "$top" "$folder" \
                >"$1/$top/$folder/a.c"
        done
    done
    printf '#include "bench/registry.h"\n#include "harness/engine/contract/bench.h"\n' >"$1/bench/b.c"
    printf '#include "bench/registry.h"\n#include "harness/cmd/c.h"\nexit(code);\n' \
        >"$1/harness/main.c"
    printf '#include "bench/registry.h"\n#include "harness/cmd/common/c.h"\nexit(code);\n' \
        >"$1/harness/doctor/main.c"
    printf '#include "harness/cmd/common/c.h"\n' >"$1/harness/commands.c"
    printf 'snprintf(text, size, "x");\n' >>"$1/harness/plan/a.c"
    printf '#include <jansson.h>\n' >>"$1/harness/record/a.c"
    printf 'kill(pid, 9);\nwaitpid(pid, &status, 0);\npid = fork();\n' >"$1/harness/lib/sys/process.c"
}

# planted FILE LINE: appends LINE, which the check must report as a violation, to a file of the correct tree.
planted() {
    printf '%s\n' "$2" >>"$scratch/tree/$1"
    printf '%s:%s:%s\n' "$1" "$(wc -l <"$scratch/tree/$1")" "$2" >>"$scratch/planted"
}

# In each folder of TOP, includes the next folder of the table.
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
    planted kernels/cpu/a.c '#include "harness/lib/text.h"'
    planted kernels/gpu/a.cu '#include "bench/device/device.h"'
    planted bench/gpu/a.c '#include "harness/plan/plan.h"'
    planted bench/gpu/a.c '#include "harness/machine/topo.h"'
    planted bench/b.c '#include "bench/gpu/gpu.h"'
    planted harness/engine/contract/a.h '# include "kernels/prep/prep.h"'
    planted harness/engine/a.c '#include "bench/registry.h"'
    planted harness/cmd/a.c '#include "harness/doctor/reader/view.h"'
    planted harness/doctor/a.c '#include "harness/comms/total.h"'
    planted harness/doctor/a.c '#include "harness/cmd/session/session.h"'
    planted harness/comms/plugin/a.c '#include "harness/comms/total.h"'
    planted harness/main.c '#include "kernels/prep/prep.h"'
    planted harness/main.c '#include "harness/engine/run.h"'
    planted harness/doctor/main.c '#include "harness/doctor/reader/view.h"'
    planted harness/commands.c '#include "harness/doctor/options.h"'
    planted harness/show/a.c '#include "harness/show/figures/dat.h"'
    planted harness/show/json/a.c '#include "harness/show/figures/dat.h"'
    planted harness/plan/emit/a.c '#include "harness/lib/sys/file.h"'
    planted harness/plan/emit/a.c '    puts("x");'
    planted harness/engine/a.c '    exit(1);'
    planted harness/engine/a.c '#include <hwloc.h>'
    planted harness/cmd/a.c '#include <jansson.h>'
    planted harness/engine/b.c '#include <mpi.h>'
    planted harness/engine/b.c '    rc = listen(fd, 8);'
    planted harness/machine/a.c '#include <numaif.h>'
    planted harness/plan/a.c '    fprintf(stderr, "x");'
    planted harness/lib/a.c '#include <unistd.h>'
    planted harness/lib/a.c '    FILE *file = fopen(path, "r");'
    planted harness/doctor/checks/check.c '#include <unistd.h>'
    planted harness/record/row.c '    x = rand();'
    planted harness/verdict/a.c '    puts("x");'
    planted harness/engine/worker/a.c '    (void)kill(-pid, SIGKILL);'
    planted harness/engine/b.c '    (void)killpg(pid, SIGKILL);'
    planted bench/b.c '    raise(SIGTERM);'
    planted harness/engine/a.c '    rc = (int)syscall(SYS_pidfd_send_signal, fd, 9, NULL, 0);'
    planted harness/show/figures/a.c '    while (waitpid(pid, &status, 0) < 0)'
    planted harness/show/figures/a.c '    (void)wait4(pid, &status, 0, &usage);'
    planted harness/engine/a.c '    (void)waitid(P_PIDFD, fd, &info, WEXITED);'
    planted harness/engine/a.c '    pid = fork();'
    planted bench/b.c '    rc = posix_spawn(&pid, path, NULL, NULL, arguments, environ);'
    planted harness/engine/a.c '    FILE *out = popen(line, "r");'
    touch "$scratch/tree/harness/plan/"{b..z}.c
    echo 'harness/plan: more than 25 files' >>"$scratch/planted"
    mkdir -p "$scratch/tree/harness/plan/emit/attic"
    planted harness/plan/emit/attic/a.c 'int x;'
    mkdir "$scratch/tree/harness/attic"
    : >"$scratch/tree/harness/attic/a.c"
    echo 'harness/README.md: its table and the folders differ' >>"$scratch/planted"
    "$self" "$scratch/tree" >"$scratch/caught" && exit 1
    while IFS= read -r plant; do
        grep -qxF -- "$plant" "$scratch/caught" || { echo "not caught: $plant" && exit 1; }
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
