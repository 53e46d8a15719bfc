#!/usr/bin/env bash
# Scans draw a new order of their points in each round; the same --seed gives the same orders.
. tests/lib/cli.sh

drawn() { # drawn DIR SEED: a line a round
    expect 0 . "$CONTEND_FAKE" bench fakeorder --rounds 3 --time 0.1 --no-plots --seed "$2" \
        --out "$scratch/$1"
    columns "$scratch/$1/rounds.csv" metric round value | grep '^drawn,' > "$scratch/$1.drawn"
    [ "$(wc -l < "$scratch/$1.drawn")" = 3 ] || fail "$1: not three rounds"
}

drawn first 5
drawn again 5
drawn other 6
[ "$(cut -d, -f 3 "$scratch/first.drawn" | sort -u | wc -l)" = 3 ] || fail "rounds drew the same"
cmp "$scratch/first.drawn" "$scratch/again.drawn" || fail "the same seed drew something else"
! cmp -s "$scratch/first.drawn" "$scratch/other.drawn" || fail "another seed drew the same"
finish
