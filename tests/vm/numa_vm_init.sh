#!/bin/busybox sh
# shellcheck shell=dash
# Process 1 of the virtual machine that tests/vm/numa_vm.sh boots: runs the program, sends what it
# left to the second serial port as a tar, and powers off. Judges nothing: the host does.
#
#   topo.json, run/, matrix/     what the program wrote
#   *.code, *.log                exit code and all output of each command
#   maps.txt                     what the kernel said meanwhile of the program's processes, lines
#                                "CPUS NODE ON ALL": allowed CPUs; the node its memory is bound to;
#                                how many of its ALL anonymous pages lie there
trap 'poweroff -f' EXIT
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp LD_LIBRARY_PATH=/lib
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /tmp
hostname numa-vm
mkdir /tmp/out
cd /tmp/out || exit

say() {
    read -r up _ < /proc/uptime
    echo "vm, $up s: $*"
}

# logged NAME COMMAND...
logged() {
    name=$1
    shift
    say "$*"
    "$@" > "$name.log" 2>&1 < /dev/null
    echo $? > "$name.code"
}

# Memory of files is where whoever read them first was, so only anonymous memory counts.
watch_maps() {
    while :; do
        for pid in $(pidof contend); do
            awk '
                $1 == "Cpus_allowed_list:" { cpus = $2 }
                $2 ~ /^bind:[0-9]+$/ && / anon=/ && !/ file=/ {
                    node = substr($2, 6)
                    for (i = 3; i <= NF; i++)
                        if (split($i, part, "=") == 2 && part[1] ~ /^N[0-9]+$/) {
                            all += part[2]
                            if (part[1] == "N" node)
                                on += part[2]
                        }
                }
                END { if (all) print cpus, node, on + 0, all }
            ' "/proc/$pid/status" "/proc/$pid/numa_maps" 2> /dev/null
        done >> maps.txt
        sleep 0.1
    done
}

gpus=0000:01:00.0@0,0000:02:00.0@3
logged topo contend info --gpus "$gpus" --json
mv topo.log topo.json

watch_maps &
# As little as the program accepts: every instruction is emulated.
logged run contend run pipeline --device sim --gpus "$gpus" --workers 2 \
    --placement numa,gpu-local,package-local,remote --threads 2 --rounds 1 --time 0.5s --warmup 0.05s \
    --limit 60s --setup-limit 120s --no-baselines --no-plots --out run \
    -p rows=256 -p cols=64 -p window=16
kill $!

logged matrix contend run numa_matrix --rounds 1 --time 0.05s --warmup 0.01s \
    --limit 60s --setup-limit 120s --no-baselines --no-plots --out matrix

say "sending the results"
stty -F /dev/ttyS1 raw -echo
tar -cf /dev/ttyS1 .
sync
