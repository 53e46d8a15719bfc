#!/usr/bin/env bash
# A round costs as much at the end of a long run as at its start: what a run writes grows with its rounds, not their square.
. tests/lib/cli.sh

written() { # written ROUNDS: bytes that such a run and its workers wrote
    bash -c '"$@" </dev/null >/dev/null 2>"$0"
        while read -r name count; do [ "$name" != wchar: ] || echo "$count"; done </proc/$$/io' "$scratch/log" \
        "$CONTEND_FAKE" ab fake -V a -V b -n 1 --rounds "$1" --time 0.01 --warmup 0.01 -p step=0.1ms -o "$scratch/$1"
}
few=$(written 32)
many=$(written 128)
[ -n "$few" ] && [ -n "$many" ] || fail "no count: $(cat "$scratch/log")"
[ "$many" -lt $((6 * few)) ] || fail "$few bytes in 32 rounds, $many in 128"
[ "$(cut -d, -f12 "$scratch/128/rounds.csv" | sort -un | tail -n 1)" = 127 ] || fail "not 128 rounds"
finish
