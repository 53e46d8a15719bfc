#!/usr/bin/env bash
# What README.md and docs/ show is what the program says, and what they point to is there.
. tests/lib/cli.sh
"$CONTEND_BINARY" man --markdown | diff docs/reference.md - > "$scratch/reference" ||
    fail "docs/reference.md is not what 'contend man --markdown' prints:"$'\n'"$(cat "$scratch/reference")"
for page in README.md CHANGELOG.md docs/*.md results/README.md results/*/README.md; do
    grep -o '](\([^)#]*\))' "$page" | sed 's/](\(.*\))/\1/' | grep -v '^http' | while read -r path; do
        [ -e "$(dirname "$page")/$path" ] || echo "$page: $path"
    done
done > "$scratch/missing"
[ ! -s "$scratch/missing" ] || fail "links to what is not there: $(cat "$scratch/missing")"
words=$(wc -w < README.md)
[ "$words" -le 900 ] || fail "README.md has $words words; what is more than 900 belongs in docs/"
finish
