#!/usr/bin/env bash
# The jobs of share/ci run step by step, unchanged, in a repository of two commits. They compare a small program, and
# contend itself: equal, slower, and on a machine where base differs from itself.
. tests/lib/cli.sh
needs git jq
action=share/ci/github/action.yml gitlab=share/ci/gitlab.yml
for step in 'check out base' build 'install contend' compare; do
    block "$action" "name: $step" > "$scratch/github-${step##* }.sh"
done
block "$gitlab" 'script:' > "$scratch/gitlab-1.sh"
block "$gitlab" 'for side in' > "$scratch/gitlab-2.sh"
! grep -l '\${{' "$scratch"/*.sh || fail "an expression inside a script"
same_lines() { sed -n '/^if \[ -n "\$PROGRAM/,/^fi$/p; /^set -f/,/^fi$/p' "$1"; }
expect_equal "lines that both jobs have" "$(same_lines "$scratch/github-compare.sh")" "$(same_lines "$scratch/gitlab-2.sh")"
[ "$(same_lines "$scratch/gitlab-2.sh" | wc -l)" -gt 15 ] || fail "the jobs have few lines in common"
! command -v shellcheck > /dev/null || shellcheck -s sh "$scratch"/gitlab-*.sh || fail "shellcheck, GitLab"
! command -v shellcheck > /dev/null || shellcheck -s bash "$scratch"/github-*.sh || fail "shellcheck, GitHub"

cd "$scratch" || exit 1
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
side() { # side STEP: a commit of a program, and of a build of contend, whose steps take so long
    printf '#!/bin/sh\nsleep %s\n' "$1" > head/app.in
    cat > head/contend.in << END
#!/bin/sh
case "\$1" in run) exec "$CONTEND_FAKE" "\$@" -p step=$1 ;; esac
exec "$CONTEND_FAKE" "\$@"
END
    git -C head add . && git -C head commit -qm "$1" --allow-empty
}
export BUILD='for file in app contend; do install -D $file.in build/$file; done'
export COMMAND='$SIDE/build/app' PROGRAM='' BASE_REF=HEAD^1 CONTEND=$CONTEND_FAKE
brief='--time 0.05 --warmup 0.01'
github() { # github: its exit code, or that of the step that failed
    local step
    rm -rf contend.* contend-ab summary.md && : > summary.md
    for step in base build contend compare; do
        GITHUB_STEP_SUMMARY=summary.md timeout 300 bash --noprofile --norc -eo pipefail "github-$step.sh" \
            > out 2>&1 < /dev/null || return
    done
}
gitlab() {
    rm -rf contend.* contend-ab clone && git clone -q head clone
    (cd clone && CI_COMMIT_SHA=$(git rev-parse HEAD) CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git rev-parse HEAD^1) \
        timeout 300 sh -ec "$(cat ../gitlab-*.sh)" > ../out 2>&1 < /dev/null)
    local code=$?
    mv clone/contend* . 2> /dev/null
    return $code
}
ends() { # ends CODE JOB: with all that it has to write
    "$2"
    expect_equal "exit code, $2" $? "$1"
    grep -q '^| verdict' contend.md || fail "$2: no table: $(cat out contend.md)"
    grep -q '<testcase' contend.xml || fail "$2: no tests"
}
slower() { # slower JOB: it fails for that
    "$1"
    [ $? = 1 ] && grep -q '<failure' contend.xml
}

# If contend is not installed, the action uses the one of its repository.
mkdir -p repository/share/ci/github
printf '#!/bin/sh\necho "$@" > installed\n' > repository/contend && chmod +x repository/contend
CONTEND=contend GITHUB_PATH=paths GITHUB_ACTION_PATH=$PWD/repository/share/ci/github HOME=$PWD PATH=/usr/bin:/bin \
    bash -eo pipefail github-contend.sh > out 2>&1 || fail "install: $(cat out)"
expect_equal "what was installed" "$(cat installed paths)" "install
$PWD/.local/bin"

git init -q head
side 0.01
side 0.01
export OPTIONS="-n 1 --max-time 3s $brief"
ends 0 github
grep -q '^| verdict' summary.md || fail "no summary"
OPTIONS="-n 1 --rounds 2 $brief"
ends 4 gitlab

side 0.1
OPTIONS="-n 1 --rounds 12 $brief"
retry slower github || fail "slower, GitHub: $(cat out contend.md)"
PROGRAM=build/contend OPTIONS="-n 1 --rounds 12 $brief"
retry slower gitlab || fail "slower, GitLab: $(cat out contend.md)"

# Base differs from itself: the job reports that, and passes.
cat > unsteady << END
#!/bin/sh
case \$1 in ab) ;; *) exec "$CONTEND_FAKE" "\$@" ;; esac
jq '(.comparisons[] | select(.other == "shadow")).outcome = "FASTER"' << JSON
\$("$CONTEND_FAKE" "\$@")
JSON
END
chmod +x unsteady
CONTEND=$scratch/unsteady PROGRAM='' OPTIONS="-n 1 --rounds 2 $brief"
ends 0 github
grep -q '^::warning::contend: base differs from itself' out || fail "no warning: $(cat out)"
grep -q 'No verdict: base differs' summary.md || fail "no sentence in the summary"
ends 4 gitlab

# The job fails if nothing can be measured or judged: no build, a missing base that is not a command, no jq.
CONTEND=$CONTEND_FAKE BUILD='install -D app.in build/app' PROGRAM=build/contend OPTIONS="-n 1 --rounds 2 $brief"
for job in github gitlab; do
    $job
    got=$?
    case $got in 0 | 4) fail "$job, without a build: exit $got: $(cat out)" ;; esac
done
PROGRAM='' OPTIONS="-n 1 --rounds 2 $brief" BASE_REF='$(touch reached);touch reached'
! github || fail "a base that is not there: exit 0: $(cat out)"
[ ! -e reached ] && [ ! -e head/reached ] || fail "the base's name reached the shell"
BASE_REF=HEAD^1
mkdir no-jq && printf '#!/bin/sh\nexit 127\n' > no-jq/jq && chmod +x no-jq/jq
for job in github gitlab; do
    PATH=$scratch/no-jq:$PATH $job
    got=$?
    case $got in 0 | 4) fail "$job, without jq: exit $got: $(cat out)" ;; esac
done
finish
