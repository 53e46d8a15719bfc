#!/usr/bin/env bash
# The scenario io leaves no files, even after a kill. If the directory cannot hold files, the rows
# say so.
. tests/lib/cli.sh
export NO_COLOR=1 TMPDIR=$scratch/place
mkdir "$TMPDIR"
small=(-p where=tmp -p size=8M -p files=8 -p checkpoint=1M)
run=("$CONTEND_BINARY" bench read_path --rounds 1 --time 0.3 --no-plots --no-canary "${small[@]}")
empty() { # empty WHEN
    [ -z "$(ls -A "$TMPDIR")" ] || fail "$1: $(ls -A "$TMPDIR") is left"
}

expect 0 'read_speed' "${run[@]}" --out "$scratch/one"
empty "after a run"
grep -q 'fs=.*,data_set,' "$scratch/one/rows.csv" || fail "the file system is not named"

# The files of a killed worker have no names, so their space is freed with the process.
"${run[@]}" --time 20 --out "$scratch/killed" >/dev/null 2>&1 &
program=$!
for ((i = 0; i < 400; i++)); do
    worker=$(pgrep -P $program | head -n 1) || true
    [ -n "$worker" ] && [ -n "$(find "/proc/$worker/fd" -lname "$TMPDIR*" 2>/dev/null)" ] && break
    sleep 0.05
done
[ -n "$worker" ] || fail "no worker is seen"
empty "while it runs"
kill -9 "$worker" "$program" 2>/dev/null
wait $program 2>/dev/null
empty "after a kill"

# No usable directory: a skipped row that names it.
TMPDIR=$scratch/nowhere expect 3 'nothing was measured' "${run[@]}" --out "$scratch/none"
grep -q "skipped,.*no file can be made in $scratch/nowhere" "$scratch/none/rows.csv" ||
    fail "no reason: $(cat "$scratch/none/rows.csv")"
expect 2 'block must be a multiple of 4096' "${run[@]}" -p block=5000
finish
