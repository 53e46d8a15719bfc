#!/usr/bin/env bash
# Checks tracked files for common misspellings, except names of variables and mistakes that tests make on purpose. Exits
# 77 (skipped) without codespell.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v codespell >/dev/null || { echo "SKIP: needs codespell" && exit 77; }
git ls-files -z -- ':!results/*/*/*' ':!*.png' ':!*.svg' ':!*.xml' ':!*.xz' |
    xargs -0 codespell --ignore-words-list fro,nown,governer,siz,palce,blok,withs,fo,damon
echo "no misspelling"
