#!/usr/bin/env bash
# contend validate bounds makes bounds from 30 machines, two of them bad, and writes a file that can be read and edited.
. tests/lib/cli.sh
needs python3
fleet="$scratch/fleet 1"
python3 tests/lib/make_fleet.py "$fleet" --machines 30 --rows 60 --bad 0.07 --off 0.4 --seed 3
[ "$(wc -l < "$fleet/truth")" = 2 ] || fail "not two bad machines: $(cat "$fleet/truth")"

expect 0 '^60 figures have bounds, by 28 of 30 machines' "$CONTEND_BINARY" validate bounds "$fleet/results" \
    -o "$scratch/b.json"
while read -r machine _; do
    grep -q "\"machine\": \"$machine\", \"reason\"" "$scratch/b.json" ||
        fail "$machine is not left out: $(cat "$fleet/truth")"
done < "$fleet/truth"
[ "$(grep -c '"metric"' "$scratch/b.json")" = 60 ] || fail "not a line for each figure"
grep -q '"schema": "contend-bounds"' "$scratch/b.json" || fail "no schema"

# An existing file may have been edited, so it is not overwritten.
expect 2 "b.json' is there already" "$CONTEND_BINARY" validate bounds "$fleet/results" -o "$scratch/b.json"

# With several kinds of machines, the first kind is not chosen by default.
mkdir "$scratch/kinds"
for i in 1 2 3 4; do cp -r "$fleet/results/node0000$((i + 3))" "$scratch/kinds/$i"; done
sed -i 's/Intel/Amber/' "$scratch"/kinds/[34]/*/run.json
expect 4 "machines of several kinds: give directories of one kind, or 3 or more of one kind, .*: 2 of '2 x (Intel|Amber).*, 2 of '2 x " \
    "$CONTEND_BINARY" validate bounds "$scratch/kinds" -o "$scratch/c.json"
expect 4 'machines of several kinds' "$CONTEND_BINARY" validate fleet "$scratch/kinds"
cp -r "$fleet/results/node00008" "$scratch/kinds/5"
expect 0 'by 3 of 5 machines' "$CONTEND_BINARY" validate bounds "$scratch/kinds" -o "$scratch/three.json"

# Machines that ran different things have no value in common, and bounds without values would pass any machine.
mkdir "$scratch/apart"
for i in 4 5 6; do
    cp -r "$fleet/results/node0000$i" "$scratch/apart/$i"
    sed -i "s/slots=/slots=$i/" "$scratch/apart/$i"/*/rows.csv
done
expect 4 'nothing to bound: no figure is common to half of the 3 machines' \
    "$CONTEND_BINARY" validate bounds "$scratch/apart" -o "$scratch/c.json"

# Errors are reported, and nothing is written.
expect 2 'no file to write' "$CONTEND_BINARY" validate bounds "$fleet/results"
expect 2 'no result directories' "$CONTEND_BINARY" validate bounds -o "$scratch/c.json"
expect 2 'cannot open the directory' "$CONTEND_BINARY" validate bounds "$scratch/gone" -o "$scratch/c.json"
mkdir "$scratch/empty"
expect 2 'no result in' "$CONTEND_BINARY" validate bounds "$scratch/empty" -o "$scratch/c.json"
cp -r "$fleet/results" "$scratch/damaged"
rows="$scratch/damaged/node00004/0/rows.csv"
sed -i '7s/,ok,$/,ok/' "$rows"
expect 2 "node00004/0': rows.csv, line 7: " "$CONTEND_BINARY" validate bounds "$scratch/damaged" \
    -o "$scratch/c.json"
expect 2 'no bounds while results are damaged' "$CONTEND_BINARY" validate bounds "$scratch/damaged" \
    -o "$scratch/c.json"
[ ! -e "$scratch/c.json" ] || fail "bounds were written"
finish
