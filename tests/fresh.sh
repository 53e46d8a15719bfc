#!/usr/bin/env bash
# Runs the README's two commands on a bare machine: a Debian root made by debootstrap, with this checkout in a folder
# with a blank in its name, no compiler and no CUDA. Takes minutes and needs the network.
#
#   tests/fresh.sh [--user] [--with PACKAGE] [SUITE]    SUITE defaults to this system's own; packages come from its mirror
#
# With --user a user without sudo runs the commands: root installs the packages that the program asks for, but not
# gnuplot. --with PACKAGE installs it first, such as openmpi-bin, which comes without its headers. CONTEND_FRESH_TESTS:
# arguments for ./contend test.
set -euo pipefail

skip() {
    echo "SKIP: $*"
    exit 77
}

if [ "${1:-}" != --inside ]; then
    [ "$(id -u)" = 0 ] || skip "needs root"
    command -v debootstrap >/dev/null || skip "needs debootstrap"
    unshare --mount true 2>/dev/null || skip "mounts are not allowed here"
    root=$(mktemp -d)
    # The mounts are in a namespace of their own, so they end with this script even if it is killed.
    trap 'rm -rf --one-file-system "$root"' EXIT
    unshare --mount --propagation private "$0" --inside "$root" "$@"
    exit
fi

root=$2
shift 2
as=root
with=
[ "${1:-}" != --user ] || { as=user && shift; }
[ "${1:-}" != --with ] || { with=$2 && shift 2; }
source_dir=$(cd "$(dirname "$0")/.." && pwd)
. "$source_dir/tests/lib/bare_root.sh"
suite=${1:-$(own_suite)}
home=/root
[ $as = root ] || home=/home/user
checkout="$home/a checkout"

# in_root WHO HOME COMMAND...
in_root() {
    # shellcheck disable=SC2016 # the inner shell's
    env -i HOME="$2" LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+http_proxy="$http_proxy"} chroot --userspec="$1:$1" "$root" \
        sh -c 'cd "$1" && shift && exec "$@"' sh "$checkout" "${@:3}" </dev/null
}

# contend ARGUMENT...: runs it as root, or as the user with --user.
contend() {
    in_root $as "$home" ./contend "$@"
}

# ask_root ARGUMENT...: contend prints the packages that the user has to ask for; root installs all of them but gnuplot.
ask_root() {
    local said packages
    ! said=$(contend "$@" 2>&1) || { echo "contend $*: nothing is missing" && return 1; }
    echo "$said"
    packages=$(sed -n 's/.*install these first: sudo apt-get install //p' <<<"$said")
    [ -n "$packages" ] || return 1
    # The list is split on purpose.
    # shellcheck disable=SC2086
    install ${packages/gnuplot-nox/}
}

# install PACKAGE...
install() {
    in_root root /root apt-get -qq update
    in_root root /root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" \
        >"$root/log" 2>&1 || { tail -n 20 "$root/log" && return 1; }
}

copy_checkout() {
    mkdir -p "$root$checkout"
    cd "$source_dir"
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . -path ./build -prune -o -type f -print0
    fi | tar --null --files-from - --ignore-failed-read -cf - | tar -xf - -C "$root$checkout"
    chroot "$root" chown -R $as:$as "$home"
}

# step HEADLINE COMMAND...
step() {
    local begin=$SECONDS
    printf '\n== %s\n' "$1"
    "${@:2}"
    printf '== %s: %d s\n' "$1" $((SECONDS - begin))
}

step "bare root, $suite" debootstrap --variant=minbase "$suite" "$root" "$(mirror)" >"$root/log" 2>&1 ||
    { tail -n 20 "$root/log" && exit 1; }
chmod 755 "$root" # it is the user's, too
cp -L /etc/resolv.conf "$root/etc/"
for directory in proc sys dev; do
    mount --rbind "/$directory" "$root/$directory"
done
[ $as = root ] || chroot "$root" useradd --create-home --user-group user
copy_checkout

[ -z "$with" ] || step "$with" install "$with"
[ $as = root ] || step "what to ask root for" ask_root run
step "contend run" contend run --out /tmp/r
[ $as = root ] || step "what to ask root for, to test" ask_root test
# The arguments are split on purpose.
# shellcheck disable=SC2086
step "contend test" contend test ${CONTEND_FRESH_TESTS:-}
step "contend run, again" contend run --out /tmp/again

grep -qE ',pipeline,.*,(ok|noisy),' "$root/tmp/r/rows.csv" || { echo "no good row in rows.csv" && exit 1; }
head -n 5 "$root/tmp/r/rows.csv"
[ -z "$(find "$root/tmp" -mindepth 1 -maxdepth 1 ! -name r ! -name again)" ] ||
    { echo "left in /tmp: $(ls "$root/tmp")" && exit 1; }
echo "both commands work on a bare machine"
