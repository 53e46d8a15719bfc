#!/usr/bin/env bash
# Requests through the program: rows by placement and by load, a stall that shows, one that does not fit, and that
# the model of a GPU is named.
. tests/lib/cli.sh
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

# row PLACEMENT METRIC KEY: the median.
row() {
    columns "$scratch/run/rows.csv" placement metric params median |
        awk -F, -v p="$1" -v m="$2" -v k="$3" '$1 == p && $2 == m && index($3 ";", ";" k ";") { print $4; exit }'
}
at_least() { # at_least NUMBER NUMBER WHAT
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a >= b) }' || fail "$3: '$1' is not '$2' or more"
}

small=(-p rows=8 -p cols=64 -p sim_work_us=50)
expect 0 'serve, device sim \(modelled GPU\)' "$CONTEND_BINARY" run serve -n 2 --placement none,sized --rounds 1 \
    --time 1.5 -p rate=200 -p load=100 "${small[@]}" -p arrival=poisson -p stall=50ms --out "$scratch/run"
for placement in none sized; do
    key='arrival=poisson;load=100'
    for stat in p99 max; do
        at_least "$(row $placement serve_latency "$key;stat=$stat")" "$(row $placement serve_floor "$key;stat=$stat")" \
            "$placement $stat"
    done
    due=$(row $placement serve_stalled "$key;how=schedule")
    at_least "$due" 1 "$placement: requests that come in the stall"
    at_least "$(row $placement serve_stalled "$key;how=measured")" "$due" "$placement: late ones"
done
# The same schedule for all placements of a round.
[ "$(row none serve_offered "$key")" = "$(row sized serve_offered "$key")" ] || fail 'the schedule depends on the placement'
if command -v gnuplot > /dev/null; then
    grep -q 'sim' "$scratch/run/plots/serve_worst.svg" || fail 'the figure does not name the model'
fi

expect 3 'stall 500 ms does not fit the half of a point' "$CONTEND_BINARY" bench serve -n 1 --rounds 1 --time 0.5 \
    "${small[@]}" -p rate=100 -p stall=500ms --no-plots --out "$scratch/long"
expect 2 "arrival.*poisson.*bursts" "$CONTEND_BINARY" bench serve -p arrival=now
expect 2 "load.*1000" "$CONTEND_BINARY" bench serve -p load=1001
finish
