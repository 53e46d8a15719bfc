#!/bin/sh
# bundle.sh PROGRAM SOURCE_DIR [OLDER]: writes contend-<version>-linux-<machine>.tar.gz into the
# current folder and prints its name. PROGRAM looks for its libraries in lib/ beside it (CMake's
# target `bundle`), so the tarball runs wherever it is unpacked.
#
# OLDER is the same program built with CUDA 12, for drivers and GPUs that CUDA 13 no longer supports. It becomes
# contend-cuda12. drivers.txt says which drivers each program serves.
#
# CONTEND_ARCH=aarch64: the program is a cross-build, with the tools and libraries that cmake/aarch64.sh installs.
#
# contend-comms, contend-doctor and libcontend_comms.so are included, and contend_mpi.so if it was built. glibc is not:
# it has to fit the kernel and the other libraries of the target machine. The loader refuses a glibc older than the one
# of the build machine.
set -eu

program=$1
source_dir=$2
older=${3:-}
machine=${CONTEND_ARCH:-$(uname -m)}
sysroot='' tools=''
if [ "$machine" != "$(uname -m)" ]; then
    sysroot=$(readlink -f "$source_dir/build/$machine-root")
    tools=$machine-linux-gnu-
    export CONTEND_EMULATOR="qemu-$machine" QEMU_LD_PREFIX="$sysroot"
fi
glibc='/(ld-linux|lib(c|m|dl|rt|pthread|resolv|util|mvec))[-.]'

say() {
    printf 'contend: %s\n' "$*" >&2
}

# What ldd prints; the loader of another machine prints it when it is asked itself.
loads() {
    if [ -n "$sysroot" ]; then
        "$CONTEND_EMULATOR" -E LD_TRACE_LOADED_OBJECTS=1 "$program"
    else
        ldd "$program"
    fi
}

# Prints "name path" lines: the libraries that PROGRAM loads, including indirect dependencies.
libraries() {
    loads | awk -v root="$sysroot" '$2 == "=>" { print $1, root $3 }' | grep -vE "$glibc"
}

# archives PROGRAM: the archives from outside of its build that have a part in it, as the linker lists them.
archives() {
    sed -n 's/^\(\/.*\.a\)(.*/\1/p' "$1.map" 2>/dev/null | sort -u
}

# owner PATH: prints the package that the file is of, and its version. Packages may lack the /usr that links add.
owner() {
    path=$(readlink -f "$1")
    case $path in
    "${sysroot:-none}"/*) awk -v path=".${path#"$sysroot"}" '$3 == path { print $1, $2 }' "$sysroot/apt/files" ;;
    *)
        package=$(dpkg-query -S "$path" "${path#/usr}" 2>/dev/null | cut -d: -f1 | head -n 1)
        [ -z "$package" ] || dpkg-query -W -f '${Package} ${Version}\n' "$package" | head -n 1
        ;;
    esac
}

# record FILE VERSION: prints a line of versions.txt, and copies the licence. VERSION is that of a file of no package.
record() {
    found=$(owner "$1")
    echo "$(basename "$1") ${found:-- ${2:-unknown}}"
    for doc in "$sysroot" ''; do
        doc=$doc/usr/share/doc/${found%% *}/copyright
        [ -n "$found" ] && [ -f "$doc" ] && cp -L "$doc" "$root/licenses/${found%% *}.txt" && return
    done
    return 0
}

# cuda_of PROGRAM: prints a version such as "13.0.88"; nothing for a program without GPU parts.
cuda_of() {
    ${CONTEND_EMULATOR:-} "$1" --version | sed -n 's/^built with CUDA \([0-9.]*\).*/\1/p'
}

# The oldest driver that supports a major version of CUDA. Source: CUDA Toolkit Release Notes, "CUDA Toolkit and Minimum
# Required NVIDIA Driver Version for CUDA Minor Version Compatibility".
driver_of() {
    case $1 in
    13.*) echo "NVIDIA drivers from 580 on" ;;
    12.*) echo "NVIDIA drivers from 525 on" ;;
    11.*) echo "NVIDIA drivers from 450 on" ;;
    *) echo "NVIDIA drivers that know it" ;;
    esac
}

# say_drivers NAME VERSION: prints a line of drivers.txt.
say_drivers() {
    if [ -n "$2" ]; then
        echo "$1: CUDA $2, $(driver_of "$2")"
    else
        echo "$1: no GPU parts, built without CUDA"
    fi
}

# The newest version of glibc that any file needs, such as 2.34. Packed relocations (DT_RELR) need 2.36.
needed_glibc() {
    "${tools}objdump" -p "$root"/*contend* "$root"/lib/* | sed 's/GLIBC_ABI_DT_RELR/GLIBC_2.36/' |
        grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -uV | tail -n 1
}

# say_file NAME MEANING: prints a line of the table of files, if the bundle has the file.
say_file() {
    [ ! -e "$root/$1" ] || echo "| \`$1\` | $2 |"
}

# The README has to be complete by itself: a user of the bundle has no sources and no build.
write_readme() {
    cat <<END
# $name

What workers that feed GPUs lose to each other on the CPUs of this server, and the commands that give
it back. This is the program alone, built for Linux on $machine with glibc $glibc_least or later; nothing is
installed, and nothing else is needed.

    ./contend run             measures (about a minute) and prints the verdict
    ./contend place           the commands that place a job of your own
    ./contend info            the machine, what else there is to run, and what cannot run here and why
    ./contend info --measure  also the machine as measured, beside what it reports
    ./contend --help          all commands; ./contend run --help tells about one

A run keeps what it measured in the folder that its last line names. Pictures are drawn where gnuplot is
installed; elsewhere, copy that folder to a machine that has it: \`./contend report FOLDER\` draws them.

| file | what it is |
|---|---|
END
    say_file contend "the program"
    say_file contend-cuda12 "the same, for older drivers and GPUs"
    say_file contend-comms "\`contend comms\`; stays beside the program"
    say_file contend-doctor "\`contend doctor\`; stays beside the program"
    say_file libcontend_comms.so "loaded by NCCL under \`contend comms\`; stays beside the program"
    say_file sample_worker.py "the worker of \`contend run --sample\`; stays beside the program"
    say_file machines "what \`contend validate --machine\` knows; stays beside the program"
    say_file contend_mpi.so "loaded where mpirun or srun starts ranks; stays beside the program"
    say_file drivers.txt "which drivers of GPUs each program serves"
    say_file lib "libraries that the program loads; stays beside it"
    say_file docs "the pages that help and messages name"
    say_file CHANGELOG.md "what changed, version by version"
    say_file LICENSE "the license of the program"
    say_file share "the manual page and completions of shells; \`man -l share/man/man1/contend.1\`"
    say_file licenses "those of the libraries, and their versions"
}

if loads | grep 'not found' >&2; then
    say "a library of $program is missing (above)"
    exit 3
fi
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
name=contend-$(${CONTEND_EMULATOR:-} "$program" --version | sed -n '1s/^contend \([0-9.]*\).*/\1/p')
root=$stage/$name
tarball=$name-linux-$machine.tar.gz

mkdir -p "$root/lib" "$root/licenses"
"${tools}strip" --strip-debug -o "$root/contend" "$program"
say_drivers contend "$(cuda_of "$program")" >"$root/drivers.txt"
if [ -n "$older" ] && [ -z "$(cuda_of "$older")" ]; then
    say "left out: $older has no GPU parts"
elif [ -n "$older" ]; then
    "${tools}strip" --strip-debug -o "$root/contend-cuda12" "$older"
    say_drivers contend-cuda12 "$(cuda_of "$older")" >>"$root/drivers.txt"
fi
libraries | while read -r library path; do
    "${tools}strip" --strip-unneeded -o "$root/lib/$library" "$path"
    record "$path"
done >"$root/licenses/versions.txt"
for linked in "$program" ${older:+"$older"}; do
    archives "$linked" | while read -r path; do record "$path" "$(cuda_of "$linked")"; done
done >>"$root/licenses/versions.txt"
for beside in contend-comms contend-doctor libcontend_comms.so; do
    "${tools}strip" --strip-debug -o "$root/$beside" "$(dirname "$program")/$beside"
done
# MPI is not included: it has to be mpirun's own. The module that uses it is loaded only under mpirun.
module=$(dirname "$program")/contend_mpi.so
cp -r "$source_dir/share/sample_worker.py" "$source_dir/share/machines" "$root/"
[ ! -f "$module" ] || "${tools}strip" --strip-debug -o "$root/contend_mpi.so" "$module"
# Users may copy share/ to a prefix, such as ~/.local; man -l reads the page where it is.
sh "$source_dir/cmake/manual.sh" "$program" "$root"
mv "$root/share/doc/contend/docs" "$root/docs" && rm -r "$root/share/doc"
for file in LICENSE CHANGELOG.md; do
    [ ! -f "$source_dir/$file" ] || cp "$source_dir/$file" "$root/"
done
glibc_least=$(needed_glibc)
write_readme >"$root/README.md"

# Sorted names, one owner and no time of day make the tarball reproducible.
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$name" |
    gzip -9n >"$tarball"
while read -r line; do say "$line"; done <"$root/drivers.txt"
say "the bundle needs glibc >= $glibc_least"
echo "$tarball"
