#!/usr/bin/env bash
# The manual has everything that the help has, and is well-formed.
. tests/lib/cli.sh
"$CONTEND_BINARY" man >"$scratch/contend.1" || fail "exit $?: man"
"$CONTEND_BINARY" man --markdown >"$scratch/contend.md" || fail "exit $?: man --markdown"
tr -d '\134' <"$scratch/contend.1" >"$scratch/roff"

# shown LINE TEXT: a line of roff and a text of Markdown that must be there.
shown() {
    grep -qxF -- "$1" "$scratch/roff" || fail "no line '$1' in the page"
    grep -qF -- "$2" "$scratch/contend.md" || fail "no '$2' in the Markdown"
}
commands="$("$CONTEND_BINARY" help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p') completion man version"
for command in $commands; do
    usage=$("$CONTEND_BINARY" "$command" --help | # its first lines, as one
        sed -n '/^$/q; s/^usage: //; s/^ *//; p' | paste -sd' ')
    [ "$command" = help ] || shown ".SS $usage" "### \`$usage\`"
    while read -r option; do
        grep -qE -- "^\.B (-., )?$option( |$)" "$scratch/roff" || fail "no $option of $command in the page"
        grep -qE -- "^- \`(-., )?${option}[ \`]" "$scratch/contend.md" || fail "no $option in the Markdown"
        sed -n "/^### \`contend $command /,/^##/p" "$scratch/contend.md" | grep -qE -- "(^|[ \`])$option([, \`]|\$)" ||
            fail "no $option below $command in the Markdown"
    done < <("$CONTEND_BINARY" "$command" --help-all | grep -oE '^  (-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+')
done
"$CONTEND_BINARY" info | awk '/^[A-Z]/ { what = $1 } what ~ /^(Scenario|Benchmark|Placement)s/ && /^  [a-z]/ { print what, $1 }' >"$scratch/names"
[ "$(wc -l <"$scratch/names")" -gt 20 ] || fail "few names: $(cat "$scratch/names")"
while read -r what name; do
    case $what in
    Benchmarks)
        shown ".SS $name" "### \`$name\`"
        while read -r parameter _; do
            grep -qE "^\.B $parameter( |$)" "$scratch/roff" || fail "no parameter $parameter of $name"
        done < <("$CONTEND_BINARY" bench "$name" --help | sed -n 's/^  \([a-z_]\)/\1/p')
        ;;
    *) shown ".B $name" "- \`$name\`: " ;;
    esac
done <"$scratch/names"

# Among the shared options, each heading and each option with its text stands once.
sed -n '/^## Shared options/,/^## Scenarios/p' "$scratch/contend.md" >"$scratch/shared"
twice=$(grep -e '^- ' -e '^[A-Z]' "$scratch/shared" | sed 's/ Commands: .*//' | sort | uniq -d)
[ -z "$twice" ] || fail "twice among the shared options: $twice"
bare=$(awk '/^- / && gap && !heading { print } { gap = $0 == "" } /^[A-Z]/ { heading = 1 } /^- / { heading = 0 }' "$scratch/shared")
[ -z "$bare" ] || fail "shared options without a heading: $bare"
[ "$(grep -c '^- ' "$scratch/shared")" -gt 20 ] || fail "few shared options"

# groff and mandoc find no error, except for a missing date: a build may have none.
if command -v groff >/dev/null; then
    said=$(groff -ww -man -Tutf8 -z "$scratch/contend.1" 2>&1)
    [ -z "$said" ] || fail "groff: $said"
else
    echo "groff is not installed: the page was not formatted"
fi
if command -v mandoc >/dev/null; then
    said=$(mandoc -Tlint -W warning "$scratch/contend.1" 2>&1 | grep -v 'missing date')
    [ -z "$said" ] || fail "mandoc: $said"
else
    echo "mandoc is not installed: the page was not checked"
fi
finish
