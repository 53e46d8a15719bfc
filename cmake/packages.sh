# Sourced by ./contend and .ci/run: finds which Debian packages are missing, and installs them.
#
# A table of packages has a line for each: its name, then what shows that it or an equivalent is
# installed: a command, a file, or name.pc for pkg-config. The caller defines say, die, and log, a
# file for apt-get's output.
# shellcheck shell=sh disable=SC2154

# Packages needed to build the program and to draw its plots.
build_packages() {
    cat <<END
cmake cmake
ninja-build ninja
gcc cc
libc6-dev /usr/include/stdio.h
pkg-config pkg-config
libhwloc-dev hwloc.pc
libjansson-dev jansson.pc
libnuma-dev numa.pc
gnuplot-nox gnuplot
END
}

is_there() {
    case $1 in
    *.pc) pkg-config --exists "${1%.pc}" 2>/dev/null ;;
    /*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# missing_packages TABLE: their names, each followed by a blank
missing_packages() {
    echo "$1" | while read -r package probe; do
        is_there "$probe" || printf '%s ' "$package"
    done
}

# Another process may use apt: apt-get itself waits for dpkg's lock, but not for the lock on the
# lists.
apt_get() {
    tries=60
    until $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o DPkg::Lock::Timeout=600 "$@" >>"$log" 2>&1 </dev/null 9>&-; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] && tail -n 3 "$log" | grep -q 'Could not get lock' || return 1
        sleep "${CONTEND_APT_PAUSE_S:-10}"
    done
}

# needed PACKAGE...: prints the packages that the program needs; it can run without the rest.
needed() {
    for package in "$@"; do
        case $package in
        gnuplot-nox) ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# go_without REASON: exits, unless the program can run without all packages in $missing.
# shellcheck disable=SC2086
go_without() {
    [ -z "$(needed $missing)" ] || die 2 "$1"
    for package in $missing; do
        case $package in
        gnuplot-nox) say "no gnuplot (Debian: gnuplot-nox): there will be no plots" ;;
        esac
    done
}

# install_packages TABLE: returns only if no needed package is missing.
install_packages() {
    missing=$(missing_packages "$1")
    [ -n "$missing" ] || return 0
    [ -z "${CONTEND_NO_INSTALL:-}" ] || die 2 "missing packages: $missing"
    if ! command -v apt-get >/dev/null; then
        go_without "install these first (Debian's names; this system has no apt-get): $missing"
        return
    fi
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        as_root='sudo -n'
        if ! sudo -n true 2>/dev/null; then
            go_without "install these first: sudo apt-get install $missing"
            return
        fi
    fi
    say "installing $missing"
    # If apt's lists are missing or old, the install fails and is tried again. Older systems may
    # lack optional packages. $missing is split on purpose.
    # shellcheck disable=SC2046,SC2086
    apt_get install -y --no-install-recommends $missing ||
        { apt_get update && apt_get install -y --no-install-recommends $missing; } ||
        apt_get install -y --no-install-recommends $(needed $missing) || true

    missing=$(missing_packages "$1")
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086
    [ -z "$(needed $missing)" ] || cat "$log" >&2
    go_without "could not install $missing(above)"
}
