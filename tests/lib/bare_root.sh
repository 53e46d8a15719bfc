# shellcheck shell=bash
# Sourced by tests that need a minimal Debian root.

# The suite of the running system.
own_suite() {
    sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

# Asks apt which mirror serves that suite, rather than naming one.
mirror() {
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        awk -v suite="$(own_suite)" '$1 == suite { print $2; exit }'
}

# bare_root: prints the path of a tarball with such a root, which is made once, in a minute.
bare_root() {
    local cache=${XDG_CACHE_HOME:-${HOME:-$scratch}/.cache}/contend tar
    tar=$cache/bare-$(own_suite).tar
    if [ ! -e "$tar" ]; then
        debootstrap --variant=minbase "$(own_suite)" "$scratch/bare" "$(mirror)" >"$scratch/log" 2>&1 || return 1
        rm -rf "$scratch"/bare/var/cache/apt/archives/*.deb "$scratch"/bare/var/lib/apt/lists/*
        mkdir -p "$cache"
        tar -C "$scratch/bare" -cf "$tar.$$" . && mv "$tar.$$" "$tar"
        rm -rf "$scratch/bare"
    fi
    echo "$tar"
}
