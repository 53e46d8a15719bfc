#!/usr/bin/env bash
# A real server under a real client: redis-server by redis-benchmark, by its rate and its p99.
. tests/lib/cli.sh
needs redis-server redis-benchmark
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

number='"([0-9.]+)"'
any='"[^"]*",'
expect 0 'p99' "$CONTEND_BINARY" run --workers 2 --placement none,sized --rounds 2 --time 0.1 --no-baselines --no-canary \
    --no-plots --host h --out "$scratch/redis" --ready 'tcp:{port}' \
    --load 'redis-benchmark -p {port} -t get -n 20000 -c 20 --csv' --metric "rps=\"GET\",$number" \
    --metric "p99=\"GET\",$any$any$any$any$any$number" --less-is-better p99 --unit requests/s -- \
    redis-server --port '{port}' --save ''
for metric in throughput p99 client_share; do
    value=$(cell "$scratch/redis/rows.csv" none 2 $metric median)
    awk -v value="$value" 'BEGIN { exit !(value > 0) }' || fail "$metric: '$value'"
done
none_of_this_test redis-server || fail "left running: $(pgrep -a redis-server)"
finish
