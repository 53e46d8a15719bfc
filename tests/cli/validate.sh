#!/usr/bin/env bash
# contend validate: planted faults give their rule, class and action. Also tests waivers, outputs and exit codes.
. tests/lib/cli.sh

needs jq
root=$scratch/root
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere # also where there is a GPU

# put PATH TEXT: writes a file of the fake machine that --root shows.
put() {
    mkdir -p "$root$(dirname "$1")"
    printf '%s\n' "$2" >"$root$1"
}
# judge CODE ARGUMENT...: runs validate; the findings are in $scratch/json.
judge() {
    local code=$1 got
    shift
    "$CONTEND_BINARY" validate --no-measure --root "$root" --json "$@" \
        >"$scratch/json" 2>"$scratch/stderr"
    got=$?
    [ "$got" = "$code" ] || fail "exit $got, expected $code: $*: $(cat "$scratch/stderr" "$scratch/json")"
}
# found RULE OUTCOME CLASS ACTION [SUBJECT]: checks that there is such a finding.
found() {
    jq -e --arg id "$1" --arg o "$2" --arg c "$3" --arg a "$4" --arg s "${5:-}" \
        '[.findings[] | select(.id == $id and .outcome == $o and (.cause // "") == $c and .action == $a and
          ($s == "" or (.subject // "" | contains($s))))] | length > 0' "$scratch/json" >/dev/null ||
        fail "no $2 of $1 ($3: $4; ${5:-}) in: $(jq -c --arg id "$1" '.findings[] | select(.id == $id)' "$scratch/json")"
}

put /sys/devices/system/cpu/online 0-7
put /sys/devices/system/cpu/present 0-7

# Without a GPU no verdict covers the machine's purpose: SKIP in every form, unless --expect gpus=0.
skipped() { # skipped WHY: what the last judge 4 said
    jq -e --arg why "$1" '.verdict == "SKIP" and .counts.PASS > 0 and
        (.text | startswith("SKIP: no GPU was judged: ") and contains($why) and contains("--expect gpus=0"))' \
        "$scratch/json" >/dev/null || fail "no '$1': $(jq -c '[.verdict, .text, .counts]' "$scratch/json")"
}
judge 4
skipped 'the PCI bus cannot be read'
put /sys/bus/pci/devices/0000:5e:00.0/vendor 0x15b3
put /sys/bus/pci/devices/0000:5e:00.0/class 0x020700
judge 4 --junit "$scratch/none/junit.xml" --prometheus "$scratch/none/prom" --out "$scratch/none"
skipped 'no NVIDIA GPU is on the PCI bus ('
found gpus_judged SKIP '' fix
grep -q '<error message="SKIP: no GPU was judged' "$scratch/none/junit.xml" || fail "JUnit reads as a pass"
grep -q '^contend_verdict{.*} 0$' "$scratch/none/prom" || fail "Prometheus: $(grep verdict "$scratch/none/prom")"
grep -q '^SKIP: no GPU was judged' "$scratch/none/summary.txt" || fail "summary.txt"
judge 4 --only cpus_online,gpu_ecc
judge 3 --require gpus_judged
judge 1 --expect gpus=2
judge 0 --expect gpus=0 --junit "$scratch/none/junit.xml" --prometheus "$scratch/none/prom"
! grep -q '<error' "$scratch/none/junit.xml" || fail "an error in JUnit of a pass"
grep -q '^contend_verdict{.*} 1$' "$scratch/none/prom" || fail "Prometheus: $(grep verdict "$scratch/none/prom")"
# GPUs of other vendors, and a GPU that the container has no access to.
put /sys/bus/pci/devices/0000:c1:00.0/vendor 0x1002
put /sys/bus/pci/devices/0000:c1:00.0/class 0x120000
put /sys/bus/pci/devices/0000:c2:00.0/vendor 0x1002
put /sys/bus/pci/devices/0000:c2:00.0/class 0x038000
put /sys/bus/pci/devices/0000:00:02.0/vendor 0x8086
put /sys/bus/pci/devices/0000:00:02.0/class 0x030000
judge 4
skipped "2 AMD GPUs are there; contend measures NVIDIA's"
judge 0 --expect gpus=0
found expected WARN hardware fix GPUs
put /.dockerenv ''
put /sys/bus/pci/devices/0000:3b:00.0/vendor 0x10de
put /sys/bus/pci/devices/0000:3b:00.0/class 0x030200
judge 4
skipped '1 NVIDIA GPU is on the PCI bus, and none answers in this container'
found gpus_on_bus WARN container reset 0000:3b:00.0
rm -r "$root/.dockerenv" "$root/sys/bus/pci"

# A fleet of such machines does not pass either, and no bounds are made from it.
for i in 1 2 3; do
    mkdir -p "$scratch/fleet/$i"
    jq --arg host "n$i" '.host = $host | .measured = [{probe: "memory_bandwidth", metric: "bandwidth", key: "threads=2",
        unit: "GB/s", better: "higher", gates: true, value: 20, why: null}]' "$scratch/none/validate.json" \
        >"$scratch/fleet/$i/validate.json"
done
expect 4 'its own rules: SKIP: no GPU was judged' "$CONTEND_BINARY" validate bounds "$scratch/fleet" -o "$scratch/fleet.json"
sed -i 's/"verdict": "SKIP"/"verdict": "PASS"/' "$scratch"/fleet/*/validate.json
expect 0 '3 of 3' "$CONTEND_BINARY" validate bounds "$scratch/fleet" -o "$scratch/fleet.json"
sed -i 's/"verdict": "PASS"/"verdict": "SKIP"/' "$scratch/fleet/2/validate.json"
fleet=("$CONTEND_BINARY" validate fleet "$scratch/fleet" --bounds "$scratch/fleet.json")
expect 4 '^n2 +SKIP' "${fleet[@]}"
expect 4 '^ +its own rules: SKIP: no GPU was' "${fleet[@]}"
expect 4 '^SKIP: 0 of 3 machines fail, 0 are odd, 2 pass, 1 not judged' "${fleet[@]}"
expect 4 '"outcome": "SKIP"' "${fleet[@]}" --json
expect 4 'n2.*SKIP|SKIP.*n2' "${fleet[@]}" --markdown --junit "$scratch/fleet.xml"
grep -q '<error message="SKIP: 1 machine could not be judged"' "$scratch/fleet.xml" || fail "JUnit of the fleet passes"

# A cgroup with half of the CPUs; a governor; the kernel's log; a link of half its width.
put /proc/self/cgroup 0::/job
put /sys/fs/cgroup/job/cpuset.cpus.effective 0-3
put /sys/devices/system/cpu/cpufreq/policy0/scaling_governor powersave
put /dev/kmsg '6,1,1500000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the <b>bus & co.'
put /sys/bus/pci/devices/0000:5e:00.0/vendor 0x15b3
put /sys/bus/pci/devices/0000:5e:00.0/class 0x020700
put /sys/bus/pci/devices/0000:5e:00.0/current_link_width 8
put /sys/bus/pci/devices/0000:5e:00.0/max_link_width 16
judge 1
found cpus_allowed WARN container fix
found governor FAIL configuration fix
found xid FAIL hardware reset 0000:3b:00
found pcie_width FAIL hardware replace 0000:5e:00.0
jq -e '.findings[] | select(.id == "governor") | .command | contains("performance")' "$scratch/json" \
    >/dev/null || fail "no command for the governor"
jq -e '[.findings[].outcome] | index("FAIL") == 0' "$scratch/json" >/dev/null || fail "not worst first"
jq -e '.verdict == "FAIL" and (.text | startswith("FAIL: 3 rules (")) and .counts.FAIL == 3' \
    "$scratch/json" >/dev/null || fail "verdict: $(jq -c '[.verdict, .text, .counts]' "$scratch/json")"

# The output for people: 80 columns, the verdict in the first line, then what to type, then a table.
"$CONTEND_BINARY" validate --no-measure --root "$root" >"$scratch/text" 2>&1
awk 'length > 80 && !/^ *\$ / { exit 1 }' "$scratch/text" || fail "more than 80 columns: $(cat "$scratch/text")"
head -1 "$scratch/text" | grep -q '^FAIL: 3 rules' || fail "the verdict is not first: $(cat "$scratch/text")"
sed -n 2,4p "$scratch/text" | grep -q '^to see more: sudo lspci' || fail "no command: $(cat "$scratch/text")"
grep -Eq '^FAIL +governor +- +configuration +fix$' "$scratch/text" || fail "no governor: $(cat "$scratch/text")"
grep -q '^ *\$ sudo cpupower' "$scratch/text" || fail "no command of the governor: $(cat "$scratch/text")"
! grep -Eq '^(PASS|SKIP) ' "$scratch/text" || fail "what passes is printed: $(cat "$scratch/text")"
expect 1 '^PASS +cpus_online$' "$CONTEND_BINARY" validate --no-measure --root "$root" -v
expect 1 '^\| \*\*FAIL\*\* \| `governor` ' "$CONTEND_BINARY" validate --no-measure --root "$root" --markdown

# The limit of this process: only 64 KiB may be locked. In a container the finding is a warning.
(ulimit -l 64 && judge 1 --only memlock && found memlock FAIL configuration fix) || fail "memlock"
put /.dockerenv ''
(ulimit -l 64 && judge 0 --only memlock && found memlock WARN container fix) || fail "memlock in a container"
rm "$root/.dockerenv"

# A burn-in without GPUs says that it tests only CPUs and memory. The JSON has rates over time. Without --burn the rule
# is not judged.
"$CONTEND_BINARY" validate --only burn_right --expect gpus=0 --burn 3 --json >"$scratch/json" 2>"$scratch/stderr" ||
    fail "exit $?: --burn: $(cat "$scratch/stderr" "$scratch/json")"
jq -e '(.findings[] | select(.id == "burn_right") | .sentence | startswith("no GPU: CPUs and memory alone")) and
    ([.measured[] | select(.metric == "burn_memory_rate" and .value > 0)] | length) == 3' "$scratch/json" >/dev/null ||
    fail "--burn: $(cat "$scratch/json")"
judge 3 --only burn_right --require burn_right --expect gpus=0

# One line, for the reason of a node; what is waived is neither named nor counted.
brief() { # brief CODE LINE ARGUMENT...
    local code=$1 line=$2 got
    got=$("$CONTEND_BINARY" validate --no-measure --root "$root" --brief "${@:3}" 2>"$scratch/stderr")
    [ "$?:$got" = "$code:$line" ] || fail "brief ${*:3}: '$got', expected '$line': $(cat "$scratch/stderr")"
}
brief 1 'FAIL: NVMe drives: 0 of the 9 that are expected' --only expected --expect nvme=9
brief 1 'FAIL: NVMe drives: 0 of the 9 that are expected; 1 more' --only expected --expect nvme=9,nics=9
echo '[{"rule": "expected", "unit": "NVMe", "reason": "sold", "until": "2999-12-31"}]' >"$scratch/sold.json"
brief 1 'FAIL: NICs: 1 of the 9 that are expected' --only expected --expect nvme=9,nics=9 --strict --waivers "$scratch/sold.json"

# --only, --require, --strict.
judge 1 --only governor,cpus_allowed
jq -e '[.findings[].id] | sort == ["cpus_allowed", "governor"]' "$scratch/json" >/dev/null ||
    fail "not these rules alone: $(jq -c '[.findings[].id]' "$scratch/json")"
judge 0 --only cpus_allowed
judge 1 --only cpus_allowed --strict
judge 3 --only peermem --require peermem
# If nothing was judged, it is no pass, whatever was skipped.
judge 4 --only peermem
jq -e '.verdict == "SKIP" and .text == "SKIP: nothing was judged, 1 skipped"' "$scratch/json" \
    >/dev/null || fail "$(jq -c '[.verdict, .text]' "$scratch/json")"
judge 4 --only peermem --strict
expect 2 "there is no rule 'governer'.*governor" "$CONTEND_BINARY" validate --only governer
expect 2 "'clock' is required, and --only leaves it out" \
    "$CONTEND_BINARY" validate --only governor --require clock
expect 2 "'contend validate fleet DIR...' judges results" "$CONTEND_BINARY" validate "$scratch"
expect 2 "'contend validate fleet DIR...' judges results" "$CONTEND_BINARY" validate fleet

# An expected device is missing; --expect selects that rule even with --only.
judge 0 --only cpus_online --expect cpus=8
jq -e '[.findings[].id] | sort == ["cpus_online", "expected"]' "$scratch/json" >/dev/null || fail "$(cat "$scratch/json")"
judge 1 --only cpus_online --expect cpus=16
found expected FAIL hardware fix CPUs
jq -e '.findings[] | select(.id == "expected") | .value == 8 and .low == 16 and
    .sentence == "8 of the 16 that are expected"' "$scratch/json" >/dev/null || fail "$(cat "$scratch/json")"
judge 0 --only cpus_online --expect cpus=4
found expected WARN hardware fix CPUs
expect 2 "expect: 'gpu=8' is not NAME=COUNT; did you mean 'gpus'" "$CONTEND_BINARY" validate --expect gpu=8
expect 2 "expect: 'gpus=many' is no count" "$CONTEND_BINARY" validate --expect gpus=many
expect 2 'expect is for this server, not for results' "$CONTEND_BINARY" validate fleet x --expect gpus=8

# Waivers.
waivers=$scratch/waivers.json
printf '[{"rule": "governor", "reason": "set by the batch system", "until": "2999-12-31"},\n%s\n%s' \
    '{"rule": "pcie_width", "unit": "0000:5e:00.0", "reason": "riser", "until": "2999-12-31"},' \
    '{"rule": "xid", "reason": "old", "until": "2020-01-01"}]' >"$waivers"
judge 1 --waivers "$waivers"
found governor WARN configuration fix
found pcie_width WARN hardware replace
found xid FAIL hardware reset
jq -e '.findings[] | select(.id == "governor") | .evidence | contains("set by the batch system")' \
    "$scratch/json" >/dev/null || fail "no reason beside what is waived"
grep -q " line 3: the waiver of xid expired on 2020-01-01" "$scratch/stderr" || fail "$(cat "$scratch/stderr")"
judge 0 --waivers "$waivers" --only governor,pcie_width
judge 0 --waivers "$waivers" --only governor,pcie_width --strict # what somebody lives with, it passes, too
printf '[{"rule": "governor", "until": "2999-12-31"}]' >"$waivers"
expect 2 "waivers.json line 1: the waiver of 'governor' has no reason" \
    "$CONTEND_BINARY" validate --waivers "$waivers"

# Output files, with the host in their names.
host=$(jq -r .host "$scratch/json")
judge 1 --junit "$scratch/o/%h.xml" --prometheus "$scratch/o/%h.prom" --out "$scratch/o/%h" --html "$scratch/o/%h.html"
for file in "$host.xml" "$host.html" "$host.prom" "$host/validate.json" "$host/summary.txt"; do
    [ -s "$scratch/o/$file" ] || fail "no $file: $(ls -R "$scratch/o")"
done
[ -z "$(find "$scratch/o" -name '*.tmp')" ] || fail "a file that is not whole was left"
grep -q '<failure' "$scratch/o/$host.xml" || fail "no failure in JUnit"
! command -v xmllint >/dev/null || xmllint --noout "$scratch/o/$host.xml" || fail "JUnit"
for line in "contend_check{id=\"governor\".*host=\"$host\"} 0" "contend_verdict{host=\"$host\"} 0" \
    "contend_check_info{id=\"governor\".*host=\"$host\".*outcome=\"FAIL\"} 1" \
    "contend_verdict_timestamp_seconds{host=\"$host\"} [0-9]"; do
    grep -q "^$line" "$scratch/o/$host.prom" || fail "Prometheus has no $line: $(cat "$scratch/o/$host.prom")"
done
jq -e '.verdict == "FAIL"' "$scratch/o/$host/validate.json" >/dev/null || fail "validate.json"
grep -q '^FAIL: 3 rules' "$scratch/o/$host/summary.txt" || fail "summary.txt"
# The page is well formed, starts with the verdict and its command, and escapes text from the machine. It replaces only
# a page of contend's.
grep -A3 '<div class="verdict bad">' "$scratch/o/$host.html" | tr -d '\n' | grep -q '<p>FAIL: 3 rules.*<pre>sudo lspci' ||
    fail "no verdict on the page"
grep -q '&lt;b&gt;bus &amp; co' "$scratch/o/$host.html" || fail "the kernel's log is not on the page"
grep -Eq '<b>bus|<script|https?://' "$scratch/o/$host.html" && fail "the page has markup of the machine, or loads something"
grep -Eq '>pcie_width</td><td>8 lanes</td><td>at least 16</td>' "$scratch/o/$host.html" ||
    fail "the page lacks a number and its bounds"
well_formed "$scratch/o/$host.html"
judge 1 --html "$scratch/o/%h.html"
printf x >"$scratch/file"
judge 2 --html "$scratch/file"
grep -q 'is no report of contend' "$scratch/stderr" || fail "$(cat "$scratch/stderr")"
judge 2 --out "$scratch/file/out"
[ ! -s "$scratch/json" ] || fail "found out after the measurement: $(head -3 "$scratch/json")"
grep -q "cannot create output directory '$scratch/file" "$scratch/stderr" || fail "$(cat "$scratch/stderr")"

# GPUs of a stand-in driver: health faults, and a GPU that is only on the bus.
CONTEND_LIBCUDA=$CONTEND_FAKE_DRIVER CONTEND_LIBNVML=$CONTEND_FAKE_DRIVER
unset CUDA_VISIBLE_DEVICES
for bus in 07 08 09 0a; do
    put "/sys/bus/pci/devices/beef:$bus:00.0/vendor" 0x10de
    put "/sys/bus/pci/devices/beef:$bus:00.0/class" 0x030200
done
put /sys/bus/pci/slots/12/address beef:0a:00
FAKE_GPU='' judge 1 --only cpus_online --expect gpus=8
found expected FAIL hardware fix GPUs
FAKE_GPU='uncorrected1=2 rows_pending0=1 links_down2=6 width2=8 persistence=0 fabric=1' judge 1
found gpus_on_bus FAIL hardware reset 'beef:0a:00.0 (slot 12)'
jq -e '.findings[] | select(.id == "gpus_on_bus") | .value == 3 and .low == 4' "$scratch/json" \
    >/dev/null || fail "not 3 of 4 GPUs"
found gpu_ecc FAIL hardware reset 'beef:08:00.0'
found gpu_rows FAIL hardware reset 'beef:07:00.0'
found nvlinks FAIL hardware reset 'beef:09:00.0'
found pcie_width FAIL hardware replace 'beef:09:00.0'
found gpu_persistence WARN configuration fix
found gpu_fabric FAIL configuration fix

# A kind of machine: everything that its file names is judged, or an error. Also custom names and files.
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere
for file in share/machines/*.json; do
    kind=$(basename "$file" .json)
    grep -q '"gpus": true' "$file" && kind=2x$kind
    "$CONTEND_BINARY" validate --machine "$kind" --list >/dev/null || fail "$kind is not read"
done
machine() { # machine CODE TEXT ARGUMENT...
    local code=$1 text=$2 got
    shift 2
    "$CONTEND_BINARY" validate --no-measure "$@" >"$scratch/out" 2>&1
    got=$?
    if [ "$got" = "$code" ]; then
        tr '\n' ' ' <"$scratch/out" | tr -s ' ' | grep -qF -- "$text" && return
    fi
    fail "exit $got, expected $code and '$text': $*: $(cat "$scratch/out")"
}
machine 2 "did you mean 'h100-sxm'?" --machine 8xh100-sx
machine 2 'how many GPUs? --machine 8xNAME' --machine h100-sxm
machine 2 'its GPUs are not counted by the name' --machine 2xvm
machine 2 'gpus is given twice' --machine 8xh100-sxm --expect gpus=4
machine 2 'is for this server, not for results' fleet --machine vm "$scratch"
own() { # own FACT: a machine of one's own with this fact
    printf '{"schema": "contend-machine", "schema_version": 1, "expect": "gpus=0",\n "facts": [\n  {%s}]}\n' "$1" >"$scratch/own.json"
}
own '"fact": "cpu_model", "has": "", "source": "x"'
machine 2 "own.json line 3: the fact 'cpu_model' needs a text: has" --machine "$scratch/own.json"
own '"fact": "virtual", "least": 0'
machine 2 'line 3' --machine "$scratch/own.json"
own '"fact": "virtual", "least": 5, "source": "nobody"'
machine 1 'hypervisor: ' --machine "$scratch/own.json"
own '"measured": "memory_bandwidth", "metric": "bandwidth", "least": 1, "source": "x"'
machine 3 'bandwidth is named and was not measured: needs a measurement' --machine "$scratch/own.json"
own '"fact": "virtual", "least": 0, "source": "any"'
machine 0 "own.json: " --machine "$scratch/own.json"
machine 0 'Not judged' --machine "$scratch/own.json"

# The memory of the only node is MemTotal, even if the kernel's file for the node has less.
"$CONTEND_BINARY" info --json >"$scratch/info.json" 2>/dev/null || fail "info"
jq -e --argjson total "$(awk '/^MemTotal:/ { print $2 * 1024 }' /proc/meminfo)" '(.nodes | length) != 1 or
    (.nodes[0].memory_bytes | . > 0.9 * $total and . < 1.1 * $total)' "$scratch/info.json" >/dev/null ||
    fail "another memory than that of /proc/meminfo: $(jq -c .nodes "$scratch/info.json")"

# Ports of RDMA devices, from sysfs.
for device in 0 1; do
    port=/sys/class/infiniband/mlx5_$device/ports/1
    put "/sys/class/infiniband/mlx5_$device/board_id" MT_0000000838
    put "$port/state" '4: ACTIVE'
    put "$port/phys_state" '5: LinkUp'
    put "$port/rate" "$((device ? 200 : 400)) Gb/sec (4X)"
    put "$port/counters/link_downed" "$((device * 40))"
done
judge 1 --only rdma_ports,rdma_errors
found rdma_ports FAIL hardware replace 'mlx5_1 port 1'
found rdma_errors WARN hardware watch 'mlx5_1 port 1'
rm -r "$root/sys/class/infiniband"

# The table in the documentation names every rule exactly once.
"$CONTEND_BINARY" validate --list --markdown >"$scratch/table" || fail "--list --markdown"
sed -nE 's/^\| `([a-z_]+)` .*/\1/p' "$scratch/table" | sort >"$scratch/rules"
[ "$(wc -l <"$scratch/rules")" -gt 40 ] || fail "only these rules: $(cat "$scratch/rules")"
sed -n '/^| kind | rules |/,/^$/p' docs/validate.md | grep -oE '`[a-z_]+`' | tr -d '`' | sort |
    diff - "$scratch/rules" || fail "docs/validate.md names other rules than 'contend validate --list --markdown'"
expect 0 '^gpus_on_bus +count +hardware +reset$' "$CONTEND_BINARY" validate --list
"$CONTEND_BINARY" validate --list | awk 'length > 80 && !/^ *\$ / { exit 1 }' || fail "--list: more than 80 columns"
finish
