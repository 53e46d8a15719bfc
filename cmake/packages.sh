# Sourced by ./contend and .ci/run: finds which Debian packages are missing, and installs them.
#
# A table of packages is text with a line for each: its name, then what shows that it, or its equal
# from elsewhere, is there: a command, a file, or name.pc for pkg-config.
# The caller has say, die, and log, a file that takes what apt-get prints.
# shellcheck shell=sh disable=SC2154

# What it takes to build the program and to draw its plots.
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

# missing_packages TABLE: names, each followed by a blank
missing_packages() {
    echo "$1" | while read -r package probe; do
        is_there "$probe" || printf '%s ' "$package"
    done
}

# Others use it too: apt-get itself waits for dpkg's lock, but not for that of the lists.
apt_get() {
    tries=60
    until $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o DPkg::Lock::Timeout=600 "$@" >>"$log" 2>&1 </dev/null 9>&-; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] && tail -n 3 "$log" | grep -q 'Could not get lock' || return 1
        sleep "${CONTEND_APT_PAUSE_S:-10}"
    done
}

# needed PACKAGE...: those of them that the program cannot do without.
needed() {
    for package in "$@"; do
        case $package in
        gnuplot-nox) ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# go_without REASON: dies of it, unless the program can do without all that is $missing.
# shellcheck disable=SC2086
go_without() {
    [ -z "$(needed $missing)" ] || die 2 "$1"
    for package in $missing; do
        case $package in
        gnuplot-nox) say "no gnuplot (Debian: gnuplot-nox): there will be no plots" ;;
        esac
    done
}

# install_packages TABLE: returns with nothing missing but what the program can do without.
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
    # No list of packages, or an old one, shows as a failed install; older systems lack what we can do
    # without. $missing is split on purpose.
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
