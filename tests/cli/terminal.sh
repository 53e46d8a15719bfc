#!/usr/bin/env bash
# Terminals of different widths and abilities: what is drawn, and in which colors.
. tests/lib/cli.sh
needs script stty
unset COLUMNS NO_COLOR
export TERM=xterm

# at COLUMNS COMMAND...: runs it on a terminal of that width; its output is in $scratch/seen.
at() {
    local columns=$1
    shift
    (printf 'stty cols %s || exit\n' "$columns" && printf 'exec ' && printf '%q ' "$@") >"$scratch/command"
    timeout 200 script -qec "bash $scratch/command" /dev/null </dev/null >"$scratch/seen" 2>&1 ||
        fail "exit $?: $*"$'\n'"$(cat "$scratch/seen")"
}
# bars: prints what was drawn and erased, one bar per line.
bars() {
    tr '\r' '\n' <"$scratch/seen" | sed -n 's/^\x1b\[K\(.*s left\).*/\1/p'
}
# fits COLUMNS: bars were drawn, and none reaches the last column.
fits() {
    bars | grep -q . || fail "no progress bar: $(cat -v "$scratch/seen")"
    [ -z "$(bars | grep -E ".{$1}")" ] || fail "as wide as $1 columns: $(bars)"
}
run=("$CONTEND_FAKE" run fake --placement "none,sized" --workers 2 --rounds 2 --time 0.2 --warmup 0.01
    --no-plots --out "$scratch/r" -p step=1ms)

for columns in 100 60 40 20; do
    at $columns "${run[@]}"
    fits $columns
done
at 100 env COLUMNS=40 "${run[@]}"
fits 40
at 40 env COLUMNS=100 "${run[@]}"
fits 40
at 0 env COLUMNS=50 "${run[@]}"
fits 50

# Colors, and terminals without them.
color=$'\x1b''\[[0-9]*m'
at 80 "${run[@]}"
grep -q "$color" "$scratch/seen" || fail "no colors: $(cat -v "$scratch/seen")"
at 80 env NO_COLOR= "${run[@]}"
grep -q "$color" "$scratch/seen" || fail "no colors with an empty NO_COLOR"
at 80 env NO_COLOR=1 "${run[@]}"
! grep -q "$color" "$scratch/seen" || fail "colors with NO_COLOR=1"
at 80 "$CONTEND_FAKE" report "$scratch/r"
grep -q "$color" "$scratch/seen" || fail "no colors of a report"
for without in TERM=dumb TERM= -uTERM; do
    at 80 env "$without" "${run[@]}"
    ! grep -q $'\x1b' "$scratch/seen" || fail "$without: $(cat -v "$scratch/seen")"
    grep -q 'round 1 of 2 done' "$scratch/seen" || fail "$without: no word about the rounds"
    at 80 env "$without" "$CONTEND_FAKE" report "$scratch/r"
    ! grep -q $'\x1b' "$scratch/seen" || fail "$without, report: $(cat -v "$scratch/seen")"
done

# Text is wrapped to the width of the terminal, but never wider than for a pipe.
at 60 "$CONTEND_BINARY" place --help
[ -z "$(tr -d '\r' <"$scratch/seen" | grep -E '^  .{58}')" ] || fail "in 60 columns: $(cat "$scratch/seen")"
# A wide table breaks between columns, and each part begins with the first one.
for columns in 50 40; do
    at $columns "$CONTEND_FAKE" report -v "$scratch/r"
    table=$(tr -d '\r' <"$scratch/seen" | sed "s/$color//g; s/"$'\x1b'"\[0m//g" | grep -E '^(none|sized)[~ ]')
    [ -z "$(grep -E ".{$columns}" <<<"$table")" ] || fail "wider than $columns columns: $table"
    [ "$(wc -l <<<"$table")" -gt "$("$CONTEND_FAKE" report -v "$scratch/r" 2>/dev/null | grep -cE '^(none|sized)[~ ]')" ] ||
        fail "one part in $columns columns: $table"
done
at 200 "$CONTEND_BINARY" place --help
diff <(tr -d '\r' <"$scratch/seen") <("$CONTEND_BINARY" place --help) >/dev/null ||
    fail "another text in 200 columns"
finish
