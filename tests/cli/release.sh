#!/usr/bin/env bash
# A release that is built twice, in different folders, has the same hashes; its SBOM names what is linked. The project's
# build files build a small program here, for GPUs too where nvcc is there; with --real as an argument, the whole tree.
# For Arm too, if cmake/aarch64.sh was run.
. tests/lib/cli.sh
[ -z "$CONTEND_SANITIZE" ] || skip "a release has no sanitizer"
needs git python3 cpack dpkg-shlibdeps rpmbuild gpg
unset CONTEND_BUILD_DIR CONTEND_SIGN_KEY
export CCACHE_DISABLE=1 # objects of another folder would prove nothing
export CONTEND_GPU_CODE=sm_90 GNUPGHOME=$scratch/keys
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org

# small_tree: the build files and what is installed, with one source in each library.
small_tree() {
    local file
    mkdir "$tree"
    cp -r .gitignore CMake* CHANGELOG.md LICENSE README.md contend cmake docs plots share "$tree"
    for file in harness/{lib/err,plan/plan,main,commands,{comms,doctor,validate}/{main,tool}} kernels/cpu/cpu \
        harness/comms/plugin/{plugin{,_log,_look,_timing},preload,names} bench/{registry,collective/contend_mpi}; do
        mkdir -p "$tree/${file%/*}"
        printf 'const char *%s(void);\nconst char *%s(void)\n{\n    return __FILE__;\n}\n' "${file##*/}_"{,} >"$tree/$file.c"
    done
    printf 'int main(void)\n{\n    return 0;\n}\n' | tee "$tree"/harness/{comms,doctor,validate}/main.c >/dev/null
    cp harness/version.h.in "$tree/harness"
    find harness bench -name '*.h' -exec cp --parents -t "$tree" {} + # of what is embedded
    cp bench/loader/*.py "$tree/bench/loader"
    mkdir "$tree"/{kernels/gpu,tests}
    touch "$tree/tests/CMakeLists.txt"
    cat >"$tree/kernels/gpu/gpu.cu" <<'CUDA'
__global__ void kernel(float *x)
{
    x[threadIdx.x] /= 3;
}
extern "C" void gpu(void)
{
    kernel<<<1, 1>>>(nullptr);
}
CUDA
    cat >"$tree/harness/main.c" <<'C'
#include "version.h"
#include <hwloc.h>
#include <jansson.h>
#include <numa.h>
#include <omp.h>
#include <stdio.h>
#ifdef CONTEND_CUDA_VERSION
void gpu(void);
#define GPU() (gpu(), "built with CUDA " CONTEND_CUDA_VERSION)
#else
#define GPU() ""
#endif
int main(int argc, char **argv)
{
    json_decref(json_object());
    printf("contend %s (commit %s)\n%s\n", CONTEND_VERSION, contend_commit, GPU());
    printf("%s %s of %s docs/method.md\n", argc > 1 ? argv[1] : "", argv[0] ? __FILE__ : "", __func__);
    return (int)hwloc_get_api_version() + numa_available() + omp_get_max_threads() == -7;
}
C
    git init -q "$tree"
}

# in_tree COMMAND...: git in the tree.
in_tree() {
    git -C "$tree" "$@" >/dev/null || fail "git $*"
}

tree=$scratch/first
if [ "${1:-}" = --real ]; then git clone -q . "$tree"; else small_tree; fi
sed -i 's/^## \([0-9.]*\), .*/## \1, unreleased/' "$tree/CHANGELOG.md"
in_tree add -A
in_tree commit -q --allow-empty -m one
archs=(--arch "$(uname -m)")
if [ -e build/aarch64-root/apt/files ]; then
    archs=()
    mkdir "$tree/build"
    ln -s "$PWD/build/aarch64-root" "$tree/build"
fi
expect 2 "has no heading '## [0-9.]+, YYYY-MM-DD'" "$tree/contend" release
expect 2 "cannot build for 'vax'" "$tree/contend" release --snapshot --arch vax
touch "$tree/new"
expect 2 "commit your changes first" "$tree/contend" release --snapshot
rm "$tree/new"

mkdir -m 700 "$GNUPGHOME" "$scratch/a_longer_name"
trap 'gpgconf --kill all; rm -rf "$scratch"' EXIT
gpg -q --batch --passphrase '' --quick-gen-key t@example.org default default never 2>"$scratch/log" ||
    fail "$(cat "$scratch/log")"
export limit_s=3000
CONTEND_SIGN_KEY=t@example.org expect 0 "/one$" "$tree/contend" release --snapshot "${archs[@]}" "$scratch/one"
git clone -q "$tree" "$scratch/a_longer_name/second"
[ ! -e "$tree/build" ] || cp -r "$tree/build" "$scratch/a_longer_name/second"
(umask 077 && TMPDIR="$scratch/a_longer_name" TZ=Asia/Tokyo expect 0 "is not signed" "$scratch/a_longer_name/second/contend" \
    release --snapshot "${archs[@]}" "$scratch/two" && exit $failures) || fail "no second release"
diff "$scratch"/{one,two}/SHA256SUMS >"$scratch/diff" || fail "built twice: $(cat "$scratch/diff")"
cd "$scratch/one" || exit 1
expect 0 ': OK$' sha256sum -c SHA256SUMS
expect 0 'Good signature' gpg --verify SHA256SUMS.asc
expect_equal "files without a sum" "$(comm -23 <(find . -type f -printf '%f\n' | sort) <(awk '{ print $2 }' SHA256SUMS | sort) | xargs)" "SHA256SUMS SHA256SUMS.asc"
expect 2 'is not empty' "$tree/contend" release --snapshot .

for kind in deb rpm whl tar.gz; do
    expect_equal "files $kind for $(echo *.spdx.json)" "$(find . -name "*.$kind" | wc -l)" \
        $(($(find . -name '*.spdx.json' | wc -l) + $([ $kind = tar.gz ] && echo 1 || echo 0)))
done
for sbom in *.spdx.json; do
    bundle=${sbom%.spdx.json}
    machine=${bundle##*-linux-}
    mkdir "$machine"
    tar -xzf "$bundle.tar.gz" -C "$machine" --strip-components 1
    ls "$machine/lib" >"$scratch/there"
    ! grep -q 'CUDA [0-9]' "$machine/drivers.txt" || echo libcudart_static.a >>"$scratch/there"
    python3 - "$sbom" "$scratch/there" <<'PY' || fail "$sbom (above)"
import json, sys
sbom = json.load(open(sys.argv[1]))
packages = {package["name"]: package for package in sbom["packages"]}
licences = {"Apache-2.0", "NOASSERTION"} | {licence["licenseId"] for licence in sbom["hasExtractedLicensingInfos"]}
linked = {relation["relatedSpdxElement"] for relation in sbom["relationships"]}
there = set(open(sys.argv[2]).read().split())
assert len(there) >= 5 and there <= set(packages), there - set(packages)
assert all(name in there or name.endswith(".a") for name in packages if name != "contend"), packages.keys()
assert len({package["SPDXID"] for package in packages.values()}) == len(sbom["packages"]), "an id twice"
for package in packages.values():
    assert package["SPDXID"] in linked and package["licenseDeclared"] in licences, package
    assert package["versionInfo"][0].isdigit(), package
PY
done
! grep -ral "$scratch" . || fail "the release has this folder's name (above)"
tag=$(sed -n 's/^project(contend VERSION \([0-9.]*\).*/v\1/p' "$tree/CMakeLists.txt")
sed -i "s/, unreleased/, 2026-01-31/" "$tree/CHANGELOG.md"
in_tree commit -q -a -m two
in_tree tag v9.9
expect 2 "HEAD is tagged v9.9, and CMakeLists.txt has version ${tag#v}" "$tree/contend" release
finish
