#!/usr/bin/env bash
# The bundle runs on a bare server: in a root that holds glibc, /proc and /sys, and nothing else.
. tests/lib/cli.sh
if [ -n "$CONTEND_SANITIZE" ] || [ "$(id -u)" != 0 ]; then
    echo "needs root for chroot, and a build without sanitizers"
    exit 77
fi
root=$scratch/root
trap 'umount "$root/proc" "$root/sys" 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT

# The front door's lock: another test run may build the same here.
flock "$CONTEND_BUILD_DIR/front-door.lock" cmake --build "$CONTEND_BUILD_DIR" --target bundle \
    >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
(cd "$scratch" && sh "$CONTEND_SOURCE_DIR/cmake/bundle.sh" "$CONTEND_BUILD_DIR/bundle/contend" \
    "$CONTEND_SOURCE_DIR") >"$scratch/name" || fail "bundle.sh fails"
tarball=$scratch/$(cat "$scratch/name")
size_mb=$(($(stat -c %s "$tarball") / 1000000))
[ "$size_mb" -lt 25 ] || fail "the bundle has $size_mb MB"

mkdir -p "$root"/{proc,sys,tmp}
ldd "$CONTEND_BINARY" | grep -oE '/[^ ]*/(ld-linux|lib(c|m)\.so)[^ ]*' | while read -r library; do
    install -D "$library" "$root$library"
done
tar -xzf "$tarball" -C "$root/tmp"
program=/tmp/$(basename "$tarball" "-linux-$(uname -m).tar.gz")/contend
for file in LICENSE CHANGELOG.md licenses/libhwloc15.txt share/man/man1/contend.1 \
    share/bash-completion/completions/contend; do
    [ -s "$root$(dirname "$program")/$file" ] || fail "no $file in the bundle"
done
[ ! -e "$CONTEND_BUILD_DIR/contend_mpi.so" ] || [ -s "$root$(dirname "$program")/contend_mpi.so" ] ||
    fail "no contend_mpi.so in the bundle"
if ! mount --bind /proc "$root/proc" || ! mount --bind /sys "$root/sys"; then
    echo "mounts are not allowed here"
    exit 77
fi
[ "$(chroot "$root" "$program" --version)" = "$("$CONTEND_BINARY" --version)" ] ||
    fail "another version in the bundle"
expect 0 'CPU|core' chroot "$root" "$program" topo
expect 0 'pipeline' chroot "$root" "$program" list
finish
