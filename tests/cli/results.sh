#!/usr/bin/env bash
# results/ is small. A document names each result, and its summary and page are what today's program writes. The numbers
# that documents quote beside a result are in it.
#
#   tests/cli/results.sh --update    writes summaries, pages and figures anew (CONTEND_BINARY, CONTEND_FAKE)
. tests/lib/cli.sh
binary=$(realpath "$CONTEND_BINARY")
runs=(results/*/*/run.json)
runs=("${runs[@]%/run.json}")
kept=()
for run in "${runs[@]}"; do # not those of other machines, which git ignores
    [ -e "${run%/*}/README.md" ] && kept+=("$run")
done
[ "${#kept[@]}" -gt 10 ] || fail "only ${#kept[@]} results"

# again RUN [PATH]: reports a copy of it, and prints the output without its path.
again() {
    mkdir -p "$scratch/${1%/*}"
    cp -r "$1" "$scratch/$1"
    find "$scratch/$1" -name '*.xz' -exec xz -d {} +
    rm -f "$scratch/$1/report.html"
    (cd "$scratch" && PATH=${2:-$PATH} "$binary" report -v "$1" 2>"$scratch/log") | sed '/^Results: /,$d' | sed '${/^$/d}'
}

verdict() { # verdict PAGE
    sed -n '/class="verdict/,/<\/div>/p' "$1"
}

if [ "${1:-}" = --update ]; then
    needs xz gnuplot
    for run in "${kept[@]}"; do
        again "$run" >"$scratch/summary.txt"
        cp "$scratch/summary.txt" "$run"
        find "$run" -name '*.html' -o -name '*.svg' -o -name '*.png' | while read -r file; do
            cp "$scratch/$file" "$file" || echo "$file is not made again"
        done
    done
    finish
fi

size=$(git ls-files -z results 2>/dev/null | xargs -0r cat | wc -c)
[ "$size" -le 8000000 ] || fail "results/ holds $size bytes, of 8,000,000"
for run in "${kept[@]}"; do
    grep -qF "$run)" README.md docs/*.md || fail "no document links to $run"
    line=$(grep -F "| \`${run##*/}\` |" "${run%/*}/README.md") || fail "${run%/*}/README.md has no line for ${run##*/}"
    for gain in $(grep -oE '[0-9.]+x\b' <<<"$line"); do
        grep -qwF "$gain" "$run/summary.txt" || fail "${run%/*}/README.md: $gain is not in ${run##*/}"
    done
done

if command -v xz >/dev/null; then
    for run in "${kept[@]}"; do
        again "$run" /nonexistent | diff "$run/summary.txt" - >"$scratch/diff" ||
            fail "$run: 'contend report' says something else today; $0 --update writes it: $(cat "$scratch/diff" "$scratch/log")"
        [ ! -e "$run/report.html" ] || cmp -s <(verdict "$run/report.html") <(verdict "$scratch/$run/report.html") ||
            fail "$run/report.html has an old verdict; $0 --update writes it"
    done
fi

if python3 -c '' 2>/dev/null; then
    quoted=$(python3 tests/lib/quoted.py README.md docs/*.md) || fail "$quoted"
    run=${kept[0]}
    printf '`sized` does [98765x](%s) the work.\n\n```\nnone 1x\n\nsized 4321 k\n```\n' "$PWD/$run" >"$scratch/wrong.md"
    [ "$(python3 tests/lib/quoted.py "$scratch/wrong.md" | wc -l)" = 2 ] || fail "two wrong numbers are not both found"
fi
finish
