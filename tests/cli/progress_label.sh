#!/usr/bin/env bash
# The progress bar of a terminal says what runs: of a scan the benchmark, of steps the placement.
. tests/lib/cli.sh
needs script

# on_terminal PATTERN COMMAND...: what the bar said, drawn over and over in one line.
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
