#!/usr/bin/env bash
# Who may include whom, and what pure modules may not do (DESIGN.md, "Layout").
#
#   tests/layers.sh [ROOT]       prints each violation; exit 1 if there is one
#   tests/layers.sh --self-test  plants a violation of every rule and checks that it is caught
set -euo pipefail

self=$(readlink -f "$0")
violations=0

# sources DIR [find's condition...]: what the compilers read, below DIR.
sources() {
    [ ! -d "$1" ] || find "$@" -type f -regex '.*\.\(c\|h\|cu\|cuh\|inc\|in\)'
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

check() {
    may_include 'kernels/' < <(sources kernels)
    may_include 'harness/core/' < <(sources harness/core)
    may_include '(kernels|bench|harness/core)/' < <(sources bench)
    may_include '(harness/|version\.h")' < <(sources harness ! -path 'harness/main.c')
    may_include '(harness|bench)/' < <(sources harness -path 'harness/main.c')

    must_not '\bexit\(' "only main.c ends the program" \
        < <(sources kernels; sources bench; sources harness ! -path 'harness/main.c')
    must_not '\b(kill|killpg|tg?kill|raise|sigqueue|pthread_kill)\(|pidfd_send_signal' \
        "only process.c signals processes" < <(beside_process)
    must_not '(?<!->)\b(waitpid|wait[34]?|waitid)\(' "only process.c waits for processes" < <(beside_process)
    must_not '\b(v?fork|clone3?|posix_spawnp?|popen|system)\(' "only process.c starts processes" \
        < <(beside_process)
    must_not 'include <hwloc' "hwloc stays inside topo" \
        < <(sources bench; sources harness ! -path 'harness/topo*')

    must_not '<(unistd|fcntl|time|hwloc|jansson|sys/[a-z]+)\.h>' "pure: knows no system" < <(pure)
    must_not '\b(f?open|openat|popen|read|write|f?close|fread|fwrite|v?f?printf|f?puts|f?putc)\(' \
        "pure: no files, no output" < <(pure)
    must_not '\b(getenv|time|clock|clock_\w+|s?rand|random|log_\w+)\(' \
        "pure: depends on its arguments alone" < <(pure)
}

beside_process() {
    sources kernels
    sources bench
    sources harness ! -path 'harness/process.c'
}

# plan_options parses and plan_json prints; the rest of the plan, and what reads results, only compute.
pure() {
    sources harness -regex 'harness/\(plan\|plan_[a-z_]+\|arms\|baseline\|measured\|measured_[a-z]+\|metric\|stats\|summary\|compare\|symmetry\|symmetry_rows\|gpu_judge\)\.c' \
        ! -name plan_options.c ! -name plan_json.c
}

# planted FILE LINE: that line, in a tree where all else is right, must be the one violation.
planted() {
    local tree=$scratch/$((++plants))
    mkdir -p "$tree"/{kernels,bench,harness/core} "$tree/$(dirname "$1")"
    printf '/* exit( is only spoken of */\n#include "kernels/a.h"\n' >"$tree/kernels/a.c"
    printf '#include "bench/b.h"\n#include "harness/core/err.h"\n' >"$tree/bench/b.c"
    printf '#include "harness/run.h"\n#include "version.h"\n' >"$tree/harness/run.c"
    printf '#include "bench/registry.h"\nexit(code);\n' >"$tree/harness/main.c"
    printf 'kill(pid, 9);\nwaitpid(pid, &status, 0);\npid = fork();\n' >"$tree/harness/process.c"
    printf '#include <stdio.h>\nsnprintf(text, size, "x");\n' >"$tree/harness/plan.c"
    "$self" "$tree" >/dev/null || { echo "a tree without violations is refused" && exit 1; }
    printf '%s\n' "$2" >>"$tree/$1"
    if "$self" "$tree" >/dev/null; then
        echo "not caught: $2 in $1"
        exit 1
    fi
}

self_test() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    plants=0
    planted kernels/a.c '#include "harness/core/err.h"'
    planted kernels/a.cu '#include "bench/device.h"'
    planted harness/core/err.c '#include "harness/plan.h"'
    planted harness/core/opt.h '# include "kernels/prep.h"'
    planted bench/b.c '#include "harness/plan.h"'
    planted bench/deep/b.c '#include "harness/run.h"'
    planted harness/run.c '#include "bench/registry.h"'
    planted harness/monitor/nccl.c '#include "kernels/prep.h"'
    planted harness/main.c '#include "kernels/prep.h"'
    planted harness/run.c '    exit(1);'
    planted harness/launch.c '    (void)kill(-pid, SIGKILL);'
    planted harness/mpi/mpi_client.c '    (void)killpg(pid, SIGKILL);'
    planted bench/b.c '    raise(SIGTERM);'
    planted harness/run.c '    rc = (int)syscall(SYS_pidfd_send_signal, fd, 9, NULL, 0);'
    planted harness/gnuplot.c '    while (waitpid(pid, &status, 0) < 0)'
    planted harness/gnuplot.c '    (void)wait4(pid, &status, 0, &usage);'
    planted harness/run.c '    (void)waitid(P_PIDFD, fd, &info, WEXITED);'
    planted harness/run.h '    pid = fork();'
    planted harness/run.c '    FILE *out = popen(line, "r");'
    planted harness/run.c '#include <hwloc.h>'
    planted harness/plan_units.c '    fprintf(stderr, "x");'
    planted harness/stats.c '#include <unistd.h>'
    planted harness/stats.c '    FILE *file = fopen(path, "r");'
    planted harness/summary.c '    x = rand();'
    planted harness/symmetry_rows.c '    puts("x");'
    echo "all $plants planted violations are caught"
}

if [ "${1:-}" = --self-test ]; then
    self_test
    exit
fi
cd "${1:-$(dirname "$0")/..}"
check
[ "$violations" = 0 ] || { echo "$violations violations of the layers" && exit 1; }
