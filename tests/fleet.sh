#!/usr/bin/env bash
# Generates a fleet of 10,000 machines with 500 values each, of which 1% of machines are bad. Bounds made from the fleet
# must leave out every bad machine and at most 0.1% of the good ones. Takes 2 GB of disk and some minutes, mostly to
# generate the fleet.
#
#   tests/fleet.sh [MACHINES [DIR]]    an existing DIR is used again
set -euo pipefail
: "${CONTEND_BINARY:?}"
machines=${1:-10000}
command -v python3 > /dev/null || { echo "SKIP: needs python3"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fleet=${2:-$scratch/fleet}
[ -e "$fleet" ] || python3 "$(dirname "$0")/lib/make_fleet.py" "$fleet" --machines "$machines" \
    --bad 0.01 --off 0.5 --seed 2

TIMEFORMAT='%R s, %U s of CPU time'
time "$CONTEND_BINARY" validate bounds "$fleet/results" -o "$scratch/b.json" > /dev/null
sed -n 's/^{"machine": "\([^"]*\)", "reason".*/\1/p' "$scratch/b.json" | sort > "$scratch/accused"
cut -d ' ' -f 1 "$fleet/truth" | sort > "$scratch/bad"
missed=$(comm -13 "$scratch/accused" "$scratch/bad" | wc -l)
wrongly=$(comm -23 "$scratch/accused" "$scratch/bad" | wc -l)
echo "bad: $(wc -l < "$scratch/bad"), missed: $missed; good and accused: $wrongly of $machines"
[ "$missed" = 0 ] && [ $((wrongly * 1000)) -le "$machines" ]
