#!/usr/bin/env bash
# contend place: pastes the printed commands as a block, and plans several placements at once.
. tests/lib/cli.sh
export NO_COLOR=1
unset CUDA_VISIBLE_DEVICES
mkdir "$scratch/bin" "$scratch/job"

# The job's command records what it was given, and ends only when all commands run: started one after another, they
# would wait forever.
cat >"$scratch/job/your_command" <<'SH'
#!/bin/sh
echo "gpu=$CUDA_DEVICE_ORDER:$CUDA_VISIBLE_DEVICES threads=$OMP_NUM_THREADS ${HOW:-$(taskset -cp $$ | sed 's/.*: //')}" \
    >>"$STARTED"
tries=300
until [ "$(wc -l <"$STARTED")" -ge "$WORKERS" ]; do
    [ $((tries -= 1)) -gt 0 ] || exit 1
    sleep 0.1
done
sleep 0.2
echo x >>"$ENDED"
SH
cp "$scratch/job/your_command" "$scratch/job/your_background_load"
# Plans for other machines.
for tool in taskset numactl; do
    cat >"$scratch/bin/$tool" <<'SH'
#!/bin/sh
HOW=${0##*/}
while [ "${1#./}" = "$1" ]; do
    HOW="$HOW $1"
    shift
done
HOW=$HOW exec "$@"
SH
done
chmod +x "$scratch"/{bin,job}/*

# block: prints the first block of commands on stdin that is to be pasted.
block() {
    sed -n '/^Commands/,/^  wait$/p' | sed '1d; /^  wait$/q'
}
# paste SHELL WORKERS PATH: runs the block on stdin in the shell, and returns when all commands have ended. What the
# commands were given is in $started.
paste() {
    local shell=$1 workers=$2 path=$3
    rm -f "$scratch/started" "$scratch/ended"
    (cd "$scratch/job" && PATH=$path STARTED=$scratch/started ENDED=$scratch/ended WORKERS=$workers \
        timeout 100 "$shell" -s) >"$scratch/pasted" 2>&1 || fail "the block fails: $(cat "$scratch/pasted")"
    started=$(LC_ALL=C sort "$scratch/started" 2>/dev/null)
    [ "$(wc -l <"$scratch/ended" 2>/dev/null || echo 0)" = "$workers" ] ||
        fail "not $workers commands side by side, and waited for: $started $(cat "$scratch/pasted")"
}

# On this machine, with the installed tools.
cpus=$(taskset -cp $$ | sed 's/.*: //')
for shell in sh bash; do
    "$CONTEND_BINARY" place --workers 2 --placement sized | block >"$scratch/block"
    paste $shell 2 "$PATH" <"$scratch/block"
    [ "$(sed 's/.*threads=[0-9]* //' <<<"$started" | uniq)" = "$cpus" ] || fail "sized: $started, not $cpus"
done
if [ "$(nproc)" -gt 1 ]; then
    "$CONTEND_BINARY" place --workers 2 --placement partition >"$scratch/plan"
    block <"$scratch/plan" >"$scratch/block"
    paste sh 2 "$PATH" <"$scratch/block"
    while read -r slice; do
        grep -q " $slice\$" <<<"$started" || fail "no command on CPUs $slice: $started"
    done < <(sed -nE 's/.*taskset -c ([0-9,-]*) .*/\1/p' "$scratch/plan")
fi

# place ARGUMENT...: writes the plan to $scratch/plan, and pastes its first block with tools that print their arguments.
place() {
    "$CONTEND_BINARY" place "$@" >"$scratch/plan" 2>"$scratch/stderr" ||
        fail "place $* fails: $(cat "$scratch/stderr")"
    block <"$scratch/plan" >"$scratch/block"
    paste sh "$(grep -c ' &$' "$scratch/block")" "$scratch/bin:$PATH" <"$scratch/block"
}
# GPUs are chosen by their bus address, not by CUDA's order; with a background.
place --workers 2 --background-workers 1 --placement numa --xml "package:2 numa:1 core:4 pu:1" \
    --gpus 81:00.0@0,01:00.0@1
[ "$started" = "gpu=: threads=2 numactl --physcpubind=2-3 --membind=0
gpu=PCI_BUS_ID:0 threads=4 numactl --physcpubind=4-7 --membind=1
gpu=PCI_BUS_ID:1 threads=2 numactl --physcpubind=0-1 --membind=0" ] || fail "numa: $started"
grep -q 'package numactl' "$scratch/plan" || fail "numactl's package is not named"
place --workers 2 --placement partition --xml "package:2 numa:1 core:4 pu:1"
[ "$started" = "gpu=: threads=4 taskset -c 0-3
gpu=: threads=4 taskset -c 4-7" ] || fail "partition: $started"
! grep -q 'numactl' "$scratch/plan" || fail "numactl is named where nothing uses it"
place --workers 2 --placement none --mem interleave --xml "package:2 numa:1 core:4 pu:1"
grep -q 'package numactl' "$scratch/plan" || fail "numactl's package is not named with --mem"
"$CONTEND_MACHINE_XML" four_sockets_eight_nodes >"$scratch/nodes.xml"
for placement in numa gpu-local partition; do
    place --workers 16 --placement $placement --xml "$scratch/nodes.xml" \
        --gpus "$(for i in {16..1}; do printf '%02x:00.0@%d,' "$i" $((i % 8)); done | sed 's/,$//')"
    [ "$(sed -nE 's/^gpu=PCI_BUS_ID:([0-9]+) .*/\1/p' <<<"$started" | sort -n | xargs)" = "$(seq -s ' ' 0 15)" ] ||
        fail "$placement: not each of 16 GPUs once: $started"
    [ "$(sed -E 's/^.* threads=[0-9]+ //' <<<"$started" | sort -u | wc -l)" = 16 ] ||
        fail "$placement: not 16 slices: $started"
done

# The job's own command, with odd characters in its words.
cat >"$scratch/job/own command" <<'SH'
#!/bin/sh
printf '<%s>' "$@" >"$WORDS"
exec ./your_command
SH
chmod +x "$scratch/job/own command"
export WORDS=$scratch/words
place --workers 2 --placement partition --xml "package:1 core:4 pu:1" -- './own command' --json '' \
    "it's" '$HOME "x" `id`' $'two\nlines' a,b=c -- '*'
[ "$(cat "$WORDS")" = "<--json><><it's><\$HOME \"x\" \`id\`><two
lines><a,b=c><--><*>" ] || fail "other words: $(cat "$WORDS") of $(cat "$scratch/block")"
expect 0 'taskset -c 0-1 python train.py --lr 0.1 &' "$CONTEND_BINARY" place --workers 2 \
    --xml "package:1 core:4 pu:1" -- python train.py --lr 0.1
expect 0 './your_command &' "$CONTEND_BINARY" place --workers 2 --xml "package:1 core:4 pu:1" --
expect 2 "unexpected argument 'python'" "$CONTEND_BINARY" place --workers 2 python train.py

# An impossible placement is listed with its reason beside the others; if none is possible, that is an error.
machine=(--xml "package:1 l3:1 core:4 pu:1")
expect 0 '^partition: skipped: .*5 workers' "$CONTEND_BINARY" place --workers 5 \
    --placement partition,sized,numa "${machine[@]}"
expect 0 '^sized: unpinned' "$CONTEND_BINARY" place --workers 5 --placement partition,sized,numa "${machine[@]}"
expect 0 '^numa: skipped: the system reports one NUMA node' "$CONTEND_BINARY" place --workers 5 \
    --placement partition,sized,numa "${machine[@]}"
json=$("$CONTEND_BINARY" place --workers 5 --placement partition,sized,numa --json "${machine[@]}") ||
    fail "exit $? with --json"
[ "$(grep -oE '"status": "[a-z]*"' <<<"$json" | xargs)" = 'status: skipped status: ok status: skipped' ] &&
    grep -q '"reason": "placement .* 5 workers' <<<"$json" && grep -q '"reason": "the system' <<<"$json" ||
    fail "in JSON: $json"
for placement in numa partition numa,partition; do
    "$CONTEND_BINARY" place --workers 5 --placement $placement "${machine[@]}" >"$scratch/stdout" 2>"$scratch/stderr"
    code=$?
    [ "$code" = 2 ] && [ ! -s "$scratch/stdout" ] || fail "$placement alone: exit $code, $(cat "$scratch/stdout")"
    for one in ${placement/,/ }; do
        grep -q "no plan for $one: " "$scratch/stderr" || fail "$placement: $(cat "$scratch/stderr")"
    done
done
expect 2 '"status": "skipped"' "$CONTEND_BINARY" place --workers 5 --placement numa --json "${machine[@]}"

# A slice that differs from what its placement promises is reported.
machine=(--xml "package:2 numa:1 l3:1 core:3 pu:2")
expect 0 '^- worker 1: CPUs of more than one package' "$CONTEND_BINARY" place --workers 3 \
    --placement partition "${machine[@]}"
expect 0 '^- workers 0-1: they share 1 core' "$CONTEND_BINARY" place --workers 5 \
    --placement partition "${machine[@]}"
expect 0 '"id": "worker_over_packages"' "$CONTEND_BINARY" place --workers 3 --placement partition \
    --json "${machine[@]}"
! "$CONTEND_BINARY" place --workers 2 --placement partition,same,numa,none "${machine[@]}" | grep '^- ' ||
    fail "findings about good plans"

# A node without memory is shown as such, while others show theirs. A worker there uses the nearest memory.
"$CONTEND_MACHINE_XML" node_without_memory >"$scratch/bare.xml"
expect 0 'node 1 +1 GiB, CPUs 2-3$' "$CONTEND_BINARY" info --xml "$scratch/bare.xml"
expect 0 'node 2 +no memory, CPUs 4-5$' "$CONTEND_BINARY" info --xml "$scratch/bare.xml"
expect 0 '^~ NUMA node 2: .*memory of node 0' "$CONTEND_BINARY" info --xml "$scratch/bare.xml"
expect 0 ' bind 0 +0 0000:01:00.0 +4-5$' "$CONTEND_BINARY" place -n 1 -P gpu-local --xml "$scratch/bare.xml" \
    --gpus 01:00.0@2
expect 0 'bound "4-5" "--membind=0"' "$CONTEND_BINARY" place -n 3 -P numa --emit numactl --xml "$scratch/bare.xml" -- a
"$CONTEND_MACHINE_XML" dies_without_memory >"$scratch/dies.xml"
expect 0 'node 3 +no memory, or none allowed, CPUs 24-31,56-63$' "$CONTEND_BINARY" info --xml "$scratch/dies.xml"
expect 0 ' 32 +bind 2 .* 16-31,48-63$' "$CONTEND_BINARY" place -n 2 -P numa --xml "$scratch/dies.xml"
expect 0 '^~ workers 0-1: some of' "$CONTEND_BINARY" place -n 2 -P numa --xml "$scratch/dies.xml"

# Kinds of cores that differ by 3% are one. Workers on slower cores than others are named.
"$CONTEND_MACHINE_XML" fast_and_slow_clusters >"$scratch/kinds.xml"
expect 0 'kind 1 +performance: CPUs 5-9,15-19$' "$CONTEND_BINARY" info --xml "$scratch/kinds.xml"
expect 0 '  0 +10 +default +- +5-9,15-19$' "$CONTEND_BINARY" place -n 1 -P pcores --xml "$scratch/kinds.xml"
expect 0 '^~ workers 0,2: slower cores than workers 1,3' "$CONTEND_BINARY" place -n 4 -P partition \
    --xml "$scratch/kinds.xml"

# A file of a newer hwloc is named, with the command that converts it.
sed 's/<topology version="2.0">/<topology version="9.0">/' "$scratch/bare.xml" >"$scratch/newer.xml"
expect 2 "newer.xml' is a file of hwloc 9, .*--export-xml-flags v[23]" "$CONTEND_BINARY" info \
    --xml "$scratch/newer.xml"
expect 2 'near NUMA node 1, which has no CPU that we may use' "$CONTEND_BINARY" place -n 1 -P gpu-local \
    --xml "package:3 numa:1 core:2 pu:1" --cpus 0-1,4-5 --gpus 01:00.0@1
expect 2 'near their GPUs on NUMA node 0: there is 1 core to use' "$CONTEND_BINARY" place -n 2 -P gpu-local \
    --xml "package:2 numa:1 core:1 pu:1" --gpus 01:00.0@0
expect 2 'a reserve of 1 core leaves nothing of the 1 usable one$' "$CONTEND_BINARY" place -n 1 --reserve 1 \
    --xml "package:1 core:1 pu:2"
finish
