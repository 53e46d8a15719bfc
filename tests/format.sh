#!/usr/bin/env bash
# Every C and CUDA source is as clang-format 14 writes it with .clang-format; without that version,
# since others write a few things otherwise, 77 (skipped). Scripts pass shellcheck, where it is there.
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
