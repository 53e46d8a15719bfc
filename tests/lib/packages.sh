# shellcheck shell=bash
# Sourced by tests of packages, after cli.sh.
# shellcheck disable=SC2154
[ -z "$CONTEND_SANITIZE" ] || skip "a package is a release"

# package GENERATOR PATTERN: has cpack make a package of this build and prints its path. Takes the front door's lock.
package() {
    local begin=$SECONDS
    { flock "$CONTEND_BUILD_DIR/front-door.lock" cmake --build "$CONTEND_BUILD_DIR" --target manual &&
        cpack -G "$1" --config "$CONTEND_BUILD_DIR/CPackConfig.cmake" -B "$scratch/$1"; } >"$scratch/log" 2>&1 ||
        { cat "$scratch/log" >&2 && return 1; }
    echo "$1: built in $((SECONDS - begin)) s" >&2
    find "$scratch/$1" -maxdepth 1 -name "$2"
}
