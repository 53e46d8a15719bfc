#!/usr/bin/env bash
# What the README shows is what the program says.
. tests/lib/cli.sh
printed=$("$CONTEND_BINARY" list --markdown)
shown=$(sed -n '/^<!-- list -->$/,/^<!-- \/list -->$/p' README.md | sed '1d;$d')
[ "$printed" = "$shown" ] ||
    fail "README.md is not what 'contend list --markdown' prints:"$'\n'"$(diff <(echo "$shown") <(echo "$printed"))"
grep -o '](\([^)#]*\))' README.md | sed 's/](\(.*\))/\1/' | grep -v '^http' | while read -r path; do
    [ -e "$path" ] || echo "$path"
done > "$scratch/missing"
[ ! -s "$scratch/missing" ] || fail "README.md points to what is not there: $(cat "$scratch/missing")"
finish
