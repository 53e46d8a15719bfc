#!/usr/bin/env bash
# README.md and docs/ show the program's real output, and everything that they link to exists.
. tests/lib/cli.sh
"$CONTEND_BINARY" man --markdown | diff docs/reference.md - > "$scratch/reference" ||
    fail "docs/reference.md is not what 'contend man --markdown' prints:"$'\n'"$(cat "$scratch/reference")"
for page in README.md CONTRIBUTING.md CHANGELOG.md docs/*.md results/README.md results/*/README.md; do
    grep -o '](\([^)#]*\))' "$page" | sed 's/](\(.*\))/\1/' | grep -v '^http' | while read -r path; do
        [ -e "$(dirname "$page")/$path" ] || echo "$page: $path"
    done
done > "$scratch/missing"
[ ! -s "$scratch/missing" ] || fail "links to what is not there: $(cat "$scratch/missing")"
# The benchmark that CONTRIBUTING.md shows compiles.
awk '/^```c$/ { f = 1; next } /^```/ { f = 0 } f' CONTRIBUTING.md >"$scratch/clock_read.c"
"${CC:-cc}" -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -I. "$scratch/clock_read.c" ||
    fail "the benchmark of CONTRIBUTING.md does not compile"
grep -q . "$scratch/clock_read.c" || fail "CONTRIBUTING.md shows no benchmark"
# The program accepts each command that they show. tests/cli/ci_jobs.sh and jobs_*.sh run the files of share/.
if python3 -c '' 2>/dev/null; then
    commands() { # commands PAGE...
        rm -rf "$scratch/folder"
        mkdir "$scratch/folder"
        (cd "$scratch/folder" && python3 "$here/tests/lib/commands.py" "$binary" "$@" 2>"$scratch/tried") ||
            fail "commands of $*: $(cat "$scratch/tried")"
    }
    here=$PWD
    binary=$(realpath "$CONTEND_BINARY")
    pages=("$here/README.md" "$here"/results/README.md "$here"/results/*/README.md)
    for page in "$here"/docs/*.md; do
        [ "${page##*/}" = reference.md ] || pages+=("$page")
    done
    sed -n '/^## Examples/,$p' docs/reference.md >"$scratch/examples.md" # of each command's help
    refused=$(commands "${pages[@]}" "$scratch/examples.md")
    [ -z "$refused" ] || fail "commands that contend refuses: $refused"
    [ "$(sed 's/ commands$//' "$scratch/tried")" -gt 80 ] || fail "only $(cat "$scratch/tried")"
    printf '`contend run nothing` and\n\n```sh\nx && sudo ./contend doctor --nothing # new\n```\n' >"$scratch/wrong.md"
    [ "$(commands "$scratch/wrong.md" | wc -l)" = 2 ] || fail "two wrong commands are not both found"
fi
words=$(wc -w < README.md)
[ "$words" -le 900 ] || fail "README.md has $words words; what is more than 900 belongs in docs/"
finish
