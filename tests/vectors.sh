#!/usr/bin/env bash
# Whether the compiler vectorised what measures: each kernel of STREAM and of prep has vectors of its instruction set.
#   tests/vectors.sh OBJDUMP LIBRARY     a release build's libcontend_kernels.a, of x86-64 or aarch64
set -euo pipefail

stream=(read write copy scale add triad)
prep=(moments transform features covariance)
case $("$1" -f "$2" | sed -n 's/^architecture: \([^,:]*\).*/\1/p' | sort -u) in
i386) sets=$'sse2:p[sd] .*%xmm\navx2:%ymm\navx512:%[yz]mm\nbaseline:p[sd] .*%xmm' ;;
aarch64) sets=$'generic:[^a-z](q[0-9]+|v[0-9]+[.]2d)\nsve:[^a-z]z[0-9]+[.]\nbaseline:[^a-z]v[0-9]+[.]4s' ;;
*) echo "no vectors are known for $2" >&2 && exit 77 ;;
esac
code=$(mktemp)
trap 'rm -f "$code"' EXIT
"$1" -d --no-show-raw-insn "$2" >"$code"

# vectors FUNCTION PATTERN: the instructions of the function that match.
vectors() {
    sed -n "/<$1>:\$/,/^\$/p" "$code" | grep -cE "$2" || true
}

failed=0
while read -r kind; do
    name=${kind%%:*}
    kernels=("${stream[@]}" "${prep[@]}")
    [ "$name" != baseline ] || kernels=("${prep[@]}")
    [[ $name != sse2 && $name != generic ]] || kernels=("${stream[@]}")
    for kernel in "${kernels[@]}"; do
        n=$(vectors "${kernel}_$name" "${kind#*:}")
        echo "${kernel}_$name $n"
        [ "$n" -gt 0 ] || failed=1
    done
done <<<"$sets"
exit "$failed"
