#!/usr/bin/env bash
# The wheel installs without a network, and the program that it carries works.
. tests/lib/cli.sh
[ -z "$CONTEND_SANITIZE" ] || skip "a wheel is a release"
needs python3
python3 -m venv "$scratch/venv" >"$scratch/log" 2>&1 || skip "python3 makes no venv: $(head -n 1 "$scratch/log")"

# Takes the front door's lock, as another test run may build the same target.
flock "$CONTEND_BUILD_DIR/front-door.lock" cmake --build "$CONTEND_BUILD_DIR" --target bundle \
    >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
for copy in first second; do
    mkdir "$scratch/$copy"
    (cd "$scratch/$copy" && sh "$CONTEND_SOURCE_DIR/cmake/bundle.sh" "$CONTEND_BUILD_DIR/bundle/contend" \
        "$CONTEND_SOURCE_DIR" && python3 "$CONTEND_SOURCE_DIR/cmake/wheel.py" ./*.tar.gz) >"$scratch/log" 2>&1 ||
        fail "no wheel: $(cat "$scratch/log")"
done
wheel=$(echo "$scratch"/first/*.whl)
cmp "$wheel" "$scratch/second/$(basename "$wheel")" || fail "two wheels of one build differ"
stated=$(tar -xzOf "$scratch"/first/*.tar.gz --wildcards '*/README.md' | grep -oE -m 1 'glibc [0-9]+\.[0-9]+ or later' | tr -dc '0-9.')
[[ $wheel == *"-py3-none-manylinux_${stated/./_}_$(uname -m).whl" ]] || fail "glibc $stated is needed: $wheel"

"$scratch/venv/bin/pip" install -q --no-index "$wheel" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
cd "$scratch" || exit 1
program=$scratch/venv/bin/contend
expect_equal "version" "$("$program" --version)" "$("$CONTEND_BINARY" --version)"
expect_equal "version as a module" "$("$scratch/venv/bin/python" -m contend --version)" "$("$CONTEND_BINARY" --version)"
expect 0 'CPU' "$program" info
expect 0 'CPU' "$program" doctor --live --looks 1
expect 0 'Results: ' "$program" run --device sim --placement none --rounds 1 --time 0.1 --warmup 0.01 --out "$scratch/out"
"$scratch/venv/bin/pip" uninstall -q -y contend
find "$scratch/venv" -path '*contend*' | grep . && fail "left by pip (above)"
finish
