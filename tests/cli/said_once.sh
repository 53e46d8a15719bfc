#!/usr/bin/env bash
# Why nothing of a scenario can be measured stands once in its table, and in that of its report.
. tests/lib/cli.sh
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

once() { # once PATTERN COMMAND...: lines of stdout
    local n
    n=$("${@:2}" 2>/dev/null </dev/null | grep -Ec -- "$1")
    [ "$n" = 1 ] || fail "/$1/ in $n lines of: ${*:2}"
}
expect 3 'nothing was measured' "$CONTEND_BINARY" run allreduce --workers 2 --rounds 1 --no-plots \
    --out "$scratch/run"
once ' skipped: worker [01]: ' "$CONTEND_BINARY" report "$scratch/run"
once '^- collective: skipped: worker [01]: no GPU' "$CONTEND_BINARY" run allreduce --workers 2 \
    --rounds 1 --no-plots --out "$scratch/again"
[ "$(grep -c ',skipped,' "$scratch/run/rows.csv")" -gt 4 ] || fail "$(cat "$scratch/run/rows.csv")"
finish
