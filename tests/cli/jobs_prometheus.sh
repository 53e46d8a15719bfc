#!/usr/bin/env bash
# share/prometheus unchanged: promtool and node_exporter accept the script's output, each alert fires exactly when it
# should, and each query of the dashboard finds data in a Prometheus.
. tests/lib/cli.sh
: "${CONTEND_BUSY:?}"
. tests/lib/plant.sh
needs taskset promtool prometheus prometheus-node-exporter jq curl
can_have_idle_stat || skip "needs unshare -rm"
share=$PWD/share/prometheus
promtool test rules tests/lib/alerts_test.yml > "$scratch/log" 2>&1 || fail "alerts: $(cat "$scratch/log")"
mkdir "$scratch/textfile"

# The command line of the units runs the script, with %i and $OPTIONS expanded as by systemd.
if command -v systemd-analyze > /dev/null; then
    mkdir "$scratch/units"
    for unit in service timer; do
        sed "s|/usr/share/contend/prometheus|$share|" "$share/contend-textfile@.$unit" > "$scratch/units/contend-textfile@.$unit"
    done
    systemd-analyze verify "$scratch"/units/* > "$scratch/log" 2>&1 || fail "units: $(cat "$scratch/log")"
fi
command=$(sed -n 's|^ExecStart=/usr/share/contend/prometheus|"$share"|p' "$share/contend-textfile@.service")
collect() { # collect CODE COMMAND OPTIONS
    ${as-} env "TEXTFILE_DIR=$scratch/textfile" "CONTEND=$CONTEND_BINARY" "OPTIONS=$3" "share=$share" sh -c "${command//%i/$2}" \
        > "$scratch/log" 2>&1
    expect_equal "exit code of $2" $? "$1"
    promtool check metrics < "$scratch/textfile/contend_$2.prom" > "$scratch/log" 2>&1 || fail "metrics of $2: $(cat "$scratch/log")"
}
collect 1 validate '--expect gpus=99,cpus=1'
plant taskset -c "$first" "$CONTEND_BUSY"
plant taskset -c "$first" "$CONTEND_BUSY"
costs() {
    collect 0 doctor '--time 2'
    grep -q '^contend_doctor_cost_ratio' "$scratch/textfile/contend_doctor.prom"
}
retry costs || fail "doctor saw no cost"
end_faults
as=with_idle_stat collect 0 run 'pipeline -P none,sized --time 0.1 --warmup 0.02 --rounds 1 --no-baselines'
expect 2 "invalid value 'fleet'; valid: validate, doctor, run" "$share/contend-textfile.sh" fleet

exporter=127.0.0.1:$((20000 + RANDOM % 10000)) prometheus=127.0.0.1:$((30000 + RANDOM % 10000))
cat > "$scratch/prometheus.yml" << END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$share/alerts.yml]
scrape_configs: [{job_name: node, static_configs: [{targets: ["$exporter"]}]}]
END
plant prometheus-node-exporter --collector.disable-defaults --collector.textfile \
    "--collector.textfile.directory=$scratch/textfile" "--web.listen-address=$exporter"
plant prometheus --config.file "$scratch/prometheus.yml" --storage.tsdb.path "$scratch/data" "--web.listen-address=$prometheus"
found() { # found QUERY: how many series it finds; nothing where Prometheus refuses it
    curl -sG "http://$prometheus/api/v1/query" --data-urlencode "query=$1" | jq '.data.result | length'
}
finds() { [ "$(found "$1")" -gt 0 ] 2> /dev/null; }
wait_for 60 finds 'contend_verdict' || fail "nothing in Prometheus: $(curl -s "http://$exporter/metrics" | tail -n 5)"
expect_equal "errors of the collector" "$(found 'node_textfile_scrape_error == 1')" 0
jq -r '.panels[].targets[].expr' "$share/dashboard.json" > "$scratch/queries"
[ "$(wc -l < "$scratch/queries")" -ge 12 ] || fail "few queries"
while read -r query; do
    finds "${query//\$instance/.*}" || fail "a panel finds nothing: $query: $(found "$query")"
done < "$scratch/queries"
wait_for 30 finds 'ALERTS{alertname="ContendCheckFailed",alertstate="firing",id="expected"}' || fail "no alert"
finish
