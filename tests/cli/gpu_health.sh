#!/usr/bin/env bash
# What contend reports about GPUs and drivers, on a fake driver (fake_gpu_driver.c).
. tests/lib/cli.sh

needs jq
export CONTEND_LIBCUDA=$CONTEND_FAKE_DRIVER CONTEND_LIBNVML=$CONTEND_FAKE_DRIVER
unset CUDA_VISIBLE_DEVICES

# topo STATES: runs at 80 columns. The output is in $scratch/topo and, as JSON, in $scratch/topo.json.
topo() {
    FAKE_GPU=$1 "$CONTEND_BINARY" info > "$scratch/topo" 2>&1 || fail "topo with $1"
    FAKE_GPU=$1 "$CONTEND_BINARY" info --json > "$scratch/topo.json" || fail "topo --json with $1"
    awk 'length > 80 { exit 1 }' "$scratch/topo" ||
        fail "more than 80 columns:"$'\n'"$(cat "$scratch/topo")"
}
says() {
    grep -Fq -- "$1" "$scratch/topo" || fail "no '$1' in:"$'\n'"$(cat "$scratch/topo")"
}
holds() {
    jq -e "$1" "$scratch/topo.json" > /dev/null || fail "not so in info --json: $1"
}

topo ""
says "PCIe x16 gen 5; 18 NVLinks; ECC; 1500/1980 MHz; 120/700 W; 40 C"
grep -q ' ! ' "$scratch/topo" && fail "a finding on good GPUs:"$'\n'"$(cat "$scratch/topo")"
holds '[.gpus[].health.findings | length] == [0, 0, 0]'
holds '.cuda_driver == "99.0" and .gpu_note == ""'

topo "width1=8 links_down1=4 uncorrected1=2 rows_pending1=1 persistence1=0 mode1=3 mig2=1"
says "! PCIe width is x8 of x16"
says "! 4 of 18 NVLinks are down"
says "! 2 uncorrected ECC errors"
says "! row remapping pending"
says "  persistence mode off"
says "! compute mode exclusive"
says "  MIG on: 2 instances: MIG 1g.18gb, MIG 2g.18gb"
holds '.gpus[0].health.pcie == {generation: 5, generation_link: 5, generation_gpu: 5, width: 8,
       width_max: 16}'
holds '[.gpus[0].health.findings[].id] == ["gpu_pcie", "gpu_nvlink", "gpu_ecc", "gpu_memory",
       "gpu_persistence", "gpu_compute_mode"]'
holds '.gpus[0].health.findings[0] == {id: "gpu_pcie", severity: "bad",
       subject: "GPU 0 (beef:08:00.0)", sentence: "PCIe width is x8 of x16", evidence: null,
       command: null}'
holds '.gpus[1].health.findings == []'
holds '.gpus[2].health.mig.instances[0].uuid == "MIG-fake-100"'

topo "pid0=1 used0=42949672960"
grep -Eq '! another process uses it: 1( \(.*\))?, 40 GiB' "$scratch/topo" || fail "no process"
holds '.gpus[1].health.processes.list[0].memory_bytes == 42949672960'

# Without NVML there is no health information, and no error.
CONTEND_LIBNVML=/nonexistent topo ""
holds '(.gpus | length) == 2 and .gpus[0].health == null'

# CUDA_VISIBLE_DEVICES names no GPU.
CUDA_VISIBLE_DEVICES=99 topo ""
says "no CUDA-capable"
says "CUDA does not see it: CUDA_VISIBLE_DEVICES is '99'"
holds '.gpu_note | test("CUDA_VISIBLE_DEVICES is .99.")'

quick=(run pipeline --workers 1 --placement none --rounds 1 --time 0.1 --warmup 0.05 --no-plots
    --no-baselines --setup-limit 10)
CUDA_VISIBLE_DEVICES='' expect 2 "device 'cuda' is not possible" "$CONTEND_BINARY" "${quick[@]}" \
    --out "$scratch/none" --device cuda

# Commands that need only the order of GPUs ask NVML, and CUDA if NVML cannot tell. Here CUDA's order differs.
expect 0 '0 beef:08:00' "$CONTEND_BINARY" place --workers 2 --placement partition
CUDA_DEVICE_ORDER=PCI_BUS_ID expect 0 '0 beef:07:00' "$CONTEND_BINARY" place --workers 2 --placement partition
CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1 expect 0 '0 beef:08:00' \
    "$CONTEND_BINARY" place --workers 2 --placement partition
CUDA_DEVICE_ORDER=PCI_BUS_ID FAKE_GPU=mig2=1 expect 0 '0 beef:08:00' \
    "$CONTEND_BINARY" place --workers 2 --placement partition

# GPUs with different values are named at the end of the table and in run.json.
"$CONTEND_FAKE" bench fakecopies --rounds 3 --time 0.1 --no-plots --out "$scratch/copies" \
    > "$scratch/topo" 2>&1 || fail "fakecopies"
says "! GPU 2: copy_bandwidth h2d pinned ce: 14.1 GB/s is 0.25 of its peers' "
says "! GPU 0 to GPU 1: copy_bandwidth d2d ce: 99.0 GB/s is 0.25 of its peers'"
awk 'length > 80 { exit 1 }' "$scratch/topo" || fail "more than 80 columns"
jq -e '[.symmetry[] | .verdict] == ["odd", "odd"] and .symmetry[0].odd[0].id == 2 and
       .symmetry[1].odd[0].of == "pair"' "$scratch/copies/run.json" > /dev/null ||
    fail "no verdict in run.json: $(jq .symmetry "$scratch/copies/run.json")"
jq -e '[.findings[] | select(.id == "unit_odd") | .subject] == ["GPU 2", "GPU 0 to GPU 1"]' \
    "$scratch/copies/run.json" > /dev/null ||
    fail "no findings in run.json: $(jq .findings "$scratch/copies/run.json")"

# A change on a GPU while an arm runs is a finding that names the GPU; earlier counts are not.
FAKE_GPU="corrected=9 uncorrected1=2 uncorrected_more1=1 throttle=0x4 gen0=1" \
    "$CONTEND_FAKE" bench fakegpus --rounds 3 --time 0.1 --no-plots --out "$scratch/gpus" \
    > "$scratch/topo" 2>&1 || fail "fakegpus: $(cat "$scratch/topo")"
says "! GPU 0 (beef:08:00.0): 3 uncorrected ECC errors during fakegpus"
says "! GPU 1 (beef:07:00.0): PCIe gen 1 of 5 under load, during fakegpus"
jq -e '[.findings[] | select(.id | startswith("gpu_")) | [.id, .evidence]] ==
       [["gpu_ecc", "3 of 3 launches"], ["gpu_pcie", "3 of 3 launches"]]' \
    "$scratch/gpus/run.json" > /dev/null || fail "findings: $(jq .findings "$scratch/gpus/run.json")"
jq -e '.arms[0].observations[2].gpus | map(.pci_bdf) == ["beef:08:00.0", "beef:07:00.0"] and
       .[0].ecc_uncorrected == 1 and .[0].ecc_corrected == 0 and .[0].throttled_by_heat == null and
       .[1].pcie_generation == 1 and .[1].pcie_generation_link == 5 and .[1].xid == 0' \
    "$scratch/gpus/run.json" > /dev/null ||
    fail "gpus: $(jq '.arms[0].observations[2].gpus' "$scratch/gpus/run.json")"

# These checks need the CUDA parts of the program; the message of --device cuda tells whether they are built.
if "$CONTEND_BINARY" "${quick[@]}" --dry-run --device cuda 2>&1 | grep -q 'without nvcc'; then
    finish
fi
# With placements that every machine has, at least the 6 rounds that a verdict needs.
expect 0 'device cuda, 6 rounds or more, until it is clear, 0\.3' "$CONTEND_BINARY" run --dry-run \
    --placement none,sized,passive,same,partition
CUDA_VISIBLE_DEVICES=7 expect 0 "warning: CUDA uses none of these GPUs: .*'7'.*: device sim" \
    "$CONTEND_BINARY" "${quick[@]}" --out "$scratch/seven"
FAKE_GPU="cuda=12040" topo "cuda=12040"
says "the NVIDIA driver knows CUDA 12.4 at most"
holds '.cuda_driver == "12.4" and (.gpu_note | test("this program was built with [0-9.]+:"))'
FAKE_GPU="cuda=12040" expect 2 "not possible: the NVIDIA driver knows CUDA 12.4 at most" \
    "$CONTEND_BINARY" "${quick[@]}" --out "$scratch/old" --device cuda
FAKE_GPU="cuda=12040" expect 0 "warning: the NVIDIA driver knows CUDA 12.4 .*: device sim" \
    "$CONTEND_BINARY" "${quick[@]}" --out "$scratch/sim"

# If other processes use the GPUs, a run says so once, before it starts. The CUDA runtime ignores CONTEND_LIBCUDA, so
# the run itself ends in skipped rows or on a real GPU.
FAKE_GPU="pid0=1 mode1=2 mig1=1 pid2=1" "$CONTEND_BINARY" "${quick[@]}" --out "$scratch/run" \
    > "$scratch/stdout" 2> "$scratch/stderr"
for message in "GPU 1 .beef:07:00.0.: another process uses it: 1" \
    "GPU 0 .beef:08:00.0.: compute mode prohibited" "GPU 0 .beef:08:00.0.: MIG on: 2 instances"; do
    [ "$(grep -c "warning: $message" "$scratch/stderr")" = 1 ] ||
        fail "not once '$message':"$'\n'"$(cat "$scratch/stderr")"
done
grep -q 'beef:09' "$scratch/stderr" && fail "warned about a GPU that CUDA does not see"
jq -e '.topology.gpus[0].health.compute_mode == "prohibited" and .symmetry == []' \
    "$scratch/run/run.json" > /dev/null || fail "health is not in run.json"
finish
