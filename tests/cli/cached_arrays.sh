#!/usr/bin/env bash
# Arrays that fit into caches are not reported as memory: their rows are noisy, with the reason. The
# table and the report mark them and explain it, and the run still succeeds.
. tests/lib/cli.sh

marked='bandwidth [0-9.]+ GB/s~ .*|^~ mem_bandwidth: noisy: arrays of 64 KiB below'
# says COMMAND...: the run succeeds and prints the mark and the sentence.
says() {
    expect 0 "$marked" "$@"
    [ "$("$@" 2>/dev/null | grep -Ec "$marked")" = 2 ] || fail "not both marked and said: $*"
}
says "$CONTEND_BINARY" bench mem_bandwidth -p size=64K -p op=read -p threads=1 --rounds 2 --time 0.01 \
    --no-plots --out "$scratch/run"
says "$CONTEND_BINARY" report "$scratch/run"
rows=$(columns "$scratch/run/rows.csv" metric status reason |
    grep -Ec '^bandwidth(_best)?,noisy,arrays of 64 KiB below twice the .* of last-level caches: ')
[ "$rows" = 2 ] || fail "rows: $(cat "$scratch/run/rows.csv")"
rounds=$(grep -c ',bandwidth,.*,noisy,arrays of 64 KiB below' "$scratch/run/rounds.csv")
[ "$rounds" = 2 ] || fail "rounds: $(cat "$scratch/run/rounds.csv")"
finish
