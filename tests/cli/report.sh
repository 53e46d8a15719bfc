#!/usr/bin/env bash
# contend report draws the figures of a run that was measured without gnuplot.
. tests/lib/cli.sh
needs gnuplot
gnuplot=$(command -v gnuplot)
out="$scratch/measured here"

# The workers are the program itself, so PATH needs nothing else.
expect 0 "gnuplot is not installed: no plots; 'contend report DIR' draws them where it is" \
    env PATH=/nonexistent "$CONTEND_FAKE" run fake --placement none,sized --workers 2 --rounds 2 \
    --time 0.1 --warmup 0.01 --out "$out"
for plot in throughput efficiency step_time loss occupancy; do
    [ -s "$out/plots/$plot.dat" ] || fail "no $plot.dat without gnuplot"
    [ ! -e "$out/plots/$plot.svg" ] || fail "$plot.svg was drawn without gnuplot"
done
[ -x "$gnuplot" ] || fail "gnuplot is gone"

expect 0 'measured here/plots/loss.svg, loss.png' "$CONTEND_BINARY" report "$out"
for plot in throughput efficiency step_time loss; do
    head -c 8 "$out/plots/$plot.png" | grep -q PNG || fail "no $plot.png"
    grep -q '</svg>' "$out/plots/$plot.svg" || fail "no $plot.svg"
done
cp "$out/plots/loss.svg" "$scratch/first.svg"

# Results of older versions can be drawn from their data, which no current version can reproduce.
for run in h100-vm/pipeline 2-cpus-vm/threads; do
    older=$scratch/${run//\//-}
    cp -r "$CONTEND_SOURCE_DIR/results/$run" "$older"
    find "$older" -name '*.xz' -exec xz -d {} + || skip "needs xz"
    rm -f "$older"/plots/*.svg "$older"/plots/*.png
    expect 0 'plots/.*\.svg, .*\.png' "$CONTEND_BINARY" report "$older"
    for plot in "$older"/plots/*.dat; do
        [ -s "${plot%.dat}.svg" ] || fail "no ${plot##*/} of an older version"
    done
done

# From its own directory: the same figure, and no other files.
files=$(ls "$out/plots")
(cd "$out" && expect 0 'drew \./plots/loss.svg' "$CONTEND_BINARY" report . && exit "$failures") ||
    fail "not from its own directory"
cmp -s "$out/plots/loss.svg" "$scratch/first.svg" || fail "drawn again, it is another figure"
[ "$(ls "$out/plots")" = "$files" ] || fail "other files than before: $(ls "$out/plots")"

# A run was killed while its files replaced an earlier result: report first completes that.
mkdir "$out/.contend-run"
mv "$out/run.json" "$out/rows.csv" "$out/.contend-run"
expect 0 'loss.svg' "$CONTEND_BINARY" report "$out"
[ -s "$out/run.json" ] && [ -s "$out/rows.csv" ] && [ ! -e "$out/.contend-run" ] ||
    fail "half of a result was left: $(ls -A "$out" "$out/.contend-run")"

# A result or figure that cannot be drawn does not prevent the others.
expect 2 "cannot open the result directory '.*gone'" "$CONTEND_BINARY" report "$scratch/gone" "$out"
echo nonsense > "$out/plots/loss.dat"
expect 3 'gnuplot failed on loss' "$CONTEND_BINARY" report "$out"
[ ! -e "$out/plots/loss.svg" ] || fail "a broken figure was left"
[ -e "$out/plots/efficiency.svg" ] || fail "a broken figure took the others along"

# Another run into the same directory removes all old figures, but no file of the user.
touch "$out/plots/notes.txt"
expect 0 'replacing the earlier run' "$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 1 \
    --time 0.1 --warmup 0.01 --no-plots --out "$out"
[ -z "$(find "$out/plots" -type f ! -name '*.dat' ! -name notes.txt)" ] ||
    fail "figures of a replaced run: $(ls "$out/plots")"
expect 0 'plots/loss.svg' "$CONTEND_BINARY" report "$out"

# A scan has only its own figures, and no messages about steps.
expect 0 'square' "$CONTEND_FAKE" bench fakescan --rounds 2 --time 0.1 --out "$scratch/scan"
said=$("$CONTEND_FAKE" bench fakescan --rounds 1 --time 0.1 --out "$scratch/scan" 2>&1)
[[ $said != *"no plot"* ]] || fail "a scan is told of plots it cannot have: $said"

# A benchmark decides how its values are shown: here one has a figure, and one is only in rows.csv.
[[ $said != *doubt* ]] || fail "a quiet metric is in the table: $said"
grep -q ',doubt,ratio,' "$scratch/scan/rows.csv" || fail "a quiet metric is not in rows.csv"
squares=$scratch/scan/plots/squares
grep -q 'squares of small numbers' "$squares.svg" || fail "no figure of a benchmark"
[ "$(head -1 "$squares.dat")" = '# contend line_chart' ] || fail "squares.dat does not say what draws it"
cp "$squares.svg" "$scratch/first.svg"
rm "$squares".{svg,png}
expect 0 'scan/plots/squares.svg, squares.png' "$CONTEND_FAKE" report "$scratch/scan"
cmp -s "$squares.svg" "$scratch/first.svg" || fail "drawn again, the figure of a benchmark is another"
expect 0 'squares.svg' "$CONTEND_BINARY" report "$scratch/scan" # which has no such benchmark
expect 0 'replacing the earlier run' "$CONTEND_BINARY" bench mem_bandwidth --rounds 1 --time 0.2 --limit 100 --no-plots \
    --force --out "$scratch/scan"
[ "$(ls "$scratch/scan/plots")" = bandwidth.dat ] || fail "figures of a replaced run: $(ls "$scratch/scan/plots")"
finish
