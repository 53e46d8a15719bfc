#!/usr/bin/env bash
# The bundle runs on a bare server: in a root that holds only glibc, /proc and /sys.
. tests/lib/cli.sh
[ -z "$CONTEND_SANITIZE" ] || skip "a bundle is a release"
needs root
root=$scratch/root
trap 'umount "$root/proc" "$root/sys" 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT

# Takes the front door's lock, as another test run may build the same target.
flock "$CONTEND_BUILD_DIR/front-door.lock" cmake --build "$CONTEND_BUILD_DIR" --target bundle \
    >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
(cd "$scratch" && sh "$CONTEND_SOURCE_DIR/cmake/bundle.sh" "$CONTEND_BUILD_DIR/bundle/contend" \
    "$CONTEND_SOURCE_DIR") >"$scratch/name" || fail "bundle.sh fails"
tarball=$scratch/$(cat "$scratch/name")
size_mb=$(($(stat -c %s "$tarball") / 1000000))
[ "$size_mb" -lt 25 ] || fail "the bundle has $size_mb MB"

mkdir -p "$root"/{proc,sys,tmp}
ldd "$CONTEND_BINARY" | grep -oE '/[^ ]*/(ld-linux|lib(c|m)\.so)[^ ]*' | while read -r library; do
    install -D "$library" "$root$library"
done
tar -xzf "$tarball" -C "$root/tmp"
program=/tmp/$(basename "$tarball" "-linux-$(uname -m).tar.gz")/contend
for file in LICENSE CHANGELOG.md licenses/libhwloc15.txt share/man/man1/contend.1 \
    share/bash-completion/completions/contend; do
    [ -s "$root$(dirname "$program")/$file" ] || fail "no $file in the bundle"
done
[ -s "$root$(dirname "$program")/libcontend_comms.so" ] || fail "no libcontend_comms.so in the bundle"
[ ! -e "$CONTEND_BUILD_DIR/contend_mpi.so" ] || [ -s "$root$(dirname "$program")/contend_mpi.so" ] ||
    fail "no contend_mpi.so in the bundle"

# The bundle's README names exactly the files that the bundle has.
inside=$root$(dirname "$program")
sed -nE 's/^\| `([^`]*)` .*/\1/p' "$inside/README.md" | sort >"$scratch/listed"
find "$inside" -mindepth 1 -maxdepth 1 ! -name README.md -printf '%f\n' | sort >"$scratch/there"
diff "$scratch/there" "$scratch/listed" >"$scratch/diff" || fail "in the bundle, and in its README: $(cat "$scratch/diff")"
# The bundle has the documents that the program names, and their links work.
grep -aohE 'docs/[a-z]+\.md' "$inside"/contend* | sort -u >"$scratch/named"
[ -s "$scratch/named" ] || fail "the program names no page"
while read -r page; do
    [ -s "$inside/$page" ] || fail "no $page in the bundle"
done <"$scratch/named"
for page in "$inside"/docs/*.md; do
    grep -zoE '\]\([^)#]+' "$page" | tr -d '\n' | tr '\0' '\n' | sed 's/^](//' | grep -v '^http' | while read -r link; do
        [ -s "$inside/docs/$link" ] || echo "$(basename "$page"): $link"
    done
done >"$scratch/lost"
[ ! -s "$scratch/lost" ] || fail "pages of the bundle link to what is not there: $(cat "$scratch/lost")"
! grep -nE '\((example|figures|the rest)\b|picture' "$inside"/docs/*.md ||
    fail "its pages speak of pictures and results, which stay with the sources"
! grep -nE '\]\(|docs/|results/|tests/|contend (test|bundle)|\.(png|svg)' "$inside/README.md" ||
    fail "its README names what it has not"

# No program needs a newer glibc than its README states. The same holds for the statement in the sources' README about a
# build on Debian 12, whose glibc is 2.36.
newest() { # newest VERSION...
    printf '%s\n' "$@" | sort -V | tail -n 1
}
needed=$(find "$inside" -type f \( -name 'contend*' -o -name '*.so*' \) -exec objdump -T {} + | grep -oE '\(GLIBC_[0-9.]+' |
    sed 's/.*_//' | sort -uV | tail -n 1)
stated() { # stated FILE...
    grep -ohE 'glibc [0-9]+\.[0-9]+' "$@" | sort -u | sed 's/.* //'
}
[ "$(stated "$inside/README.md")" = "$needed" ] ||
    fail "its README states glibc $(stated "$inside/README.md"), and $needed is needed"
everywhere=$(stated README.md docs/*.md)
[ "$(wc -w <<<"$everywhere")" = 1 ] || fail "not one glibc is stated: $everywhere"
here=$(getconf GNU_LIBC_VERSION | sed 's/.* //')
if [ "$(newest "$here" 2.36)" = 2.36 ] && [ "$(newest "$everywhere" "$needed")" != "$everywhere" ]; then
    fail "README.md states glibc $everywhere, and $needed is needed"
fi

if ! mount --bind /proc "$root/proc" || ! mount --bind /sys "$root/sys"; then
    skip "mounts are not allowed here"
fi
[ "$(chroot "$root" "$program" --version)" = "$("$CONTEND_BINARY" --version)" ] ||
    fail "another version in the bundle"
expect 0 'CPU|core' chroot "$root" "$program" info
expect 0 'pipeline' chroot "$root" "$program" info
{ grep -oE '\./contend [a-z]+' "$inside/README.md" && printf 'contend %s\n' comms doctor validate; } |
    sort -u >"$scratch/commands"
grep -q run "$scratch/commands" || fail "its README names no command"
while read -r _ command; do
    expect 0 "usage: contend $command" chroot "$root" "$program" "$command" --help
done <"$scratch/commands"
expect 0 'CPU' chroot "$root" "$program" doctor --live --looks 1
expect 2 'no log' chroot "$root" "$program" comms --read /tmp
expect 2 "there is no rule 'x'" chroot "$root" "$program" validate --only x
finish
