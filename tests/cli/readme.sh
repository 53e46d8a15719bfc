#!/usr/bin/env bash
# What README.md and docs/ show is what the program says, and what they point to is there.
. tests/lib/cli.sh
printed=$("$CONTEND_BINARY" list --markdown)
shown=$(sed -n '/^<!-- list -->$/,/^<!-- \/list -->$/p' docs/reference.md | sed '1d;$d')
[ "$printed" = "$shown" ] ||
    fail "docs/reference.md is not what 'contend list --markdown' prints:"$'\n'"$(diff <(echo "$shown") <(echo "$printed"))"
for page in README.md docs/*.md; do
    grep -o '](\([^)#]*\))' "$page" | sed 's/](\(.*\))/\1/' | grep -v '^http' | while read -r path; do
        [ -e "$(dirname "$page")/$path" ] || echo "$page: $path"
    done
done > "$scratch/missing"
[ ! -s "$scratch/missing" ] || fail "links to what is not there: $(cat "$scratch/missing")"
words=$(wc -w < README.md)
[ "$words" -le 1400 ] || fail "README.md has $words words; what is more than 1,400 belongs in docs/"
finish
