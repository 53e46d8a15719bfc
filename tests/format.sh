#!/usr/bin/env bash
# Checks that clang-format 14 leaves every C and CUDA source unchanged, by .clang-format. Exits 77
# (skipped) without that version, as others format differently. Scripts must pass shellcheck, if it
# is installed.
#
#   tests/format.sh [--fix]
set -euo pipefail
cd "$(dirname "$0")/.."

clang_format() {
    local program
    for program in clang-format-14 clang-format; do
        if "$program" --version 2>/dev/null | grep -q 'version 14\.'; then
            echo "$program"
            return
        fi
    done
    echo "SKIP: needs clang-format 14"
    exit 77
}

format=$(clang_format) || { echo "$format" && exit 77; }
mapfile -d '' sources < <(find harness bench kernels tests -type f \
    -regex '.*\.\(c\|h\|cu\|cuh\|inc\)' -print0 2>/dev/null)
[ "${#sources[@]}" -gt 0 ]
if [ "${1:-}" = --fix ]; then
    "$format" -i "${sources[@]}"
    exit
fi
"$format" --dry-run --Werror "${sources[@]}"

if command -v shellcheck >/dev/null; then
    shellcheck --shell sh --external-sources contend cmake/*.sh share/*/*.sh
    shellcheck --shell bash --external-sources --severity warning .ci/run tests/*.sh tests/*/*.sh
fi
echo "${#sources[@]} sources are well formatted"
