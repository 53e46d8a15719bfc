#!/usr/bin/env bash
# The jobs of docs/compare.md, their lines as they stand there but for the time they take: two builds that are
# the same one, and one that is slower.
. tests/lib/cli.sh
needs python3
python3 - docs/compare.md "$scratch" << 'END' || fail "the jobs are not where they were"
import re
import sys
text = open(sys.argv[1], encoding="utf-8").read()
github, gitlab = re.findall(r"```yaml\n(.*?)```", text, re.S)
lines = re.search(r"      run: \|\n((?:        .*\n)+)", github).group(1)
open(sys.argv[2] + "/github.sh", "w", encoding="utf-8").write(re.sub(r"(?m)^        ", "", lines))
entries = re.search(r"  script:\n((?:    .*\n)+)", gitlab).group(1)
entries = re.split(r"(?m)^    - ", entries)[1:]  # a plain scalar: its lines are folded into one
open(sys.argv[2] + "/gitlab.sh", "w", encoding="utf-8").write(
    "\n".join(" ".join(line.strip() for line in entry.splitlines()) for entry in entries) + "\n")
END
cd "$scratch" || exit 1
sed -i 's/--max-time 10m/--max-time 4s --time 0.05 --warmup 0.01/' github.sh
sed -i 's/1 2 3 4 5/1 2/; s/ -P sized,partition/ -P sized,partition --time 0.05 --warmup 0.01 --rounds 2 --no-baselines/g' gitlab.sh
side() { # side NAME STEP: a build whose steps take so long
    mkdir -p "$1/build/release"
    cat > "$1/build/release/contend" << END
#!/bin/sh
case "\$1" in run) exec "$CONTEND_FAKE" "\$@" -p step=$2 ;; esac
exec "$CONTEND_FAKE" "\$@"
END
    chmod +x "$1/build/release/contend"
}
job() { # job SHELL SCRIPT...: as the runners start it; its exit code
    GITHUB_STEP_SUMMARY=summary.md timeout 300 "$@" > out 2>&1 < /dev/null
}

side base 0.01
side head 0.01
for tool in github gitlab; do
    rm -rf runs contend*
    job sh -e $tool.sh
    got=$?
    case "$tool $got" in "github 0" | "gitlab 0" | "gitlab 4") ;; *) fail "$tool, equal: exit $got: $(cat out contend.md)" ;; esac
    grep -q '^| verdict' contend.md || fail "$tool: no table: $(cat contend.md)"
    grep -q '<testcase' contend.xml || fail "$tool: no tests"
done
grep -q 'UNCLEAR\|SAME' summary.md || fail "no summary"

side head 0.05
sed -i 's/--max-time 4s/--max-time 60s/' github.sh
rm -rf contend*
job sh -e github.sh
got=$?
[ "$got" = 1 ] || fail "five times as slow: exit $got: $(cat out contend.md)"
grep -q '<failure' contend.xml || fail "slower, and no failure"

mv base/build/release/contend gone
for tool in github gitlab; do
    rm -rf runs contend*
    job sh -e $tool.sh
    got=$?
    [ "$got" != 0 ] && [ "$got" != 4 ] || fail "$tool, without a build: exit $got: $(cat out)"
done
finish
