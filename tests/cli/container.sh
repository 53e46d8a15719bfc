#!/usr/bin/env bash
# The image of Containerfile builds and runs. Its base image is a minimal Debian root, tagged with the name that it asks
# for.
. tests/lib/docker.sh
. tests/lib/packages.sh
. tests/lib/bare_root.sh
needs dockerd docker cpack dpkg-shlibdeps debootstrap

tar=$(bare_root) || skip "debootstrap fails: $(tail -n 1 "$scratch/log")"
deb=$(package DEB 'contend_*_*.deb') || fail "no deb"
mkdir "$scratch/context" "$scratch/work" && cp "$deb" "$scratch/context"
start_docker
base=$(sed -n 's/^FROM //p' Containerfile)
docker import "$tar" "$base" >/dev/null || skip "no image: $(tail -n 3 "$scratch/log")"
docker run --rm --network host "$base" apt-get update >"$scratch/said" 2>&1 || skip "no mirror, or no containers: $(tail -n 3 "$scratch/said")"
DOCKER_BUILDKIT=0 docker build --network host -t contend -f Containerfile "$scratch/context" >"$scratch/built" 2>&1 ||
    fail "the image cannot be built: $(tail -n 5 "$scratch/built")"
docker images --format '{{.Repository}}:{{.Tag}} {{.Size}}'

contained=(docker run --rm --network none -v "$scratch/work:/work" contend)
expect_equal "version" "$("${contained[@]}" --version)" "$("$CONTEND_BINARY" --version)"
begin=$(date +%s%3N)
expect 0 '^Results: ' "${contained[@]}" run --device sim --placement none --rounds 1 --time 0.5 --warmup 0.1 --out r
echo "a result $(($(date +%s%3N) - begin)) ms after docker run"
grep -q ',pipeline,' "$scratch/work/r/rows.csv" || fail "no row"
[ -s "$scratch/work/r/plots/step_time.svg" ] || fail "no figure: gnuplot is not in the image"
expect 0 'compute,utility' docker inspect -f '{{.Config.Env}}' contend
finish
