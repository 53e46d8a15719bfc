#!/usr/bin/env bash
# ./contend is quick if nothing changed, prints nothing of its own on stdout, and says what is missing. It builds a copy
# of the tree with one small program, which is quick and leaves the program of other tests unchanged.
. tests/lib/cli.sh
[ "$CONTEND_BUILD_DIR" = "$CONTEND_SOURCE_DIR/build/release" ] ||
    skip "the front door builds build/release, not $CONTEND_BUILD_DIR"
unset CONTEND_BUILD_DIR CONTEND_NO_INSTALL

# make_tree FOLDER: the front door and its list of packages are the real files.
make_tree() {
    mkdir -p "$1"/{bench,cmake,harness,kernels,plots}
    cp "$CONTEND_SOURCE_DIR"/{contend,CMakePresets.json} "$1"
    cp "$CONTEND_SOURCE_DIR/cmake/packages.sh" "$1/cmake"
    cat >"$1/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(contend LANGUAGES C)
add_executable(contend harness/main.c)
foreach(part IN ITEMS MPI CUDA TESTS)
    option(CONTEND_${part} "Optional" ON)
    if(CONTEND_${part} AND EXISTS "${CMAKE_SOURCE_DIR}/broken-${part}")
        message(FATAL_ERROR "${part} is not whole")
    endif()
endforeach()
if(CONTEND_MPI AND EXISTS "${CMAKE_SOURCE_DIR}/mpi.c")
    add_library(contend_mpi MODULE mpi.c)
    add_dependencies(contend contend_mpi)
endif()
CMAKE
    edit "$1" first
}
# edit FOLDER WORD: writes a newer source. The program prints WORD, and for `how` the name it was started by.
edit() {
    cat >"$1/harness/main.c" <<C
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "how"))
        return puts(getenv("CONTEND_PROGRAM")) < 0;
    printf("$2 %s\n", argc > 1 ? argv[1] : "");
    return argc > 1 && argv[1][0] == 'X' ? 2 : 0;
}
C
}
# says WORD COMMAND...: the program prints only WORD, and the front door nothing.
says() {
    local word=$1 said
    shift
    said=$("$@" 2>"$scratch/stderr")
    [ "$said" = "$word " ] || fail "'$said', expected '$word': $*"$'\n'"$(cat "$scratch/stderr")"
}
says_without_errors() {
    says "$@"
    [ ! -s "$scratch/stderr" ] || fail "on stderr: $(cat "$scratch/stderr")"
}

# The real tree, second call: the least CPU time of five calls, which other load hardly changes.
real=$CONTEND_SOURCE_DIR/contend
cpu_ms() { # cpu_ms COMMAND...
    local TIMEFORMAT='%3U %3S'
    { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%d\n", ($1 + $2) * 1000 }'
}
"$real" --version >/dev/null 2>&1
least=$(
    for _ in 1 2 3 4 5; do cpu_ms "$real" --version; done | sort -n | head -n 1
)
[ "$least" -lt 300 ] || fail "a second call takes $least ms"

# From any folder, through a link, from a path with blanks: the same program, and no new files beside it.
tree="$scratch/the tree"
make_tree "$tree"
door=$tree/contend
says first "$door"
mkdir "$scratch/with blanks"
ln -s "$door" "$scratch/with blanks/link to it"
cd "$scratch/with blanks" || exit 1
says_without_errors first './link to it'

# Printed commands begin with the name by which the program was started, so they can be pasted.
[ "$('./link to it' how)" = './link to it' ] || fail "by a link: $('./link to it' how)"
[ "$("$door" how)" = "$door" ] || fail "by its path: $("$door" how)"
[ "$(cd "$tree" && sh contend how)" = ./contend ] || fail "by sh: $(cd "$tree" && sh contend how)"

# A newer source is built; the build's output is not on stdout.
edit "$tree" second
says second "$door"
says_without_errors second "$door"

# Two calls at once, each with something to build.
edit "$tree" third
"$door" >"$scratch/one" 2>&1 &
"$door" >"$scratch/two" 2>&1 || fail "the second of two calls: $(cat "$scratch/two")"
wait $! || fail "the first of two calls: $(cat "$scratch/one")"
grep -q '^third' "$scratch/one" && grep -q '^third' "$scratch/two" ||
    fail "two calls at once: $(cat "$scratch/one" "$scratch/two")"

# Exit codes and arguments are passed on unchanged.
expect 2 'third X  such  argument' "$door" 'X  such  argument'

# A relative CONTEND_BUILD_DIR is below the caller's folder, and its program is never stale.
mkdir "$scratch/elsewhere"
cd "$scratch/elsewhere" || exit 1
says third env CONTEND_BUILD_DIR=built "$door"
[ -x "$scratch/elsewhere/built/contend" ] || fail "not built below the caller's folder"
edit "$tree" fourth
says fourth env CONTEND_BUILD_DIR=built "$door"
says_without_errors fourth env CONTEND_BUILD_DIR=built "$door"
cd "$CONTEND_SOURCE_DIR" || exit 1

# An optional part that is not whole is left out, in a new build and for a part that is new beside a good program.
parts="$scratch/parts"
make_tree "$parts"
touch "$parts/broken-MPI"
says first "$parts/contend"
grep -q 'built without MPI' "$scratch/stderr" || fail "not said: $(cat "$scratch/stderr")"
says_without_errors first "$parts/contend"
touch "$parts/broken-CUDA" "$parts/broken-TESTS"
sed -i '2s|.*|/gone/nvcc|' "$parts/build/release/front-door.stamp" # another nvcc
says first "$parts/contend"
grep -q 'built without any-optional-part' "$scratch/stderr" || fail "not said: $(cat "$scratch/stderr")"
says_without_errors first "$parts/contend"
echo 'broken(' >"$parts/CMakeLists.txt"
expect 3 'Parse error' "$parts/contend" # what is needed fails the build

built="$scratch/built parts"
make_tree "$built"
echo '#include "mpi.h"' >"$built/mpi.c"
touch "$built/mpi.h"
says first "$built/contend"
! grep -q 'built without' "$scratch/stderr" || fail "a whole part is left out: $(cat "$scratch/stderr")"
rm "$built/mpi.h" "$built/build/release/contend" # its package was removed; and something to build
says first "$built/contend"
grep -q 'built without MPI' "$scratch/stderr" || fail "not said: $(cat "$scratch/stderr")"
says_without_errors first "$built/contend"

# In a read-only tree the current program runs, even if packages were installed since the build. An older program runs
# with a message.
as_other=()
[ "$(id -u)" != 0 ] || as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
says fourth "$door"
find "$tree" -exec touch -d 2000-01-01 {} +
touch -d 2000-01-02 "$tree/build/release/front-door.stamp"
chmod -R a+rX,a-w "$scratch"
if "${as_other[@]}" true 2>/dev/null && ! "${as_other[@]}" touch "$tree/build/release/new" 2>/dev/null; then
    # dpkg's status file is newer than the stamp; on a system without that file this tests nothing more.
    quietly_as_other() { # the files of this test cannot be written now
        said=$("${as_other[@]}" "$door" 2>&1)
        [ "$said" = "fourth " ] || fail "a good program in a tree that cannot be written: $said"
    }
    quietly_as_other
    touch "$tree/harness/main.c"
    said=$("${as_other[@]}" "$door" 2>&1)
    [[ $said == *'is older than the sources'*$'\n''fourth ' ]] || fail "an older program: $said"
    expect 2 'cannot write .*: set CONTEND_BUILD_DIR' "${as_other[@]}" "$door" test
fi
chmod -R u+w "$scratch"

# Without its packages: prints the list, exits with 2, and installs nothing. PATH has only a shell's tools; apt-get
# would leave a file.
mkdir "$scratch/bin"
for tool in sh readlink dirname find mkdir flock touch cat printf sed env tail grep sleep true; do
    ln -s "$(type -P "$tool")" "$scratch/bin/$tool"
done
fake() { # fake NAME: in place of that program, the script on stdin
    rm -f "$scratch/bin/$1" # and what it may be a link to stays
    cat - >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
be() { # be UID: whoever runs this test
    fake id <<<"#!/bin/sh
echo $1"
}
fake apt-get <<'SH'
#!/bin/sh
echo called >>"$TRACE"
SH
bare=(env -i PATH="$scratch/bin" TRACE="$scratch/trace" CONTEND_BUILD_DIR="$scratch/build"
    CONTEND_APT_PAUSE_S=0)
be 0
expect 0 '^contend [0-9.]+, not built yet' "${bare[@]}" "$real" --version # without a build
expect 0 'contend package deb' "${bare[@]}" "$real" --help
expect 2 'missing packages: .*cmake .*ninja-build .*libhwloc-dev .*gnuplot-nox' \
    "${bare[@]}" CONTEND_NO_INSTALL=1 "$door" run
[ ! -e "$scratch/trace" ] || fail "CONTEND_NO_INSTALL=1 calls apt-get"

# Root installs packages, and so does a user with sudo without a password. Other users get the command, without a
# prompt.
expect 2 'could not install cmake ' "${bare[@]}" "$door" run
[ -e "$scratch/trace" ] || fail "apt-get is not called by root"
rm "$scratch/trace"
be 1000
expect 2 'install these first: sudo apt-get install cmake ' "${bare[@]}" "$door" run
fake sudo <<'SH'
#!/bin/sh
[ "$1" = -n ] || echo asked >>"$TRACE"
echo "sudo: a password is required" >&2
exit 1
SH
expect 2 'install these first: sudo apt-get install cmake ' "${bare[@]}" "$door" run
[ ! -e "$scratch/trace" ] || fail "someone who needs a password: $(cat "$scratch/trace")"
fake sudo <<'SH'
#!/bin/sh
[ "$1" = -n ] && shift && exec "$@"
SH
expect 2 'could not install cmake ' "${bare[@]}" "$door" run
[ -e "$scratch/trace" ] || fail "apt-get is not called through sudo"
rm "$scratch/trace"

# If another apt-get holds the lock on the lists, the front door waits and does not fail.
be 0
fake apt-get <<'SH'
#!/bin/sh
echo x >>"$TRACE"
[ -e "$TRACE.free" ] && exit
touch "$TRACE.free"
echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)"
echo "E: Unable to lock directory /var/lib/apt/lists/"
exit 100
SH
expect 2 'could not install cmake ' "${bare[@]}" "$door" run
[ "$(wc -l <"$scratch/trace")" = 2 ] || fail "a lock of another apt-get is not waited for"
rm "$scratch/bin/apt-get"
expect 2 "Debian's names.*cmake .*libjansson-dev" "${bare[@]}" "$door" run

# If only gnuplot is missing: builds and runs, with a message about plots, even if the user may not install it.
fake g++ <<<"#!/bin/sh" # needed where there is nvcc
for tool in cmake ninja cc ld as mv; do
    ln -s "$(type -P "$tool")" "$scratch/bin/$tool"
done
fake pkg-config <<<'#!/bin/sh'
without_gnuplot() { # without_gnuplot WHO
    rm -rf "$scratch/build"
    says fourth "${bare[@]}" "$door"
    grep -q 'no gnuplot .*gnuplot-nox.*: there will be no plots' "$scratch/stderr" ||
        fail "$1: nothing about what is lost without gnuplot: $(cat "$scratch/stderr")"
    says_without_errors fourth "${bare[@]}" "$door"
}
without_gnuplot "without apt-get"
be 0
fake apt-get <<<'#!/bin/sh'
without_gnuplot "where it cannot be installed"
be 1000
fake sudo <<<'#!/bin/sh
exit 1'
without_gnuplot "who needs a password"
rm "$scratch/bin/sudo"
without_gnuplot "nobody"

# For a read-only folder a message says what to do.
expect 2 'cannot write /proc/contend: set CONTEND_BUILD_DIR' \
    env CONTEND_BUILD_DIR=/proc/contend "$door" run
finish
