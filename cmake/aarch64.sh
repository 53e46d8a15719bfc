#!/bin/sh
# Installs a compiler and an emulator for the preset aarch64, and unpacks Debian's arm64 libraries
# into build/aarch64-root. The lists of apt and dpkg about them are there too: this system's own stay
# as they are, since a second architecture would tie its packages' versions to those of the first.
set -eu
here=$(dirname "$(readlink -f "$0")")
root=$here/../build/aarch64-root
log=$root/install.log

say() {
    printf 'contend: %s\n' "$*" >&2
}

die() {
    code=$1
    shift
    say "$@"
    exit "$code"
}

# shellcheck source=cmake/packages.sh
. "$here/packages.sh"
mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial"
root=$(readlink -f "$root")
[ ! -e "$root/apt/files" ] || exit 0
install_packages "gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc
g++-aarch64-linux-gnu aarch64-linux-gnu-g++
qemu-user qemu-aarch64"

: >"$root/apt/status"
apt_arm64() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::Cache="$root/apt" \
        -o Dir::State="$root/apt" -o Dir::State::status="$root/apt/status" "$@" >>"$log" 2>&1
}
say "unpacking Debian's arm64 libraries in $root"
{ apt_arm64 update && apt_arm64 install -y --no-install-recommends --download-only libc6-dev \
    libhwloc-dev libnuma-dev libjansson-dev libcmocka-dev libgomp1 libstdc++6; } ||
    die 2 "cannot download the arm64 libraries: see $log"
# files: "PACKAGE VERSION ./PATH" for each file; shlibs: the package that a package has to depend on for a library.
: >"$root/apt/shlibs"
for deb in "$root"/apt/archives/*.deb; do
    dpkg-deb -x "$deb" "$root"
    owner=$(dpkg-deb -W "$deb")
    dpkg-deb --fsys-tarfile "$deb" | tar -t | sed "s/^/$owner /"
    dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./shlibs 2>/dev/null | grep -v '^udeb' >>"$root/apt/shlibs" || true
done >"$root/apt/files.new"
# Links such as libm.so name a path from the root of the system that they are meant for.
find "$root" -lname '/*' | while read -r link; do
    ln -sfn "$root$(readlink "$link")" "$link"
done
mv "$root/apt/files.new" "$root/apt/files"
