#!/bin/sh
# bundle.sh PROGRAM SOURCE_DIR: writes contend-<version>-linux-<machine>.tar.gz into the current
# folder and prints its name. PROGRAM looks for its libraries in lib/ beside it (CMake's target
# `bundle`), so the tarball runs wherever it is unpacked.
#
# contend_mpi.so comes with it where it was built. glibc stays out: it has to fit the kernel and the
# other libraries of the machine that runs it, and an older one than that of the build machine is
# refused by the loader.
set -eu

program=$1
source_dir=$2
glibc='/(ld-linux|lib(c|m|dl|rt|pthread|resolv|util|mvec))[-.]'

say() {
    printf 'contend: %s\n' "$*" >&2
}

# The libraries that PROGRAM loads, those of its libraries included: "name path" lines.
libraries() {
    ldd "$program" | awk '$2 == "=>" { print $1, $3 }' | grep -vE "$glibc"
}

# The package's copyright file, where the library came from a package. dpkg knows a file by the
# path in its package, which may lack the /usr that links add.
copy_license() {
    path=$(readlink -f "$1")
    package=$(dpkg-query -S "$path" "${path#/usr}" 2>/dev/null | cut -d: -f1 | head -n 1)
    [ -f "/usr/share/doc/$package/copyright" ] || return 0
    cp -L "/usr/share/doc/$package/copyright" "$root/licenses/$package.txt"
}

# The newest symbol version of glibc that any file needs, such as 2.34.
needed_glibc() {
    objdump -T "$root/contend" "$root"/lib/* | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' |
        sort -uV | tail -n 1
}

if ldd "$program" | grep 'not found' >&2; then
    say "a library of $program is missing (above)"
    exit 3
fi
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
name=contend-$("$program" --version | sed -n '1s/^contend \([0-9.]*\).*/\1/p')
root=$stage/$name
tarball=$name-linux-$(uname -m).tar.gz

mkdir -p "$root/lib" "$root/licenses"
strip --strip-debug -o "$root/contend" "$program"
libraries | while read -r library path; do
    strip --strip-unneeded -o "$root/lib/$library" "$path"
    copy_license "$path"
done
# MPI itself stays out: it has to be that of mpirun. The module that talks to it is loaded only then.
module=$(dirname "$program")/contend_mpi.so
[ ! -f "$module" ] || strip --strip-debug -o "$root/contend_mpi.so" "$module"
for file in LICENSE README.md CHANGELOG.md; do
    [ ! -f "$source_dir/$file" ] || cp "$source_dir/$file" "$root/"
done

# Names sorted, one owner and no time of day: the same build makes the same tarball.
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$name" |
    gzip -9n >"$tarball"
say "the bundle needs glibc >= $(needed_glibc)"
echo "$tarball"
