#!/usr/bin/env bash
# share/selfcheck.py: tiny trials and their files. A crash and too few trials are not a pass.
. tests/lib/cli.sh
needs python3
check=("$PWD/share/selfcheck.py" --contend "$CONTEND_FAKE")
cd "$scratch" || exit 1

# Too few trials for a verdict, so no pass; all files are kept.
expect 4 'ab, equal variants +2 ' "${check[@]}" --only aa,compare --trials 2 --trial-max-time 2 --out few -- fake
expect_equal trials "$(cut -d, -f1-3 few/trials.csv | tr -d '\r' | paste -sd' ')" \
    'kind,trial,busy_percent aa,1,0 compare,1,0 aa,2,0 compare,2,0'
expect 0 . "$CONTEND_FAKE" report few/compare/2/2

# The slowdown is that of the real benchmark. Any verdict of this busy machine is counted.
expect 4 'ab, 10% slower +1 ' "${check[0]}" --contend "$CONTEND_BINARY" --only 10 --trials 1 --trial-max-time 3 --out slow \
    -- --device sim -p rows=64
grep -q '"busy=10"' slow/10/1/run.json || fail "nothing was slowed down"

expect 3 'nothing was measured' "${check[@]}" --only aa --trials 1 --trial-max-time 2 --out crash -- fake -p mode=crash
expect 2 "unknown kind '3'" "${check[@]}" --only aa,3 --out bad
expect 1 'few' "${check[@]}" --only aa --out few
[ ! -e bad ] || fail "bad input left something"

# The interval is Clopper and Pearson's: values from exact binomial sums.
expect_equal interval "$(PYTHONPATH=$(dirname "${check[0]}") python3 -B -c 'from selfcheck import share_interval as share
print(*("%.4f" % end for n in ((0, 60), (57, 60), (1, 25), (5, 10), (25, 25)) for end in share(*n)))')" \
    '0.0000 0.0596 0.8608 0.9896 0.0010 0.2035 0.1871 0.8129 0.8628 1.0000'
finish
