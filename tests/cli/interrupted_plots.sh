#!/usr/bin/env bash
# An interrupt while figures are drawn ends drawing at once, with exit code 130. The measurements stay.
. tests/lib/cli.sh

# A stand-in for gnuplot that records its pid and never ends.
mkdir "$scratch/bin" "$scratch/tmp"
cat >"$scratch/bin/gnuplot" <<'SCRIPT'
#!/bin/bash
echo $$ >>"$DRAWING"
exec sleep 1000
SCRIPT
chmod +x "$scratch/bin/gnuplot"
export DRAWING=$scratch/drawing TMPDIR=$scratch/tmp

is_drawing() {
    [ "$(wc -l 2>/dev/null <"$DRAWING")" = 2 ]
}
none_draws() {
    local pid
    for pid in $(cat "$DRAWING"); do
        ended "$pid" || return 1
    done
}

# interrupted SIGNAL OUT COMMAND...: signals it while it draws; exit 130 long before gnuplot's time limit.
interrupted() {
    local signal=$1 out=$2 code from
    shift 2
    rm -f "$DRAWING"
    PATH=$scratch/bin:$PATH "$@" >"$out.stdout" 2>"$out.log" </dev/null &
    run=$!
    wait_for 60 is_drawing || fail "nothing is drawn: $(cat "$out.log")"
    from=$SECONDS
    kill -"$signal" "$run"
    wait_for 120 ended "$run" || kill -KILL "$run"
    wait "$run" 2>/dev/null
    code=$?
    [ "$code" = 130 ] || fail "SIG$signal: exit $code, expected 130: $* $(cat "$out.log")"
    [ $((SECONDS - from)) -lt 40 ] || fail "SIG$signal: it took $((SECONDS - from)) s: $*"
    wait_for 20 none_draws || fail "SIG$signal: gnuplot goes on: $*"
    [ -z "$(find "$scratch/tmp" "$out" -name '*.tmp' -o -path "$scratch/tmp/*")" ] ||
        fail "SIG$signal: temporary files were left"
}

for signal in INT TERM HUP; do
    out=$scratch/$signal
    interrupted $signal "$out" "$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 2 --time 0.1 \
        --warmup 0.01 --out "$out"
    grep -q "interrupted while figures were drawn; 'contend report .*/$signal' draws them" "$out.log" ||
        fail "SIG$signal: nothing is said of it: $(cat "$out.log")"
    grep -q 'Results: ' "$out.stdout" || fail "SIG$signal: no table of the rounds that were measured"
    [ "$(cell "$out/rows.csv" none 2 throughput rounds)" = 2 ] || fail "SIG$signal: rows.csv is not whole"
    grep -q '"status": "complete"' "$out/run.json" || fail "SIG$signal: run.json does not say complete"
    [ -s "$out/plots/loss.dat" ] || fail "SIG$signal: no data of the figures"
done

# Figures can be drawn again from the data; existing pictures stay.
touch "$scratch/INT/plots/loss.svg"
for signal in INT TERM; do
    interrupted $signal "$scratch/INT" "$CONTEND_BINARY" report "$scratch/INT" "$scratch/TERM"
    [ -e "$scratch/INT/plots/loss.svg" ] || fail "SIG$signal: a picture that was there is gone"
done

# If contend is killed, no process and no file is left either.
rm -f "$DRAWING"
PATH=$scratch/bin:$PATH "$CONTEND_BINARY" report "$scratch/INT" >"$scratch/log" 2>&1 </dev/null &
run=$!
wait_for 60 is_drawing || fail "nothing is drawn: $(cat "$scratch/log")"
kill -KILL "$run"
wait "$run" 2>/dev/null
wait_for 20 none_draws || fail "SIGKILL: gnuplot goes on"
[ -z "$(find "$scratch/tmp" "$scratch/INT" -name '*.tmp' -o -path "$scratch/tmp/*")" ] ||
    fail "SIGKILL: temporary files were left"
finish
