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
# GPUs of other vendors alone: which are there, and what is measured, on stderr.
"$CONTEND_MACHINE_XML" sixteen_gpus | sed 's/0302 \[10de:/0380 [1002:/' >"$scratch/amd.xml"
for words in 'run --dry-run' 'run gpu --dry-run' 'run all --dry-run' place; do
    # shellcheck disable=SC2086
    said=$(HWLOC_XMLFILE=$scratch/amd.xml HWLOC_THISSYSTEM=1 taskset -c 0-1 "$CONTEND_BINARY" $words 2>&1)
    [ "$(grep -c "16 AMD GPUs are there; contend measures NVIDIA's$" <<<"$said")" = 1 ] || fail "$words: $said"
done
[ "$(grep -c ',skipped,' "$scratch/run/rows.csv")" -gt 4 ] || fail "$(cat "$scratch/run/rows.csv")"
finish
