#!/usr/bin/env bash
# contend validate fleet: a fleet is judged from its results, by itself and by a baseline.
. tests/lib/cli.sh
needs python3
python3 tests/lib/make_fleet.py "$scratch/a" --machines 30 --rows 60 --bad 0.07 --off 0.4 --seed 3
results=("$CONTEND_BINARY" validate fleet "$scratch/a/results")

# By itself: the two that are bad are named.
expect 1 '^2 of 30 machines fail, 0 are odd, 28 pass' "${results[@]}"
while read -r machine _; do
    expect 1 "^$machine +FAIL" "${results[@]}"
    expect 1 "\"subject\": \"$machine\"" "${results[@]}" --json
done < "$scratch/a/truth"
"${results[@]}" | awk 'length($0) > 80 { print; found = 1 } END { exit found }' ||
    fail "lines of more than 80 columns"

# By a baseline, and by what a person made of it: open, for others, without bounds, narrower.
expect 0 '28 of 30' "$CONTEND_BINARY" validate bounds "$scratch/a/results" -o "$scratch/b.json"
expect 1 '^2 of 30 machines fail' "${results[@]}" --bounds "$scratch/b.json"
sed '0,/"lower": [0-9.e+-]*/s//"lower": null/' "$scratch/b.json" > "$scratch/open.json"
expect 1 '^2 of 30 machines fail' "${results[@]}" --bounds "$scratch/open.json"
sed 's/"kind": ".*",$/"kind": "another",/' "$scratch/b.json" > "$scratch/kind.json"
expect 1 '^30 of 30 machines fail' "${results[@]}" --bounds "$scratch/kind.json"
sed 's/"lower": [0-9.e+-]*/"lower": null/; s/"upper": [0-9.e+-]*/"upper": null/
    s/"required": true/"required": false/' "$scratch/b.json" > "$scratch/none.json"
expect 0 '^0 of 30 machines fail, 0 are odd, 30 pass' "${results[@]}" --bounds "$scratch/none.json"
line=$(grep -n '"metric"' "$scratch/b.json" | head -1 | cut -d : -f 1)
sed "${line}s/\"reference\": \([^,]*\), \"lower\": [^,]*/\"reference\": \1, \"lower\": \1/" \
    "$scratch/b.json" > "$scratch/narrow.json"
expect 1 '^1[0-9] of 30 machines fail|, 1[0-9] are odd' "${results[@]}" --bounds "$scratch/narrow.json"

# Swapped bounds, by file and line.
sed '/"metric"/s/"lower": \([0-9.e+-]*\), "upper": \([0-9.e+-]*\)/"lower": \2, "upper": \1/' \
    "$scratch/b.json" > "$scratch/swapped.json"
expect 2 "swapped.json line $line: lower .* is above upper" "${results[@]}" \
    --bounds "$scratch/swapped.json"

# One machine says nothing about itself; files of the reports; what goes together.
expect 4 'cannot be judged by each other: give --bounds' "$CONTEND_BINARY" validate fleet \
    "$scratch/a/results/node00000"
expect 1 'machines fail' "${results[@]}" --junit "$scratch/fleet.xml"
grep -q '<failure' "$scratch/fleet.xml" || fail "no failure in the JUnit file"
expect 2 "'contend validate fleet DIR...' judges results" "$CONTEND_BINARY" validate fleet
expect 2 'waivers is for judging this server, not results' "${results[@]}" --waivers "$scratch/w.json"
finish
