#!/usr/bin/env bash
# The progress bar on a terminal names what runs: the benchmark of a scan, the placement of steps. Elsewhere a line after
# a round says of how many, or how much time is left.
. tests/lib/cli.sh
without_gnuplot

for task in 'run fake -P none,sized --max-time 4' 'run fake -P none,sized --rounds 2' 'tune fake --max-time 4' \
    'ab fake -V a -V b --max-time 4'; do
    # shellcheck disable=SC2086
    "$CONTEND_FAKE" $task --workers 2 --time 0.02 --warmup 0.01 --host h --force --out "$scratch/task" > /dev/null 2> "$scratch/log"
    lines=$(grep -cE 'rounds? .*done' "$scratch/log")
    [ "$lines" -gt 0 ] || fail "$task: no line after a round: $(cat "$scratch/log")"
    [ "$lines" = "$(grep -cE 'rounds? .*done' <(grep -E ' of [0-9]+|at most [0-9]+ s left' "$scratch/log"))" ] ||
        fail "$task: neither of how many nor the time left: $(cat "$scratch/log")"
done
needs script

# on_terminal PATTERN COMMAND...: checks the text of the bar, which is redrawn in one line.
on_terminal() {
    local pattern=$1 said
    shift
    said=$(TERM=xterm timeout 100 script -qec "$(printf '%q ' "$@")" /dev/null < /dev/null | tr '\r' '\n')
    printf '%s\n' "$said" | grep -Eq -- "$pattern" ||
        fail "no /$pattern/ in the progress of: $*"$'\n'"$said"
}

on_terminal 'round 1: fakescan' "$CONTEND_FAKE" bench fakescan --rounds 1 \
    --time 0.1 --no-plots --out "$scratch/scan"
on_terminal 'round 1: none, 2 workers' "$CONTEND_FAKE" bench fake --workers 2 \
    --rounds 1 --time 0.1 --placement none --no-plots --out "$scratch/steps"
finish
