#!/usr/bin/env bash
# The page of a result: its contents, where it is written, and that text in a result is escaped.
. tests/lib/cli.sh
needs jq
source=results/h200-x2-vm
one=$scratch/one
cp -r "$source/pipeline" "$one"
cp results/2-cpus-vm/threads/plots/threads_map.svg "$one/plots/occupancy.svg" # any figure that was drawn
fresh() { # a result to be edited: $there
    there=$scratch/there
    rm -rf "$there"
    cp -r "$source/pipeline" "$there"
    rm -rf "$there/plots"
}
report=(env PATH=/nonexistent "$CONTEND_BINARY" report) # without gnuplot, which takes its time
edit() { # edit FILTER: run.json of $there
    jq "$1" "$there/run.json" >"$there/new" && mv "$there/new" "$there/run.json"
}

# The page is one file with everything a reader needs, and loads nothing.
expect 0 "wrote $one/report.html" "${report[@]}" "$one"
page=$one/report.html
verdict='recommended: sized (OMP_NUM_THREADS=16), 19x the default, range 18x to 25x; ' # anew, of an earlier version
for text in "$verdict" 'id="picture"' 'id="loss"' 'id="occupancy"' 'id="machine"' 'id="tables"' \
    '<pre>./contend place --workers 2 --placement sized' 'NVIDIA H200' \
    'all usable CPUs share one last-level cache' '20261122T124240Z-pipeline-adcc49' \
    'worker 1: CPUs 16-31, 16 threads, GPU 1'; do
    grep -qF -- "$text" "$page" || fail "not in the page: $text"
done
grep -Eq '<(script|link|iframe|object|embed|foreignObject)|(src|href)="?(http|//)|@import|url\(' "$page" &&
    fail "the page loads or runs something"
grep -q 'default-src .none.' "$page" || fail "the page does not forbid what it has not"
grep -q 'class="sim"' "$page" && fail "a run on GPUs is marked as modelled"
[ "$(grep -o '<svg' "$page" | wc -l)" = "$(grep -o '</svg>' "$page" | wc -l)" ] || fail "SVG that does not end"
well_formed "$page"

# A second report writes the same page. A run on a modelled GPU says so. A scan has its figures.
cp "$page" "$scratch/first.html"
expect 0 . "${report[@]}" "$one"
cmp -s "$page" "$scratch/first.html" || fail "written again it is another page"
fresh
edit '.device = "sim"'
sed -i 's/,cuda,/,sim,/' "$there/rows.csv" "$there/rounds.csv"
expect 0 . "${report[@]}" "$there"
grep -q 'class="sim"' "$there/report.html" || fail "a modelled GPU is not marked"
cp -r results/2-cpus-vm/threads "$scratch/threads"
expect 0 . "${report[@]}" "$scratch/threads"
[ "$(grep -o '<img' "$scratch/threads/report.html" | wc -l)" = "$(find "$scratch/threads/plots" -name '*.svg' ! -name '*.narrow.svg' | wc -l)" ] ||
    fail "figures are missing in the page of a scan"

# The page of a search has its table: the settings tried, and the fresh rounds that confirm the winner.
cp -r "$source/tune" "$scratch/tune"
expect 0 . "${report[@]}" "$scratch/tune"
grep -q '>fresh rounds</th>' "$scratch/tune/report.html" || fail "of a search's page"

# Before and after: the page is in the second result's directory, or where --html says.
cp -r results/h100-vm/pipeline "$scratch/before"
expect 0 'one/report.html, before and after' "${report[@]}" "$scratch/before" "$one"
for text in '<h3>Before</h3>' '<h3>After</h3>' 'h100-vm' 'h200-x2-vm' 'contend compare'; do
    grep -qF -- "$text" "$page" || fail "not in before and after: $text"
done
grep -q '<h3>Before</h3>' "$scratch/before/report.html" && fail "the first one's own page has both"
rm "$page"
expect 0 "wrote $scratch/both.html, before and after" "${report[@]}" --html "$scratch/both.html" "$scratch/before" "$one"
[ ! -e "$page" ] || fail "--html wrote a second page"
expect 2 'writes one page' "${report[@]}" --html "$scratch/x.html" "$one" "$one" "$one"

# A file that contend did not write stays, with one message.
echo mine >"$page"
expect 2 "one': 'report.html' is not replaced: it is no report of contend" "${report[@]}" "$one"
[ "$(cat "$page")" = mine ] || fail "a file of the user's was replaced"
rm "$page"
mkdir "$scratch/folder"
expect 2 "folder' is not replaced: it is no report" "${report[@]}" --html "$scratch/folder" "$one"
ln -s "$scratch/victim" "$page"
expect 2 'no report of contend' "${report[@]}" "$one"
[ ! -e "$scratch/victim" ] || fail "a link was followed"
rm "$page"
expect 3 "cannot write '$scratch/none/x.html'" "${report[@]}" --html "$scratch/none/x.html" "$one"

# A page of an earlier version is replaced. A new run removes the page of the result that it replaces.
printf '%s\n' '<!DOCTYPE html>' '<html lang="en">' '<head>' '<meta charset="utf-8">' \
    '<meta name="generator" content="contend 0.0.1">' >"$page"
expect 0 'wrote' "${report[@]}" "$one"
run=("$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 1 --time 0.1 --warmup 0.01
    --out "$scratch/run")
expect 0 . env PATH=/nonexistent "${run[@]}"
grep -q 'contend: fake' "$scratch/run/report.html" || fail "a run writes no page"
expect 0 'replacing' "${run[@]}" --no-plots
[ ! -e "$scratch/run/report.html" ] || fail "the page of a replaced run is left"
echo mine >"$scratch/run/report.html"
expect 0 "no page: 'report.html' is not replaced" env PATH=/nonexistent "${run[@]}"
[ "$(cat "$scratch/run/report.html")" = mine ] || fail "a run replaced a file of the user's"

# Hostile text in every string of run.json, in plots and in the directory's name.
fresh
mkdir "$there/plots"
# shellcheck disable=SC2016 # is to stay as it is
text='"]]><script>alert(1)</script><img src=x onerror=alert(2)>'"'"'&`|'
printf ' "CPUs over time"\n' >"$there/plots/occupancy.dat"
printf '# contend heat_map\n "%s"\n' '<script>alert(3)</script>' >"$there/plots/evil.dat"
printf '<svg onload="alert(4)"><script>alert(5)</script></svg>' | tee "$there/plots/evil.svg" >"$there/plots/occupancy.svg"
echo 'no picture <script>alert(6)</script>' >"$there/plots/loss.svg"
jq --arg text "$text" '.findings[0].sentence = $text | .findings[1].subject = $text | .findings[1].sentence = $text
    | .findings[0].evidence = $text | .findings[0].command = $text | .environment.hostname = $text
    | .environment.kernel = $text | .topology.cpu_model = $text | .topology.gpus[0].name = $text
    | .command = ["contend", $text] | .notes = [$text] | .commit = $text | .version = $text | .status = $text
    | .started = $text | .arms[0].plan.workers[0].host = $text | .arms[10].plan.reason = $text
    | .topology.nodes[0].cpus = $text' "$there/run.json" >"$scratch/run.json"
mv "$scratch/run.json" "$there/run.json"
mv "$there" "$scratch/<script>alert(7)<"
there="$scratch/<script>alert(7)<"
expect 0 . "${report[@]}" "$there"
grep -Eq '<script|<img [^c]|onerror=a[^l]|onload=' "$there/report.html" && fail "text became an element of the page"
sed 's/<[a-z][^>]*>//g' "$there/report.html" | grep -q '<script' && fail "an element is left"
grep -qF '&quot;]]&gt;&lt;script&gt;alert(1)&lt;/script&gt;' "$there/report.html" || fail "hostile text is gone"
expect 0 . "${report[@]}" --markdown "$there"
"$CONTEND_BINARY" report --markdown "$there" 2>/dev/null | grep -v '^      \|^Run `' | grep -q '<script' && # but in code
    fail "text became HTML in Markdown"

# Machines of other shapes: many CPUs in several packages, no packages, and sets that make no sense.
shape() { # shape FILTER CPUS: so many CPUs are drawn under `none`
    fresh
    edit "$1"
    expect 0 . "${report[@]}" "$there"
    local drawn
    drawn=$(grep -o 'CPUs of each worker under none.*' "$there/report.html" | head -1)
    [ -n "$drawn" ] || [ "$2" = 0 ] || fail "not drawn: $1"
    drawn=$(sed -n '/CPUs of each worker under none/,/<\/svg>/p' "$there/report.html" |
        sed -n 's/^<path class="w0" d="//p' | grep -o M | wc -l)
    [ "$drawn" = "$2" ] || fail "$drawn CPUs are drawn and not $2: $1"
}
many='.topology.cpus = {"count": 256, "all": "0-255", "allowed": "0-255"}
    | .topology.cpu_sets = {"packages": ["0-63,128-191", "64-127,192-255"],
        "llcs": [range(16) | "\(. * 8)-\(. * 8 + 7),\(. * 8 + 128)-\(. * 8 + 135)"],
        "cores": [range(128) | "\(.),\(. + 128)"]}
    | .topology.nodes = [range(4) | {"node": ., "cpus": "\(. * 32)-\(. * 32 + 31),\(. * 32 + 128)-\(. * 32 + 159)"}]
    | .arms[0].plan.workers[].cpus = "0-255"'
shape "$many" 256
for box in 'package 1' 'node 3' 'cache 15'; do
    grep -q ">$box<" "$there/report.html" || fail "no $box in the drawing"
done
awk 'match($0, /viewBox="-1 -1 [0-9]+ [0-9]+"/) {
        split(substr($0, RSTART + 9, RLENGTH - 10), size, " ") }
    /^<path class="w/ { n = split($0, part, "M")
        for (i = 2; i <= n; i++) { split(part[i], at, /[ h]/)
            if (at[1] + 5 > size[3] || at[2] + 10 > size[4]) bad++ } }
    END { exit bad > 0 }' "$there/report.html" || fail "CPUs are drawn outside of the picture"
shape 'del(.topology)' 0
shape '.topology.cpus.all = "0-8191" | .topology.cpu_sets = {"cores": [range(9000) | "0-8191"]}' 0
shape '.topology.cpu_sets = {"packages": ["0-31", "0-31", "x", 7, null], "llcs": {}, "cores": "?"}' 32
shape '.command = 7 | .notes = {} | .environment = [] | .findings = []' 32

# Markdown has the sentence and the table, and writes no file.
rm -f "$page"
expect 0 '^\| sized.* \| 1.83 M \| 19x \| 18-25 \|' "$CONTEND_BINARY" report --markdown "$one"
[ ! -e "$page" ] || fail "--markdown wrote a page"
expect 2 'no run.json' "$CONTEND_BINARY" report --markdown "$scratch"
finish
