#!/usr/bin/env bash
# Pages in a browser, on a phone's screen: no error, no missing picture, nothing wider than the screen, and the verdict
# visible at the top.
. tests/lib/cli.sh
needs python3
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    skip "needs chromium"
browse() { # browse PAGE: its DOM on stdout, its console in $scratch/console
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$scratch/profile" --allow-file-access-from-files --enable-logging=stderr \
        --virtual-time-budget=10000 --dump-dom "file://$1" 2>"$scratch/console" </dev/null
}
echo '<p>works</p>' >"$scratch/try.html"
browse "$scratch/try.html" | grep -q works || skip "Chromium does not start here"

# Describes a page in a frame of 390 pixels, as text of the enclosing page.
look() { # look NAME VERDICT [PICTURES [NARROW]]: NARROW of them are drawn for a phone
    cat >"$scratch/look.html" <<END
<!DOCTYPE html><iframe id="page" src="$1.html" style="border:0;width:390px;height:800px"></iframe>
<pre id="said"></pre><script>
onload = () => {
    const page = document.getElementById('page').contentDocument;
    const missing = [...page.images].filter(image => !image.complete || !image.naturalWidth).length;
    document.getElementById('said').textContent = 'width ' + page.documentElement.scrollWidth +
        ' images ' + page.images.length + ' missing ' + missing +
        ' narrow ' + [...page.images].filter(image => image.naturalWidth <= 420).length + ' charts ' +
        [...page.querySelectorAll('svg[role=img]')].filter(svg => svg.getBoundingClientRect().height < 5).length +
        ' verdict ' + page.querySelector('.verdict').textContent;
};
</script>
END
    browse "$scratch/look.html" >"$scratch/dom"
    local said
    said=$(sed -n '/<pre id="said">/,/<\/pre>/p' "$scratch/dom")
    [[ $said =~ 'width '([0-9]+)' images '([0-9]+)' missing 0 narrow '([0-9]+)' charts 0 ' ]] || fail "$1: $said"
    [ "${BASH_REMATCH[1]:-9999}" -le 390 ] || fail "$1 is wider than a phone: ${BASH_REMATCH[1]}"
    [ "${BASH_REMATCH[2]:-0}" -ge "${3:-1}" ] || fail "$1 has no picture"
    [ "${BASH_REMATCH[3]:-0}" -ge "${4:-0}" ] || fail "$1 has no picture for a phone"
    [[ $said == *"$2"* ]] || fail "$1 does not show its verdict: $said"
    grep 'CONSOLE' "$scratch/console" && fail "$1: the browser complains"
}

for run in h200-x2-vm/pipeline 2-cpus-vm/threads; do
    cp -r "results/$run" "$scratch"
    run=${run#*/}
    # Any figure that was drawn, and one for a phone.
    cp results/2-cpus-vm/threads/plots/threads_map.svg "$scratch/$run/plots/occupancy.svg"
    cp results/h200-x2-vm/serve/plots/serve.narrow.svg "$scratch/$run/plots/occupancy.narrow.svg"
    expect 0 . env PATH=/nonexistent "$CONTEND_BINARY" report --html "$scratch/$run.html" "$scratch/$run"
done
expect 0 . env PATH=/nonexistent "$CONTEND_BINARY" report --html "$scratch/both.html" results/h100-vm/pipeline \
    "$scratch/pipeline"
# Pages that other commands write with --html.
python3 tests/lib/make_fleet.py "$scratch/fleet" --machines 30 --rows 60 --bad 0.07 --off 0.4 --seed 3
expect 1 . "$CONTEND_BINARY" validate fleet "$scratch/fleet/results" --html "$scratch/fleet.html"
expect 1 . "$CONTEND_BINARY" validate --expect cpus=9999 --no-measure --html "$scratch/validate.html"
expect 4 . "$CONTEND_BINARY" compare results/h100-vm/pipeline "$scratch/pipeline" --html "$scratch/compare.html"
look fleet 'FAIL: 2 of 30 machines fail' 0
look validate 'FAIL' 0
look compare 'No verdict: what was measured is not the same' 0
look pipeline 'recommended: sized (OMP_NUM_THREADS=16), 19x the default' 1 1
look threads ''
look both 'recommended: sized (OMP_NUM_THREADS=8)'
finish
