#!/usr/bin/env bash
# The progress bar on a terminal names what runs: the benchmark of a scan, the placement of steps.
. tests/lib/cli.sh
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
