#!/usr/bin/env bash
# Installed files work in place, and the manifest lists all of them for removal. The front door is tested on a copy of
# the tree with one small program.
. tests/lib/cli.sh

# The real build: program, manual, completions, licence. Takes the front door's lock.
prefix=$scratch/installed
flock "$CONTEND_BUILD_DIR/front-door.lock" cmake --build "$CONTEND_BUILD_DIR" --target manual \
    >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
cmake --install "$CONTEND_BUILD_DIR" --prefix "$prefix" >"$scratch/log" 2>&1 ||
    fail "$(cat "$scratch/log")"
cp "$CONTEND_BUILD_DIR/install_manifest.txt" "$scratch/manifest"
for file in bin/contend{,-comms,-doctor,-validate} share/man/man1/contend.1 share/doc/contend/{LICENSE,docs/compare.md} \
    share/bash-completion/completions/contend share/zsh/site-functions/_contend \
    share/fish/vendor_completions.d/contend.fish share/contend/{ci/gitlab.yml,k8s/job.yaml,{fleet/validate,slurm/healthcheck}.sh}; do
    [ -s "$prefix/$file" ] || fail "no $file below the prefix"
done
[ -s "$prefix/lib/contend/libcontend_comms.so" ] || fail "no libcontend_comms.so installed"
[ ! -e "$CONTEND_BUILD_DIR/contend_mpi.so" ] || [ -s "$prefix/lib/contend/contend_mpi.so" ] ||
    fail "the MPI module is not installed"
program=$prefix/bin/contend
"$program" man | cmp -s - "$prefix/share/man/man1/contend.1" || fail "the page is of another program"
cd "$scratch" || exit 1
expect 0 'Results: ' "$program" run --device sim --placement none --rounds 1 --time 0.1 --warmup 0.01 \
    --out "$scratch/out"
# Tools are found beside the program, under whatever name it was called, and get the command line as typed.
ln -s "$program" "$scratch/link"
for called in "$program" "$scratch/link"; do
    expect 0 '^usage: contend doctor \[options\]' "$called" help doctor
    expect 2 "^contend: error: no log .* in '$scratch'" "$called" comms --read "$scratch"
    expect 2 "^contend: error: no result directories: 'contend validate bounds" "$called" validate bounds -o "$scratch/b.json"
    expect 2 "^contend: error: there is no rule 'x'" "$called" validate --only x
done
expect 2 "unexpected argument 'x'; a process is named by its number, as in --pid 4711" "$program-doctor" x
mv "$program-doctor" "$scratch"
expect 3 "^contend: error: 'contend doctor' needs contend-doctor, .*: cannot start '$program-doctor': No such file" \
    "$program" doctor --live
expect 0 '^usage: contend' "$program" comms --help
mv "$scratch/contend-doctor" "$program-doctor"
if command -v gnuplot >/dev/null; then
    [ -s "$scratch/out/plots/step_time.svg" ] || fail "the installed program draws nothing"
fi
xargs -d '\n' rm <"$scratch/manifest" || fail "the manifest names other files"
[ -z "$(find "$prefix" -type f)" ] || fail "left behind: $(find "$prefix" -type f)"

# The front door: target directories and messages.
if ! command -v ninja >/dev/null || ! command -v gnuplot >/dev/null; then
    echo "the front door would install packages: not tried"
    finish
fi
unset CONTEND_BUILD_DIR CONTEND_NO_INSTALL
tree="$scratch/the tree"
mkdir -p "$tree"/{bench,cmake,harness,kernels,plots}
cp "$CONTEND_SOURCE_DIR"/{contend,CMakePresets.json} "$tree"
cp "$CONTEND_SOURCE_DIR/cmake/packages.sh" "$tree/cmake"
cat >"$tree/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(contend LANGUAGES C)
add_executable(contend harness/main.c)
add_custom_target(manual DEPENDS contend)
install(TARGETS contend RUNTIME)
CMAKE
echo 'int main(void) { return 0; }' >"$tree/harness/main.c"
# installs PREFIX COMMAND...: installs into PREFIX; a message tells which directory PATH lacks.
installs() {
    local prefix=$1
    shift
    expect 0 "installed to $prefix; to remove it: .*install_manifest\.txt" "$@"
    [ -x "$prefix/bin/contend" ] || fail "no program in $prefix: $*"
    "$@" 2>&1 | grep -q "$prefix/bin is not in PATH" || fail "not said that $prefix/bin is not in PATH"
    ! PATH=$PATH:$prefix/bin "$@" 2>&1 | grep -q 'not in PATH' || fail "$prefix/bin is in PATH"
}
door=$tree/contend
installs "$scratch/one" "$door" install --prefix "$scratch/one"
installs "$scratch/two words" "$door" install "--prefix=two words"
sh -c "$("$door" install --prefix one 2>&1 | sed -n 's/.*to remove it: //p')"
[ ! -e "$scratch/one/bin/contend" ] || fail "what is said removes nothing"
expect 2 "unknown argument 'there'; usage: ./contend install \[--prefix DIR\]" "$door" install there
expect 2 "cannot write /proc/contend: use" "$door" install --prefix /proc/contend
mkdir "$scratch/user" # whoever runs this, the door takes for a user
printf '#!/bin/sh\necho 1000\n' >"$scratch/user/id"
chmod +x "$scratch/user/id"
export PATH=$scratch/user:$PATH
installs "$scratch/home/.local" env HOME="$scratch/home" "$door" install
expect 2 'HOME is not set: use ./contend install --prefix DIR' env -u HOME "$door" install
finish
