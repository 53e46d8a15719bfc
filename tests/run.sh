#!/usr/bin/env bash
# Runs the tests of a build; `./contend test` calls it. At the end prints which tests were skipped, why, and the command
# that would run them, then ctest's own verdict.
#
#   tests/run.sh BUILD [ARG...]          the quick lane; with ARGs that choose tests (-R, -L), those
#   tests/run.sh BUILD --all [ARG...]    everything, in full
set -uo pipefail

build=$1
shift
# Tests spend half of their time waiting.
jobs=$(($(nproc) > 3 ? 4 : $(nproc) + 1))
# Labels that the quick lane leaves out.
slow_labels='long|slow|vm|fuzz'
lane=(--label-exclude "$slow_labels")
if [ "${1:-}" = --all ]; then
    shift
    lane=()
    export CONTEND_TRIALS=full # tests/lib/trials.h
fi
for argument in "$@"; do
    case $argument in
    -[LRIE]* | --label* | --tests-*) lane=() ;;
    esac
done
cd "$(dirname "$0")/.." || exit
. tests/packages.sh

# installable COMMAND: true if `./contend test --all` would install it.
installable() {
    test_packages | grep -Eq " (/usr/sbin/)?$1\$"
}

# remedy REASON TEST...: prints the command that would run a skipped test.
remedy() {
    local reason=$1 command=${1#needs }
    case $reason in
    "needs root"*) echo "sudo ./contend test -R '^$2\$'" ;;
    *nvcc* | *GPU* | *CUDA* | *cublas*) echo "./contend test -L gpu    # on a machine with a GPU and nvcc" ;;
    "needs "*) installable "${command%%[ ,]*}" && echo "./contend test --all" || echo "-" ;;
    *) echo "-" ;;
    esac
}

# reasons: prints "TEST<tab>REASON" for each test of $build/skipped, from the log of the run. The text after a colon is
# detail and is removed.
reasons() {
    awk 'NR == FNR { is_skipped[$1]; next }
         $2 == "Testing:" { name = $3; reason = "gives no reason" }
         sub(/^SKIP: /, "") { reason = $0; sub(/: .*/, "", reason) }
         $0 == "<end of output>" && name in is_skipped { print name "\t" substr(reason, 1, 70) }' \
        "$build/skipped" "$build/Testing/Temporary/LastTest.log"
}

# left_out: how many tests the quick lane leaves out.
left_out() {
    ctest --test-dir "$build" -N --label-regex "$slow_labels" | sed -n 's/^Total Tests: //p'
}

report() {
    local reason names
    [ -s "$build/skipped" ] || [ ${#lane[@]} -gt 0 ] || return 0
    reasons >"$build/reasons"
    printf '\nnot run:\n'
    cut -f2 "$build/reasons" | sort | uniq -c | sort -rn | while read -r count reason; do
        mapfile -t names < <(awk -F'\t' -v r="$reason" '$2 == r { print $1 }' "$build/reasons")
        printf '%5d  %s (%s)\n       %s\n' "$count" "$reason" "$(printf '%s ' "${names[@]:0:3}" | sed 's/ $//')$([ "$count" -le 3 ] || echo ' ...')" \
            "$(remedy "$reason" "${names[0]}")"
    done
    [ ${#lane[@]} -eq 0 ] || printf '%5d  not in the quick lane: they take longer\n       ./contend test --all\n' "$(left_out)"
}

# ctest's verdict, from its first line to the end, is printed after the table.
ctest --test-dir "$build" --output-on-failure --parallel "$jobs" "${lane[@]}" "$@" </dev/null | {
    : >"$build/verdict"
    : >"$build/skipped"
    held=
    while IFS= read -r line; do
        case $line in
        *'***Skipped'*) name=${line##*#} && name=${name#*: } && echo "${name%% *}" >>"$build/skipped" ;;
        [0-9]*'% tests passed'*) held=1 ;;
        esac
        if [ -n "$held" ]; then printf '%s\n' "$line" >>"$build/verdict"; else printf '%s\n' "$line"; fi
    done
}
code=${PIPESTATUS[0]}
report
if [ -s "$build/verdict" ]; then
    printf '\n'
    sed '/^The following tests did not run/,/^$/d' "$build/verdict"
fi
exit "$code"
