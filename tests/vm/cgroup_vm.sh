#!/usr/bin/env bash
# --bind cgroup, --cpu-max and the scenario `cgroup` where all
# controllers are of cgroup v2: in an emulated machine of two CPUs. Needs the Debian packages qemu-system-x86 and busybox-static, and
# a kernel as tests/vm/numa_vm.sh downloads it. Exit 77: something is missing.
. tests/lib/cli.sh

for command in qemu-system-x86_64 busybox; do
    command -v "$command" >/dev/null || skip "no $command here"
done
kernel=${CONTEND_VM_KERNEL:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/contend/vmlinuz-cloud-amd64}
[ -r "$kernel" ] || skip "no kernel: tests/vm/numa_vm.sh downloads it"
[ -z "${CONTEND_SANITIZE:-}" ] || skip "sanitizers need more than the small machine has"

root=$scratch/root
mkdir -p "$root"/{bin,lib,dev,proc,sys,tmp,etc}
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$CONTEND_BINARY" "$root/bin/contend"
install -m 755 tests/vm/cgroup_vm_init.sh "$root/init"
ldd "$CONTEND_BINARY" | awk '$2 == "=>" { print $3 }' | xargs cp -L -t "$root/lib"
loader=$(ldd "$CONTEND_BINARY" | awk '$1 ~ "^/" { print $1 }')
install -D "$loader" "$root$loader"
(cd "$root" && find . | busybox cpio -o -H newc) >"$scratch/initramfs" 2>/dev/null
disk=() # with a file system whose pages can be reclaimed, where one can be made
if command -v mkfs.ext4 >/dev/null && truncate -s 256M "$scratch/disk" && mkfs.ext4 -q "$scratch/disk"; then
    disk=(-drive "file=$scratch/disk,if=none,id=disk,format=raw" -device "nvme,drive=disk,serial=1")
fi
timeout 600 qemu-system-x86_64 -accel tcg,thread=multi -cpu Nehalem -nodefaults -no-user-config -no-reboot -display none \
    -m 1G -smp 2 -kernel "$kernel" -initrd "$scratch/initramfs" -append 'console=ttyS0 quiet panic=-1' \
    "${disk[@]}" -serial stdio </dev/null >"$scratch/console" 2>&1
tr -d '\r' <"$scratch/console" >"$scratch/said"
grep -q '^RESULT' "$scratch/said" || skip "the machine does not boot: $(tail -n 3 "$scratch/said")"

expect_value() { # expect_value NAME VALUE
    local got
    got=$(sed -n "s/^RESULT $1 //p" "$scratch/said")
    [ "$got" = "$2" ] || fail "$1 is '$got', not '$2'"
}
expect_value bound.code 0
expect_value bound.cpus "0 0-1 1"
expect_value bound.skipped 0
expect_value bound.left 0
expect_value quota.code 0
expect_value quota.said 1
expect_value quota.parts "add up"
expect_value quota.left 0
expect_value both.code 0
expect_value both.left 0
expect_value killed.effective "0 1"
expect_value killed.left 1
expect_value next.code 0
expect_value next.left 0
expect_value limited.code 3
expect_value limits.code 0
expect_value limits.left 0
expect_value limits.handed_on same
expect_value limits.events "1 1"
expect_value limits.oom 1
expect_value limits.pids 1
expect_value limits.given yes
expect_value limits.refaults "$([ "${#disk[@]}" = 0 ] && echo none || echo yes)"
expect_value limits_INT.left 0
expect_value limits_KILL.left 0
expect_value end yes
[ "$(sed -n 's/^RESULT limited.said //p' "$scratch/said")" -gt 0 ] || fail "limits are not named"
[ "$failures" = 0 ] || cat "$scratch/said"
finish
