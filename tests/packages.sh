# Sourced by tests/run.sh and .ci/run, after cmake/packages.sh: packages that tests use and the build does not.
# shellcheck shell=sh

# A line for each package: its name, then what shows that it is installed (cmake/packages.sh). `needs` in
# tests/lib/cli.sh names the commands.
test_packages() {
    cat <<END
g++ g++
libcmocka-dev cmocka.pc
dpkg-dev dpkg-shlibdeps
rpm rpmbuild
gnupg gpg
lintian lintian
jq jq
curl curl
openssl openssl
python3 python3
libxml2-utils xmllint
libopenmpi-dev mpicc
openmpi-bin mpirun
iproute2 ip
util-linux unshare
bsdutils script
numactl numactl
munge /usr/sbin/munged
slurmctld /usr/sbin/slurmctld
slurmd /usr/sbin/slurmd
slurm-client srun
qemu-system-x86 qemu-system-x86_64
busybox-static busybox
docker.io dockerd
debootstrap debootstrap
fio fio
redis-server redis-server
redis-tools redis-benchmark
nginx-light /usr/sbin/nginx
wrk wrk
postgresql pgbench
clang clang
shellcheck shellcheck
groff groff
mandoc mandoc
zsh zsh
fish fish
systemd systemd-analyze
chromium chromium
END
}

# install_test_packages: installs those that are available; a test reports what it lacks. $missing is split on purpose.
# shellcheck disable=SC2034,SC2086,SC2154
install_test_packages() {
    missing=$(missing_packages "$(test_packages)")
    [ -n "$missing" ] || return 0
    [ -z "${CONTEND_NO_INSTALL:-}" ] || die 2 "missing packages: $missing"
    as_root=
    [ "$(id -u)" -eq 0 ] || as_root='sudo -n'
    say "installing for the tests: $missing"
    apt_get update || true
    apt_get install -y --no-install-recommends $missing && return
    for package in $missing; do
        apt_get install -y --no-install-recommends "$package" ||
            say "no $package here: tests that need it are skipped"
    done
}
