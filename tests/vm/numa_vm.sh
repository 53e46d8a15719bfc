#!/usr/bin/env bash
# Real NUMA without a server: boots Debian's kernel in an emulated machine of 2 packages, 4 nodes
# with distances and SMT 2, runs the program in it, and checks what it saw and where CPUs and pages
# were. Timings in there mean nothing, and are not looked at.
#
#   CONTEND_BINARY       the program
#   CONTEND_VM_KERNEL    a kernel image to boot; default: that of linux-image-cloud-amd64, which is
#                        downloaded once to ~/.cache/contend, and not installed
#
# Needs the Debian packages qemu-system-x86, busybox-static and jq. Exit 77: something is missing.
set -euo pipefail
: "${CONTEND_BINARY:?}"
here=$(dirname "$(readlink -f "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
boot_limit_s=500 # it takes a minute or two where it has the machine for itself
# Emulation with a thread a CPU now and then hangs before the kernel has said a word: once more then.
silent_limit_s=150

# What is told to qemu, and expected back from the program. Node n has the CPUs 4n to 4n+3. All six
# distances differ, so that no two nodes can be taken for each other.
packages=2
dies=2 # of a package, each a node with an L3 of its own
cores=2 # of a die
threads=2
node_cpus=$((cores * threads))
nodes=$((packages * dies))
node_mib=512
distances='[[10,12,21,22], [12,10,24,23], [21,24,10,13], [22,23,13,10]]'
gpu_nodes='[0,3]' # of the GPUs in numa_vm_init.sh

skip() {
    echo "SKIP: $*"
    exit 77
}

# fail MESSAGE [FILE...]: the files are what explains it.
fail() {
    echo "FAIL: $1"
    shift
    [ $# = 0 ] || tail -n 40 -- "$@"
    exit 1
}

need() {
    local command
    for command in "$@"; do
        command -v "$command" > /dev/null || skip "needs $command"
    done
}

check_needs() {
    [ "$(uname -m)" = x86_64 ] || skip "the emulated machine is x86-64, the program is not"
    need qemu-system-x86_64 busybox jq
    busybox=$(command -v busybox)
    ! ldd "$busybox" > /dev/null 2>&1 || skip "$busybox needs libraries: it is not busybox-static"
}

# with_own_lists COMMAND...: apt's, for a system whose lists of packages are old or not there.
with_own_lists() {
    mkdir -p "$scratch"/apt/{lists,cache}/partial
    "$1" -o Dir::State::Lists="$scratch/apt/lists" -o Dir::Cache="$scratch/apt/cache" \
        -o Debug::NoLocking=1 "${@:2}"
}

# download_kernel PREFIX: makes $scratch/*.deb, running apt's commands by `PREFIX COMMAND...`. The
# package that we know by name is empty, and depends on that of the current version.
download_kernel() {
    local package
    package=$("$1" apt-cache depends linux-image-cloud-amd64 |
        awk '$1 == "Depends:" { print $2; exit }')
    [ -n "$package" ] || return 1
    (cd "$scratch" && "$1" apt-get download -o APT::Sandbox::User=root "$package")
}

find_kernel() {
    local cache=${XDG_CACHE_HOME:-${HOME:-$scratch}/.cache}/contend image
    kernel=${CONTEND_VM_KERNEL:-$cache/vmlinuz-cloud-amd64}
    [ ! -r "$kernel" ] || return 0
    [ -z "${CONTEND_VM_KERNEL:-}" ] || skip "cannot read the kernel $kernel"
    need apt-get dpkg-deb
    echo "downloading Debian's kernel to $cache"
    { download_kernel command ||
        { with_own_lists apt-get update && download_kernel with_own_lists; }; } \
        > "$scratch/apt.log" 2>&1 ||
        skip "cannot download linux-image-cloud-amd64: $(tail -n 1 "$scratch/apt.log")"
    dpkg-deb --fsys-tarfile "$scratch"/*.deb > "$scratch/kernel.tar"
    image=$(tar -tf "$scratch/kernel.tar" | grep '/boot/vmlinuz-')
    mkdir -p "$cache"
    tar -xOf "$scratch/kernel.tar" "$image" > "$cache/new.$$"
    mv "$cache/new.$$" "$kernel"
}

make_initramfs() {
    local root=$scratch/root loader
    mkdir -p "$root"/{bin,lib,dev,proc,sys,tmp}
    cp "$busybox" "$root/bin/busybox"
    cp "$CONTEND_BINARY" "$root/bin/contend"
    install -m 755 "$here/numa_vm_init.sh" "$root/init"
    ldd "$CONTEND_BINARY" > "$scratch/ldd"
    ! grep 'not found' "$scratch/ldd" || fail "the program lacks a library"
    awk '$2 == "=>" { print $3 }' "$scratch/ldd" | xargs cp -L -t "$root/lib"
    loader=$(awk '$1 ~ "^/" { print $1 }' "$scratch/ldd")
    install -D "$loader" "$root$loader"
    (cd "$root" && find . | busybox cpio -o -H newc) \
        > "$scratch/initramfs" 2> "$scratch/cpio.log" ||
        fail "cannot make the initramfs" "$scratch/cpio.log"
}

# Names and sizes of nodes, and the distance of each pair, as options of qemu in `numa`.
describe_nodes() {
    local from to pair
    for ((from = 0; from < nodes; from++)); do
        numa+=(-object "memory-backend-ram,id=m$from,size=${node_mib}M"
            -numa "node,memdev=m$from,cpus=$((from * node_cpus))-$(((from + 1) * node_cpus - 1))")
    done
    for ((from = 0; from < nodes; from++)); do
        for ((to = from + 1; to < nodes; to++)); do
            pair=$(jq -n "$distances | .[$from][$to]")
            numa+=(-numa "dist,src=$from,dst=$to,val=$pair")
        done
    done
}

# Nehalem: an Intel model, as AMD's has no SMT here, and without AVX, which is slow to emulate.
# 125: the machine has said nothing for silent_limit_s.
emulate() {
    local qemu waited=0
    timeout --foreground "$boot_limit_s" qemu-system-x86_64 -accel tcg,thread=multi -cpu Nehalem \
        -nodefaults -no-user-config -no-reboot -display none -m $((nodes * node_mib))M \
        -smp "$((nodes * node_cpus)),sockets=$packages,dies=$dies,cores=$cores,threads=$threads" \
        "${numa[@]}" -kernel "$kernel" -initrd "$scratch/initramfs" \
        -append 'console=ttyS0 quiet panic=-1' -serial stdio -serial "file:$scratch/results.tar" \
        < /dev/null > "$scratch/console" 2>&1 &
    qemu=$!
    while [ ! -s "$scratch/console" ] && kill -0 "$qemu" 2> /dev/null; do
        [ $((waited += 1)) -le "$silent_limit_s" ] || { kill "$qemu"; wait "$qemu" || true; return 125; }
        sleep 1
    done
    wait "$qemu"
}

boot() {
    local numa=() code=0
    describe_nodes
    for _ in 1 2 3; do
        code=0
        emulate || code=$?
        [ "$code" = 125 ] || break
        echo "nothing from the machine within $silent_limit_s s: once more"
    done
    grep '^vm' "$scratch/console" || true
    [ "$code" = 0 ] || fail "qemu: exit code $code (124: over $boot_limit_s s)" "$scratch/console"
    mkdir "$scratch/out"
    tar -C "$scratch/out" -xf "$scratch/results.tar" 2> "$scratch/tar.log" ||
        fail "the machine ended without results" "$scratch/console" "$scratch/tar.log"
}

expect_exit_0() {
    local code
    for code in "$scratch"/out/*.code; do
        [ "$(cat "$code")" = 0 ] ||
            fail "contend $(basename "$code" .code): exit code $(cat "$code")" "${code%.code}".*
    done
}

# Prints lines "ok WHAT" and "FAIL WHAT".
judge() {
    local out=$scratch/out
    jq -n -r -f "$here/numa_vm.jq" --argjson distances "$distances" \
        --argjson gpu_nodes "$gpu_nodes" --argjson node_cpus "$node_cpus" \
        --argjson packages "$packages" --argjson threads "$threads" \
        --slurpfile topo "$out/topo.json" --slurpfile run "$out/run/run.json" \
        --rawfile maps "$out/maps.txt"
}

# numa_matrix says which share of each node's block lay on the node, and measures every pair.
judge_matrix() {
    awk -F, -v nodes="$nodes" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["metric"] == "pages_on_node" && match($at["params"], /to=[0-9]+/) {
            node = substr($at["params"], RSTART, RLENGTH)
            if ($at["median"] == 1 && !(node in seen)) good++
            else print "FAIL numa_matrix, " node ": share of pages on the node is " $at["median"]
            seen[node]
        }
        $at["metric"] == "node_latency" && $at["median"] > 0 &&
            match($at["params"], /from=[0-9]+;to=[0-9]+/) {
            pair = substr($at["params"], RSTART, RLENGTH)
            if (!(pair in timed)) pairs++
            timed[pair]
        }
        END {
            print (good == nodes ? "ok  " : "FAIL") " numa_matrix: all pages on the node for " \
                good + 0 " of " nodes " nodes"
            print (pairs == nodes * nodes ? "ok  " : "FAIL") " numa_matrix: " pairs + 0 " of " \
                nodes * nodes " pairs of nodes measured"
        }
    ' "$1"
}

# Where the buffers lie that batches are copied from: on the node of the worker's memory.
judge_buffers() {
    awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["metric"] == "buffer_on_node" {
            seen++
            print ($at["median"] == 1 ? "ok  " : "FAIL") " " $at["placement"] \
                ": share of the host buffers on the node of the memory is " $at["median"]
        }
        END { if (seen != 4) print "FAIL host buffers: told for " seen + 0 " of 4 placements" }
    ' "$1"
}

check_needs
find_kernel
make_initramfs
boot
expect_exit_0
judge > "$scratch/verdict" || fail "cannot judge the results" "$scratch/verdict"
judge_matrix "$scratch/out/matrix/rows.csv" >> "$scratch/verdict" ||
    fail "cannot read the rows of numa_matrix"
judge_buffers "$scratch/out/run/rows.csv" >> "$scratch/verdict" || fail "cannot read the rows"
cat "$scratch/verdict"
! grep -q '^FAIL' "$scratch/verdict" || exit 1
