#!/usr/bin/env bash
# If nothing of a scenario can be measured, the reason is printed once, and nothing else.
. tests/lib/cli.sh
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

said=$("$CONTEND_BINARY" run allreduce --workers 2 --rounds 1 --no-plots --out "$scratch/run" 2>&1)
[ "$? $(wc -l <<<"$said")" = '3 1' ] && [[ $said == *"nothing of 'allreduce' can run here: no GPU"* ]] ||
    fail "said: $said"
[ ! -e "$scratch/run" ] || fail "a directory of nothing"
# With GPUs of other vendors only, stderr names them and says what is measured.
"$CONTEND_MACHINE_XML" sixteen_gpus | sed 's/0302 \[10de:/0380 [1002:/' >"$scratch/amd.xml"
for words in 'run --dry-run' 'run gpu --dry-run' 'run all --dry-run' place; do
    # shellcheck disable=SC2086
    said=$(HWLOC_XMLFILE=$scratch/amd.xml HWLOC_THISSYSTEM=1 taskset -c 0-1 "$CONTEND_BINARY" $words 2>&1)
    [ "$(grep -c "16 AMD GPUs are there; contend measures NVIDIA's$" <<<"$said")" = 1 ] || fail "$words: $said"
done
finish
