#!/usr/bin/env bash
# The deb and the rpm are installed in a minimal Debian root, run, and removed completely.
. tests/lib/pid_namespace.sh
. tests/lib/cli.sh
. tests/lib/packages.sh
. tests/lib/bare_root.sh
needs cpack dpkg-shlibdeps rpmbuild

deb=$(package DEB 'contend_*_*.deb') || fail "no deb"
rpm=$(package RPM 'contend-*.rpm') || fail "no rpm"
version=$(dpkg-deb -f "$deb" Version)
expect_equal "version of the rpm" "$(rpm -qp --qf '%{VERSION}-%{RELEASE}' "$rpm")" "$version"
commit=$("$CONTEND_BINARY" --version | sed -nE '1s/.*\(commit ([0-9a-f]+)(-dirty)?\)/\1/p')
[[ $version == *"$commit"* ]] || fail "no commit $commit in the version $version"

# Both contain the same files, except for the names of licence and change log, and run no scripts.
dpkg-deb -c "$deb" | awk '{ print $6 }' | grep -v '/$' | sed 's/^\.//' | sort >"$scratch/files.deb"
rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$rpm" | sed -n 's/^[^d][^ ]* //p' | grep -v build-id | sort >"$scratch/files.rpm"
expect_equal "the deb beyond the rpm" "$(comm -23 "$scratch"/files.{deb,rpm} | xargs)" \
    "$(printf '/usr/share/doc/contend/%s ' changelog.Debian.gz changelog.gz copyright | sed 's/ $//')"
expect_equal "the rpm beyond the deb" "$(comm -13 "$scratch"/files.{deb,rpm} | xargs)" \
    "/usr/share/doc/contend/CHANGELOG.md /usr/share/doc/contend/LICENSE"
expect_equal "control files" "$(dpkg-deb --ctrl-tarfile "$deb" | tar -t | sort | xargs)" "./control ./md5sums"
expect_equal "scripts of the rpm" "$(rpm -qp --scripts "$rpm")" ""
! command -v lintian >/dev/null || lintian --allow-root --fail-on error "$deb" || fail "lintian finds errors"

# Both depend on all libraries that the programs link, by package and by soname, but not on MPI.
find "$CONTEND_BUILD_DIR" -maxdepth 1 \( -name contend -o -name 'contend-[cdv]*' -o -name 'libcontend_*.so' \) -exec objdump -p {} + |
    awk '$1 == "NEEDED" { print $2 }' | sort -u >"$scratch/needed"
[ "$(wc -l <"$scratch/needed")" -ge 5 ] || fail "only $(cat "$scratch/needed")"
rpm -qp --requires "$rpm" | sed -n 's/^\(.*\.so\.[0-9]*\)().*/\1/p' | sort -u | diff "$scratch/needed" - >"$scratch/diff" ||
    fail "linked, and what the rpm requires: $(cat "$scratch/diff")"
while read -r library; do
    path=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
    dpkg-query -S "$(readlink -f "$path")" 2>/dev/null || dpkg-query -S "$(readlink -f "$path" | sed 's|^/usr||')"
done <"$scratch/needed" | cut -d: -f1 | sort -u >"$scratch/owners"
dpkg-deb -f "$deb" Depends | tr ',' '\n' | awk '{ print $1 }' | sort | diff "$scratch/owners" - >"$scratch/diff" ||
    fail "linked, and what the deb depends on: $(cat "$scratch/diff")"
[ "$failures" = 0 ] || exit 1
needs debootstrap

tar=$(bare_root) || skip "debootstrap fails: $(tail -n 1 "$scratch/log")"
root=$scratch/root
mkdir "$root"
tar -C "$root" -xf "$tar" || fail "cannot unpack $tar"
cp -L /etc/resolv.conf "$root/etc/"
trap 'umount -l "$root/proc" "$root/sys" "$root/dev"; rm -rf --one-file-system "$scratch"' EXIT
for directory in proc sys dev; do
    mount --rbind "/$directory" "$root/$directory" || skip "mounts are not allowed here"
done
cp "$deb" "$root/contend.deb"

inside=(env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
    CONTEND_TEST="$scratch" chroot "$root")
logged() {
    "$@" </dev/null >"$scratch/log" 2>&1
}
now_ms() {
    date +%s%3N
}
# files: lists all files in the root, except the package managers' own.
files() {
    (cd "$root" && find bin etc lib* opt root sbin srv tmp usr home -xdev | sort)
}

# works FORM: measures within ten seconds, and finds its tools, manual page and documents.
works() {
    local begin
    begin=$(now_ms)
    expect 0 '^Results: ' "${inside[@]}" contend run --device sim --placement none --rounds 1 --time 0.5 --warmup 0.1 --out /tmp/r
    echo "$1: a result $(($(now_ms) - begin)) ms after installing"
    [ $(($(now_ms) - begin)) -lt 10000 ] || fail "$1: no result within 10 s"
    grep -q ',pipeline,' "$root/tmp/r/rows.csv" || fail "$1: no row"
    rm -r "$root/tmp/r"
    expect_equal "version" "$("${inside[@]}" contend --version)" "$("$CONTEND_BINARY" --version)"
    expect 0 'CPU' "${inside[@]}" contend info
    "${inside[@]}" contend validate --no-measure | grep -q 'judged in' || fail "$1: validate judges nothing"
    expect 0 'CPU' "${inside[@]}" contend doctor --live --looks 1
    expect 2 "no log .* in '/tmp'" "${inside[@]}" contend comms --read /tmp
    "${inside[@]}" gzip -dc /usr/share/man/man1/contend-doctor.1.gz | diff -q - <("$CONTEND_BINARY" man) || fail "$1: another manual page"
    "${inside[@]}" sh -c 'ls /usr/share/contend/sample_worker.py /usr/share/doc/contend/docs/compare.md' >/dev/null || fail "$1: files are missing"
}

logged "${inside[@]}" apt-get -qq update || skip "no mirror: $(tail -n 1 "$scratch/log")"
files >"$scratch/before"
begin=$(now_ms)
logged "${inside[@]}" apt-get -qq install -y --no-install-recommends /contend.deb || fail "$(cat "$scratch/log")"
echo "deb: installed in $(($(now_ms) - begin)) ms, with $(grep -c '^Setting up' "$scratch/log") packages"
expect_equal "verified" "$("${inside[@]}" dpkg --verify contend)" ""
works deb
logged "${inside[@]}" apt-get -qq purge -y contend || fail "$(cat "$scratch/log")"
! files | grep contend || fail "left by the deb (above)"

# Debian's libraries serve the rpm too; rpm's own database does not know them.
files >"$scratch/between"
begin=$(now_ms)
in_root=(rpm --root "$root" --dbpath /var/lib/rpm)
logged "${in_root[@]}" --nodeps -i "$rpm" || fail "$(cat "$scratch/log")"
echo "rpm: installed in $(($(now_ms) - begin)) ms"
expect_equal "verified" "$("${in_root[@]}" -V --nodeps contend)" ""
works rpm
logged "${in_root[@]}" -e contend || fail "$(cat "$scratch/log")"
files | diff "$scratch/between" - >"$scratch/diff" || fail "left by the rpm: $(cat "$scratch/diff")"
logged "${inside[@]}" apt-get -qq autoremove -y --purge
files | diff "$scratch/before" - >"$scratch/diff" || fail "left by the deb: $(cat "$scratch/diff")"
finish
