#!/bin/sh
# bundle.sh PROGRAM SOURCE_DIR [OLDER]: writes contend-<version>-linux-<machine>.tar.gz into the
# current folder and prints its name. PROGRAM looks for its libraries in lib/ beside it (CMake's
# target `bundle`), so the tarball runs wherever it is unpacked.
#
# OLDER is the same program, built with CUDA 12, and becomes contend-cuda12: for drivers and GPUs that
# CUDA 13 has left behind. drivers.txt says which drivers each serves.
#
# contend_mpi.so comes with it where it was built. glibc stays out: it has to fit the kernel and the
# other libraries of the machine that runs it, and an older one than that of the build machine is
# refused by the loader.
set -eu

program=$1
source_dir=$2
older=${3:-}
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

# cuda_of PROGRAM: "13.0.88"; nothing of a program without GPU parts.
cuda_of() {
    "$1" --version | sed -n 's/^built with CUDA \([0-9.]*\).*/\1/p'
}

# The least driver by CUDA's major version. Source: CUDA Toolkit Release Notes, "CUDA Toolkit and
# Minimum Required NVIDIA Driver Version for CUDA Minor Version Compatibility".
driver_of() {
    case $1 in
    13.*) echo "NVIDIA drivers from 580 on" ;;
    12.*) echo "NVIDIA drivers from 525 on" ;;
    11.*) echo "NVIDIA drivers from 450 on" ;;
    *) echo "NVIDIA drivers that know it" ;;
    esac
}

# say_drivers NAME VERSION: a line of drivers.txt.
say_drivers() {
    if [ -n "$2" ]; then
        echo "$1: CUDA $2, $(driver_of "$2")"
    else
        echo "$1: no GPU parts, built without CUDA"
    fi
}

# The newest symbol version of glibc that any file needs, such as 2.34.
needed_glibc() {
    objdump -T "$root"/contend* "$root"/lib/* | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' |
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
say_drivers contend "$(cuda_of "$program")" >"$root/drivers.txt"
if [ -n "$older" ] && [ -z "$(cuda_of "$older")" ]; then
    say "left out: $older has no GPU parts"
elif [ -n "$older" ]; then
    strip --strip-debug -o "$root/contend-cuda12" "$older"
    say_drivers contend-cuda12 "$(cuda_of "$older")" >>"$root/drivers.txt"
fi
libraries | while read -r library path; do
    strip --strip-unneeded -o "$root/lib/$library" "$path"
    copy_license "$path"
done
# MPI itself stays out: it has to be that of mpirun. The module that talks to it is loaded only then.
module=$(dirname "$program")/contend_mpi.so
[ ! -f "$module" ] || strip --strip-debug -o "$root/contend_mpi.so" "$module"
# For whoever copies share/ to a prefix, such as ~/.local; man -l reads the page where it is.
sh "$source_dir/cmake/manual.sh" "$program" "$root"
for file in LICENSE README.md CHANGELOG.md; do
    [ ! -f "$source_dir/$file" ] || cp "$source_dir/$file" "$root/"
done

# Names sorted, one owner and no time of day: the same build makes the same tarball.
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$name" |
    gzip -9n >"$tarball"
while read -r line; do say "$line"; done <"$root/drivers.txt"
say "the bundle needs glibc >= $(needed_glibc)"
echo "$tarball"
