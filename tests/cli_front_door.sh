#!/usr/bin/env bash
# ./contend: quick when nothing changed, silent on stdout, honest about what is missing.
. tests/lib.sh
if [ "$CONTEND_BUILD_DIR" != "$CONTEND_SOURCE_DIR/build/release" ]; then
    echo "the front door builds build/release, not $CONTEND_BUILD_DIR"
    exit 77
fi
unset CONTEND_BUILD_DIR CONTEND_NO_INSTALL
door=$CONTEND_SOURCE_DIR/contend

# elapsed_ms COMMAND...
elapsed_ms() {
    local begin
    begin=$(date +%s%N)
    "$@" >/dev/null
    echo $((($(date +%s%N) - begin) / 1000000))
}

# The least of five: a busy machine makes a call slower, never faster.
"$door" --version >/dev/null 2>&1
least=$(
    for _ in 1 2 3 4 5; do elapsed_ms "$door" --version; done | sort -n | head -n 1
)
[ "$least" -lt 300 ] || fail "a second call takes $least ms"

# From any folder, through a link, from a path with blanks: the same program, nothing beside it.
mkdir "$scratch/with blanks"
ln -s "$door" "$scratch/with blanks/link to it"
own=$("$CONTEND_BINARY" --version)
said=$(cd "$scratch/with blanks" && './link to it' --version 2>"$scratch/stderr")
[ "$said" = "$own" ] || fail "through a link it prints '$said', expected '$own'"
[ ! -s "$scratch/stderr" ] || fail "an up-to-date call says on stderr: $(cat "$scratch/stderr")"

# A newer source is built, and what the build says is not on stdout.
touch "$CONTEND_SOURCE_DIR/harness/main.c"
said=$("$door" --version 2>/dev/null)
[ "${said%% *}" = contend ] && [ "$(printf '%s\n' "$said" | wc -l)" = 1 ] ||
    fail "while it builds, stdout gets '$said'"
[ "$CONTEND_BINARY" -nt "$CONTEND_SOURCE_DIR/harness/main.c" ] || fail "a newer source is not built"

# Two calls at once, each with something to build.
touch "$CONTEND_SOURCE_DIR/harness/main.c"
"$door" --version >"$scratch/one" 2>&1 &
"$door" --version >"$scratch/two" 2>&1 || fail "the second of two calls: $(cat "$scratch/two")"
wait $! || fail "the first of two calls: $(cat "$scratch/one")"

# Exit codes and arguments pass through untouched.
expect 2 'no such  command' "$door" 'no such  command'

# Without its packages: the list, exit 2, and nothing is installed. The PATH has a shell's tools
# only; apt-get would leave a trace.
mkdir "$scratch/bin"
for tool in sh readlink dirname find mkdir flock touch cat printf id sed env; do
    ln -s "$(type -P "$tool")" "$scratch/bin/$tool"
done
# The trace's name is the script's to expand.
# shellcheck disable=SC2016
printf '#!/bin/sh\necho called >"$TRACE"\n' >"$scratch/bin/apt-get"
chmod +x "$scratch/bin/apt-get"
bare=(env -i PATH="$scratch/bin" TRACE="$scratch/trace" CONTEND_BUILD_DIR="$scratch/build")
expect 2 'missing packages: .*cmake .*ninja-build .*libhwloc-dev .*gnuplot-nox' \
    "${bare[@]}" CONTEND_NO_INSTALL=1 "$door" run
[ ! -e "$scratch/trace" ] || fail "CONTEND_NO_INSTALL=1 calls apt-get"
expect 2 'could not install cmake ' "${bare[@]}" "$door" run
[ -e "$scratch/trace" ] || [ "$(id -u)" != 0 ] || fail "apt-get is not called"
rm "$scratch/bin/apt-get"
expect 2 "Debian's names.*cmake .*libjansson-dev" "${bare[@]}" "$door" run

# A folder that cannot be written gets a line that says what to do.
expect 2 'cannot write /proc/contend: set CONTEND_BUILD_DIR' \
    env CONTEND_BUILD_DIR=/proc/contend "$door" run
finish
