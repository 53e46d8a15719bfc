#!/usr/bin/env bash
# A run on a busy machine counts all of its rounds: the sentence, the table, rows.csv, the figure, the page, 'place' and the
# rounds themselves have one number. Without agreement between rounds nothing is recommended.
. tests/lib/cli.sh
without_gnuplot
needs two-cpus jq
binary=$(realpath "$CONTEND_BINARY")
cd "$scratch" || exit 1
unset OMP_NUM_THREADS

# A worker's rate depends on its number of threads, and varies by a third.
cat >rate <<'SH'
#!/bin/sh
echo "rate $(((200000 + $(date +%N | tail -c 4 | sed 's/^0*//;s/^$/0/') * 60) / ${OMP_NUM_THREADS:-$(nproc)}))"
SH
cat >equal <<'SH'
#!/bin/sh
echo "rate $((200000 + $(date +%N | tail -c 4 | sed 's/^0*//;s/^$/0/') * 60))"
SH
chmod +x rate equal
loops=()
for _ in $(seq $((2 * $(nproc)))); do
    while :; do :; done &
    loops+=($!)
done
trap 'kill "${loops[@]}" 2>/dev/null; rm -rf "$scratch"' EXIT
measure() { # measure DIR COMMAND...
    "$binary" run -n 2 -P none,sized --no-canary --no-baselines --time 0.05 --warmup 0 --rounds 9 --metric 'rate ([0-9]+)' \
        --out "$1" -- "$2" >said 2>log || fail "run: $(cat log)"
}
measure results/h/one ./rate
measure same ./equal
kill "${loops[@]}"
wait "${loops[@]}" 2>/dev/null

# ratio R: formats it as contend prints it.
ratio() {
    awk -v r="$1" 'BEGIN { printf((r >= 9.95 ? "%.0fx" : r >= 1.95 ? "%.1fx" : "%.2fx"), r) }'
}
dir=results/h/one
jq -e '[.findings[].id] | index("busy")' "$dir/run.json" >/dev/null || fail "not busy: $(cat "$dir/summary.txt")"
jq -e '.others | length > 0 and all(.pid > 0 and .share > 0)' "$dir/run.json" >/dev/null || fail "nobody used the CPUs"
read -r low high gain rounds < <(jq -r '.recommended | "\(.low) \(.high) \(.speed_up) \(.rounds)"' "$dir/run.json")
[ "$rounds" = 9 ] || fail "$rounds rounds: $(cat "$dir/summary.txt")"

# From the rounds: the ratio in each of the nine; up to 14 the interval is the range.
columns "$dir/rounds.csv" placement metric round value | awk -F, '$2 == "throughput" { v[$1, $3] = $4; if ($3 > n) n = $3 }
    END { for (r = 0; r <= n; r++) print v["sized", r] / v["none", r] }' | sort -g >by_hand
[ "$(wc -l <by_hand)" = 9 ] || fail "not nine rounds: $(cat by_hand)"
awk -v low="$low" -v high="$high" -v gain="$gain" 'function near(a, b) { return a < b * 1.001 && b < a * 1.001 }
    { v[NR] = $1 } END { exit !(near(v[1], low) && near(v[5], gain) && near(v[9], high)) }' by_hand ||
    fail "run.json has $gain, $low to $high; the rounds $(tr '\n' ' ' <by_hand)"

said=$(tr '\n' ' ' <"$dir/summary.txt")
bound="at least $(ratio "$low") the default in 9 of 9 rounds, while others used "
[[ $said == *"recommended: sized"*"$bound"* ]] || fail "the sentence: $said"
short_low=$(ratio "$low") short_low=${short_low%x} short_high=$(ratio "$high") short_high=${short_high%x}
grep -Eq "^sized\*~ .* $(ratio "$gain") +$short_low-$short_high( |\$)" "$dir/summary.txt" || fail "the table: $said"
[ "$(columns "$dir/rows.csv" metric rounds | sed -n 's/^throughput,//p' | sort -u)" = 9 ] || fail "rows.csv has fewer rounds"
grep -Fq "sized is $bound" "$dir/plots/throughput.dat" || fail "the figure's title: $(head -n 2 "$dir/plots/throughput.dat")"
grep -q "over 9 rounds" "$dir/plots/throughput.dat" || fail "the figure's rounds: $(head -n 2 "$dir/plots/throughput.dat")"
grep -Fq "\"$(ratio "$gain") (${short_low}x to ${short_high}x)" "$dir/plots/throughput.dat" || fail "the figure's line"
grep -A1 'class="verdict' "$dir/report.html" | grep -Fq "$bound" || fail "the page's verdict"
grep -Eq "<th scope=\"row\">sized\*~</th>.*<td[^>]*>$(ratio "$gain")</td><td[^>]*>$short_low-$short_high</td>" "$dir/report.html" ||
    fail "the page's table: $(grep -o '<th scope="row">sized.*' "$dir/report.html")"
"$binary" report "$dir" >again 2>log || fail "report: $(cat log)"
[[ $(tr '\n' ' ' <again) == *"$bound"* ]] || fail "report: $(cat again)"
"$binary" place -n 2 -- ./rate >plan 2>why || fail "place: $(cat why)"
grep -Eq "recommended by $dir .*: sized, at least $(ratio "$low") the default, while others used [0-9]+% of the CPUs" why ||
    fail "place: $(cat why)"

# Two equal settings: no gain.
[ "$(jq -c .recommended same/run.json)" = null ] || fail "a gain of equal settings: $(cat same/summary.txt)"
head -n 1 same/summary.txt | grep -q '^no recommendation: ' || fail "not said: $(cat same/summary.txt)"
finish
