#!/usr/bin/env bash
# An earlier result stays until the next run has finished a round. Files that contend did not write always stay.
. tests/lib/cli.sh
run=("$CONTEND_FAKE" run fake --placement none --workers 2 --no-baselines --warmup 0.01 --no-plots)
out="$scratch/out"
expect 0 . "${run[@]}" --rounds 1 --time 0.1 --out "$out"
touch "$out/plots/loss.svg"
cp -r "$out" "$scratch/before"
same() {
    diff -r "$scratch/before" "$out" || fail "$1: the earlier result is not as it was"
}

# The run cannot write, and so does not start.
expect 3 "output directory '$out': .*File too large" bash -c 'ulimit -f 1 && exec "$@"' bash \
    "${run[@]}" --rounds 1 --time 0.1 --out "$out"
same "a limit on file sizes"

# A new result is synced to the disk before it replaces the old one, so a disk error loses nothing.
"$CONTEND_REFUSE" fsync EIO true
if [ $? != 77 ]; then
    expect 2 'cannot write .*Input/output error' "$CONTEND_REFUSE" fsync EIO "${run[@]}" --rounds 1 --time 0.1 --out "$out"
    same "a disk that fails"
fi

# The result of another command: another subcommand, scenario or command of the user's.
for other in 'bench fake' 'run team' 'run -- true'; do
    # shellcheck disable=SC2086
    expect 2 'has the result of another command: .*--force' "$CONTEND_FAKE" ${other%% *} --out "$out" --rounds 1 ${other#* }
    same "$other"
done
cp -r "$out" "$scratch/forced"
expect 0 'replacing the earlier run' "$CONTEND_FAKE" bench fake --rounds 1 --time 0.1 --warmup 0.01 --no-plots --force \
    --out "$scratch/forced"

# The run is ended in its first round.
"${run[@]}" --rounds 1 --time 1000 --limit 1000 --out "$out" > "$scratch/log" 2>&1 < /dev/null &
pid=$!
wait_for 60 test -e "$out/.contend-run/run.json.new" || fail "not begun: $(cat "$scratch/log")"
kill -TERM "$pid"
wait "$pid"
code=$?
[ "$code" = 130 ] || fail "exit $code, expected 130: $(cat "$scratch/log")"
grep -q "no round was done: the earlier run in $out stays as it was" "$scratch/log" ||
    fail "not said: $(cat "$scratch/log")"
same "SIGTERM in the first round"

# After kill -9 the unfinished result is in a hidden directory, which the next run removes.
"${run[@]}" --rounds 1 --time 1000 --limit 1000 --out "$out" > "$scratch/log" 2>&1 < /dev/null &
pid=$!
wait_for 60 test -e "$out/.contend-run/run.json.new" || fail "not begun: $(cat "$scratch/log")"
kill -9 "$pid"
wait "$pid" 2> /dev/null
rm -r "$out/.contend-run" || fail "no hidden directory"
same "SIGKILL in the first round"

# The next run that finishes a round replaces the result, with its figures.
expect 0 'replacing the earlier run' "${run[@]}" --rounds 1 --time 0.1 --out "$out"
[ ! -e "$out/plots/loss.svg" ] || fail "figures of the earlier run are left"
! cmp -s "$scratch/before/run.json" "$out/run.json" || fail "the earlier run.json is left"

# Files that contend did not write.
mkdir "$scratch/mine"
for file in rounds.csv rows.csv samples.csv summary.txt run.json; do
    echo "$file" > "$scratch/mine/$file"
    expect 2 "'$scratch/mine' has a $file that is not of a run" "${run[@]}" --rounds 1 --time 0.1 \
        --out "$scratch/mine"
    [ "$(cat "$scratch/mine/$file")" = "$file" ] || fail "$file of the user was touched"
    rm "$scratch/mine/$file"
done
[ -z "$(ls -A "$scratch/mine")" ] || fail "left behind: $(ls -A "$scratch/mine")"
echo notes > "$scratch/mine/notes.txt"
expect 0 . "${run[@]}" --rounds 1 --time 0.1 --out "$scratch/mine"
expect 0 . "${run[@]}" --rounds 1 --time 0.1 --out "$scratch/mine"
[ "$(cat "$scratch/mine/notes.txt")" = notes ] || fail "notes of the user were touched"
finish
