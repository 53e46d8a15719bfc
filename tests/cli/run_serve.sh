#!/usr/bin/env bash
# The scenario serve as a user starts it: rows by placement and by load, and the model of a GPU is named.
. tests/lib/cli.sh
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

# row PLACEMENT METRIC KEY: prints the median.
row() {
    columns "$scratch/run/rows.csv" placement metric params median |
        awk -F, -v p="$1" -v m="$2" -v k="$3" '$1 == p && $2 == m && index($3 ";", ";" k ";") { print $4; exit }'
}
small=(-p rows=8 -p cols=64 -p sim_work_us=50)
expect 0 'serve, device sim \(modelled GPU\)' "$CONTEND_BINARY" run serve -n 2 --placement none,sized --rounds 1 \
    --time 1.5 -p rate=200 -p load=100 "${small[@]}" -p arrival=poisson --out "$scratch/run"
key='arrival=poisson;load=100'
[ -n "$(row none serve_latency "$key;stat=p99")" ] || fail 'no p99'
# All placements of a round have the same schedule.
[ "$(row none serve_offered "$key")" = "$(row sized serve_offered "$key")" ] || fail 'the schedule depends on the placement'
if command -v gnuplot > /dev/null; then
    grep -q 'sim' "$scratch/run/plots/serve_worst.svg" || fail 'the figure does not name the model'
fi

expect 2 "arrival.*poisson.*bursts" "$CONTEND_BINARY" bench serve -p arrival=now
expect 2 "load.*1000" "$CONTEND_BINARY" bench serve -p load=1001
finish
