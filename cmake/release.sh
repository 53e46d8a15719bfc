#!/bin/sh
# release.sh SOURCE_DIR [--snapshot] [--arch ARCH] [DIR]: `./contend release`. Builds HEAD in a clean clone and writes
# into DIR, by default build/contend-<version>: the sources, for each machine a bundle, deb, rpm, wheel and SBOM
# (SPDX 2.3), and SHA256SUMS. Equal commits and equal tools give equal files, wherever and whenever they are built.
#
# ARCH: x86_64 or aarch64; default: this machine, and aarch64 where its cross compiler is installed. HEAD has to be the
# version of CMakeLists.txt, with its date in CHANGELOG.md; a snapshot may be any commit. CONTEND_SIGN_KEY, a key of
# gpg, signs SHA256SUMS.
set -eu
umask 022 # the modes of packaged files

say() {
    printf 'contend: %s\n' "$*" >&2
}

die() {
    say "$@"
    exit 2
}

source_dir=$1
shift
snapshot='' archs='' out=''
while [ $# -gt 0 ]; do
    case $1 in
    --snapshot) snapshot=1 ;;
    --arch) shift && archs=${1:-none} ;;
    --arch=*) archs=${1#*=} ;;
    -* | '') die "unknown argument '$1'; usage: ./contend release [--snapshot] [--arch ARCH] [DIR]" ;;
    *) out=$1 ;;
    esac
    [ $# = 0 ] || shift
done
case $archs in
'')
    archs=$(uname -m)
    [ "$archs" = aarch64 ] || ! command -v aarch64-linux-gnu-gcc >/dev/null || archs="$archs aarch64"
    ;;
"$(uname -m)" | aarch64) ;;
*) die "cannot build for '$archs' on $(uname -m); choose $(uname -m) or aarch64" ;;
esac
for tool in git python3; do
    command -v $tool >/dev/null || die "$tool is not installed"
done

commit=$(git -C "$source_dir" rev-parse HEAD) || die "$source_dir is no git checkout"
[ -z "$(git -C "$source_dir" status --porcelain)" ] || die "commit your changes first: a release is HEAD"
version=$(sed -n 's/^project(contend VERSION \([0-9.]*\).*/\1/p' "$source_dir/CMakeLists.txt")
if [ -z "$snapshot" ]; then
    grep -Eq "^## $version, [0-9]{4}-[0-9]{2}-[0-9]{2}\$" "$source_dir/CHANGELOG.md" ||
        die "CHANGELOG.md has no heading '## $version, YYYY-MM-DD'; write it, or build a --snapshot"
    tags=$(git -C "$source_dir" tag --points-at HEAD 'v*')
    [ "${tags:-v$version}" = "v$version" ] || die "HEAD is tagged $tags, and CMakeLists.txt has version $version"
fi
out=${out:-$source_dir/build/contend-$version}
mkdir -p "$out"
out=$(readlink -f "$out")
[ -z "$(ls -A "$out")" ] || die "$out is not empty"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clone=$work/contend
git clone -q "$source_dir" "$clone"
git -C "$clone" checkout -q --detach "$commit"
mkdir -p "$source_dir/build/aarch64-root" "$clone/build"
ln -s "$source_dir/build/aarch64-root" "$clone/build/"
SOURCE_DATE_EPOCH=$(git -C "$clone" log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
# A compiler cache may rewrite the paths of sources, which some messages contain.
unset CONTEND_BUILD_DIR CMAKE_C_COMPILER_LAUNCHER CMAKE_CUDA_COMPILER_LAUNCHER CFLAGS LDFLAGS

cd "$out"
git -C "$clone" archive --prefix="contend-$version/" HEAD | gzip -9n >"contend-$version.tar.gz"
for CONTEND_ARCH in $archs; do
    export CONTEND_ARCH
    bundle=$("$clone/contend" bundle)
    "$clone/contend" package deb >&2
    "$clone/contend" package rpm >&2
    for script in wheel sbom; do
        python3 "$clone/cmake/$script.py" "$bundle" >&2
    done
done
sha256sum -- * >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" .
if [ -n "${CONTEND_SIGN_KEY:-}" ]; then
    gpg --batch --local-user "$CONTEND_SIGN_KEY" --armor --detach-sign SHA256SUMS
else
    say "SHA256SUMS is not signed: CONTEND_SIGN_KEY=KEY names a key of gpg"
fi
ls -l >&2
echo "$out"
