#!/usr/bin/env bash
# Runs share/fleet/validate.sh unchanged, by ssh. The machines have different names and return a recorded validation;
# one does not answer.
. tests/lib/cli.sh
needs root ssh ssh-keygen jq unshare /usr/sbin/sshd
fleet=$PWD/share/fleet/validate.sh
cd "$scratch" || exit 1
"$CONTEND_BINARY" validate --only memory_bandwidth,cpus_online --expect gpus=0 --json > real.json 2> log || fail "validate: $(cat log)"
ssh-keygen -q -t ed25519 -N '' -f key
ssh-keygen -q -t ed25519 -N '' -f host_key
cp key.pub authorized
printf 'Host *\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n HostName 127.0.0.1\n User root\n IdentityFile %s\n' \
    "$scratch/key" > config
pids=
trap 'kill $pids 2> /dev/null; rm -rf "$scratch"' EXIT
machine() { # machine NAME: has sshd, and a contend that prints NAME.json and ends with what is in NAME.code
    local port=$((20000 + RANDOM % 20000))
    printf '#!/bin/sh\n[ "$*" = "validate --json --expect gpus=0" ] || exit 2\ncat %s.json && exit $(cat %s.code)\n' "$scratch/$1" "$scratch/$1" > "$1.sh"
    chmod +x "$1.sh"
    unshare -m sh -c 'mount -t tmpfs none /run && mkdir /run/sshd && exec "$@"' sh /usr/sbin/sshd -D -e -f /dev/null -p "$port" \
        -h "$scratch/host_key" -o ListenAddress=127.0.0.1 -o "AuthorizedKeysFile=$scratch/authorized" -o StrictModes=no \
        -o PidFile=none -o "ForceCommand=PATH=$scratch/$1:\$PATH; eval \"\$SSH_ORIGINAL_COMMAND\"" 2> "$1.log" &
    pids="$pids $!"
    mkdir "$1" && mv "$1.sh" "$1/contend"
    printf 'Host %s\n Port %s\n' "$1" "$port" >> config
    wait_for 20 grep -q listening "$1.log" || fail "no sshd: $(cat "$1.log")"
    says "$1" PASS 0
}
says() { # says NAME VERDICT CODE
    jq --arg host "$1" --arg verdict "$2" '.host = $host | .verdict = $verdict' real.json > "$1.json"
    echo "$3" > "$1.code"
}
validate=(env "SSH=ssh -F $scratch/config -o BatchMode=yes -o ConnectTimeout=10" REMOTE=contend "CONTEND=$CONTEND_BINARY"
    'OPTIONS=--expect gpus=0' "$fleet")
for name in node1 node2 node3; do
    machine "$name"
done
expect 0 '^PASS: 0 of 3 machines fail' "${validate[@]}" good node1 node2 node3
says node2 FAIL 1
expect 1 '^FAIL  node2$' "${validate[@]}" failing node1 node2 node3
expect 1 '^FAIL  node2$' "${validate[@]}" few node1 node2 # too few to be compared
says node2 ERROR 3
expect 3 '^ERROR node2: a rule' "${validate[@]}" few node1 node2
echo "refused" > authorized
expect 3 'ERROR node3: exit 255: .*Permission denied' "${validate[@]}" refused node1 node2 node3
cp key.pub authorized
printf 'Host down\n Port 1\n' >> config
says node2 PASS 0
expect 3 'ERROR down: exit 255: .*refused' "${validate[@]}" down node1 node2 node3 down
expect 0 'PASS  node1' "${validate[@]}" down node1 node2 node3
expect 2 "invalid host '-oProxyCommand" "${validate[@]}" bad -oProxyCommand=x
finish
