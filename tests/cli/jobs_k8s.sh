#!/usr/bin/env bash
# Runs the scripts of share/k8s unchanged, those of pods in folders laid out alike, against a stand-in for the API.
. tests/lib/cli.sh
needs python3 openssl curl jq unshare
unshare -rm true 2> /dev/null || skip "needs unshare -rm"
daemonset=share/k8s/daemonset.yaml
sed s/NODE/gpu-17/ share/k8s/job.yaml > "$scratch/job.yaml" # as its comment says
block "$daemonset" 'name: NVIDIA_VISIBLE_DEVICES' > "$scratch/watch.sh"
block "$daemonset" 'name: REPORT_S' > "$scratch/report.sh"
block "$scratch/job.yaml" 'name: OPTIONS' > "$scratch/validate.sh"
block "$scratch/job.yaml" 'fieldPath: spec.nodeName' > "$scratch/label.sh"
for script in watch report validate label; do
    [ "$(wc -l < "$scratch/$script.sh")" -ge 4 ] || fail "no script: $script"
    ! command -v shellcheck > /dev/null || shellcheck -s sh "$scratch/$script.sh" || fail "shellcheck: $script"
done

# The plugin of node-problem-detector: exit codes 0 ok, 1 problem, 2 unknown, and one line that fits its message.
detector=share/k8s/node-problem-detector.json
jq -e '.rules[0] as $rule | .plugin == "custom" and $rule.path == "/bin/sh" and $rule.args[0] == "-c" and
    (.conditions | any(.type == $rule.condition))' $detector > /dev/null || fail "another form: $detector"
plugin=$(jq -r '.rules[0].args[1]' $detector)
detects() { # detects CODE PATTERN EXPECTED
    local code
    PATH=$(dirname "$(realpath "$CONTEND_BINARY")"):$PATH sh -c "${plugin/gpus=8/$3}" > "$scratch/out" 2> "$scratch/err"
    code=$?
    [ "$code:$(wc -l < "$scratch/out")" = "$1:1" ] && grep -Eq "$2" "$scratch/out" || fail "plugin, $3: exit $code: $(cat "$scratch/out")"
    [ "$code" != 1 ] || [ "$(wc -c < "$scratch/out")" -le "$(jq .pluginConfig.max_output_length $detector)" ] || fail "cut: $(cat "$scratch/out")"
}
detects 0 '^PASS: ' 'gpus=0 --only expected'
detects 1 '^FAIL: CPUs: [0-9]+ of the 99999 that are expected$' 'gpus=0,cpus=99999 --only expected'
detects 2 '^SKIP: ' 'cpus=1 --only gpu_ecc'

account=$scratch/run/secrets/kubernetes.io/serviceaccount
mkdir -p "$account" "$scratch/mnt" "$scratch/bin"
echo secret > "$account/token"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=api -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$scratch/key" -out "$account/ca.crt" 2> /dev/null || fail "no certificate"
cat "$scratch/key" "$account/ca.crt" > "$scratch/certificate"
python3 tests/lib/api.py "$scratch/port" "$scratch/certificate" secret "$scratch/log" &
server=$!
trap 'kill $server 2> /dev/null; rm -rf "$scratch"' EXIT
wait_for 20 test -s "$scratch/port" || fail "no stand-in of the API"
ln -s "$(realpath "$CONTEND_BINARY")" "$scratch/bin/contend"

pod() { # pod SHELL ARGUMENT SCRIPT: in the folders of a pod
    SELF=gpu-17 KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=$(cat "$scratch/port") PATH=$scratch/bin:$PATH \
        unshare -rm sh -c 'mount --bind "$1/run" /var/run && mount --bind "$1/mnt" /mnt && shift && exec timeout --foreground 60 "$@"' \
        sh "$scratch" "$1" "$2" "$(cat "$scratch/$3.sh")" < /dev/null > "$scratch/out" 2>&1
}
background() { # background SHELL ARGUMENT SCRIPT: a pod, in a group of processes of its own: $!
    set -m
    pod "$@" &
    set +m
}
label() { # label OPTIONS CODE LABEL: of a job with these options of validate
    rm -f "$scratch/log" "$scratch/mnt/code"
    OPTIONS=$1 pod sh -c validate || fail "validate, $1: exit $?: $(cat "$scratch/out")"
    pod sh -ec label
    expect_equal "exit code, $1" $? "$2"
    expect_equal "label, $1" "$(jq -r '.metadata.labels["contend-validated"]' "$scratch/log")" "$3"
}
label '--no-measure --only memlock,cpus_online --expect gpus=0' 0 pass
label '--no-measure --expect gpus=0,cpus=99999' 1 fail
label '--no-measure --only gpu_ecc' 4 skip
label '--no-such-option' 2 error
echo wrong > "$account/token"
! pod sh -ec label || fail "the API refused, and nothing failed"
grep -q 'refused: token' "$scratch/log" || fail "another token was taken: $(cat "$scratch/log")"
echo secret > "$account/token"

conditions() { jq -r '.status.conditions[0] | [.type, .status, .reason] | join(" ")' "$scratch/log" | uniq; }
reported() { [ "$(conditions 2> /dev/null | wc -l)" -ge "$1" ]; }
rm -f "$scratch/log" "$scratch/mnt/code"
REPORT_S=0.2 background sh -c report
reporter=$!
wait_for 20 reported 1 || fail "no condition: $(cat "$scratch/out")"
steps=0
for code in 0 1 4 2; do
    echo $code > "$scratch/mnt/new" && mv "$scratch/mnt/new" "$scratch/mnt/code"
    wait_for 20 reported $((++steps + 1)) || fail "no condition of $code: $(cat "$scratch/out" "$scratch/log")"
done
touch -d '40 minutes ago' "$scratch/mnt/code"
wait_for 20 reported 6 || fail "an old verdict counts: $(cat "$scratch/out")"
kill -- -$reporter
expect_equal conditions "$(conditions)" "ContendValidated Unknown NoVerdict
ContendValidated True Pass
ContendValidated False Fail
ContendValidated Unknown NothingJudged
ContendValidated Unknown Error
ContendValidated Unknown NoVerdict"
jq -se 'all(.[].status.conditions[0]; (.lastHeartbeatTime | fromdate) >= (.lastTransitionTime | fromdate))' "$scratch/log" \
    > /dev/null || fail "times: $(cat "$scratch/log")"

rm -f "$scratch/mnt/code"
OPTIONS='--only cpus_online --expect gpus=0' PERIOD_S=30 background sh -c watch
watcher=$!
wait_for 20 test -s "$scratch/mnt/code" || fail "no verdict: $(cat "$scratch/out")"
expect_equal verdict "$(cat "$scratch/mnt/code")" 0
kill -- -$watcher
finish
