#!/usr/bin/env bash
# Builds for aarch64 and runs the unit tests in an emulator: tests/aarch64.sh [COMMAND...], with a command in place of the
# tests, such as build/aarch64/contend info. A program that starts itself again needs the kernel to know the emulator
# (binfmt_misc): it does in a namespace of its own, from Linux 6.7 on. Exit 77: something is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake/aarch64.sh || exit 77
cmake --preset aarch64 -DCONTEND_WERROR=ON -DCONTEND_TESTS=ON >/dev/null
cmake --build --preset aarch64 >&2
[ $# -gt 0 ] || set -- ctest --preset aarch64
export QEMU_LD_PREFIX=$PWD/build/aarch64-root
binfmt=/proc/sys/fs/binfmt_misc
if grep -qs "interpreter.*qemu-aarch64" $binfmt/*; then
    exec "$@"
fi
# shellcheck disable=SC2016
exec unshare --user --map-root-user --mount sh -c '
    if ! mount -t binfmt_misc none "$1"; then
        echo "aarch64: this kernel has no binfmt_misc for a namespace: install qemu-user-binfmt" >&2
        exit 77
    fi
    head="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    printf %s ":aarch64:M::$head:$mask:$(command -v qemu-aarch64):F" >"$1/register"
    shift
    exec "$@"' aarch64 $binfmt "$@"
