#!/usr/bin/env bash
# Completion of command lines, run by the shells themselves.
. tests/lib/cli.sh
for shell in bash zsh fish; do
    "$CONTEND_BINARY" completion "$shell" >"$scratch/contend.$shell" || fail "exit $?: completion $shell"
done
expect 2 'no shell: type' "$CONTEND_BINARY" completion
expect 2 "no completion for 'bahs'; did you mean 'bash'\? known: bash, zsh, fish" \
    "$CONTEND_BINARY" completion bahs
: >"$scratch/file"
mkdir "$scratch/folder"
cd "$scratch" || exit 1
export PATH=${CONTEND_BINARY%/*}:$PATH # the scripts ask the program

# in_bash WORD...: prints what bash offers for the last word. bash splits at "=", so callers split there too.
in_bash() {
    bash -uc '
        . "$1"
        shift
        COMP_WORDS=(contend "$@") COMP_CWORD=$# COMPREPLY=()
        _contend
        echo "${COMPREPLY[*]}"' bash "$scratch/contend.bash" "$@"
}
# offers "EXPECTED" WORD...
offers() {
    local expected=$1 said
    shift
    said=$(in_bash "$@" 2>&1)
    [ "$said" = "$expected" ] || fail "bash offers '$said', expected '$expected': $*"
}
has() { # has NAME WORD...: among others
    local name=$1 said
    shift
    said=$(in_bash "$@" 2>&1)
    [[ " $said " == *" $name "* ]] || fail "bash does not offer '$name' but '$said': $*"
}
bash -n contend.bash || fail "bash cannot read its script"
offers 'report' re
offers '--version' --v
has info ''
offers 'train' run tr
offers 'pipeline' run --rounds 3 pip
offers 'allreduce all' run al
offers '--placement' run --pl
offers '--profile' run --no-plots --prof
offers 'quick' run --profile q
offers 'quick' run --profile = q
offers 'quick standard full' run --profile =
offers 'partition' place -P part
offers 'none,partition' place --placement none,part
offers 'prep' run --background pre
offers '' run --rounds ''
offers 'gpu_copy' bench gpu_co
offers 'wait=' run -p wa
offers 'inject=' run memory -p inj
offers '' run gpu -p inj
offers 'spin block' run pipeline -p wait =
offers 'block' bench pipeline --param wait = b
offers 'redop=' bench collective -p redo
offers 'auto' place --mem a
offers 'folder' report f
offers 'folder' run --out f
offers 'file folder' info --xml f
has --json info ''
offers 'place' help pla
offers 'mem_bandwidth' help bench mem_b
offers '--placement' help run --pl
offers 'gpus_on_bus' validate --only gpus_on_b
offers 'cpus_alike,gpus_on_bus' validate --require cpus_alike,gpus_on_b
offers 'kernel,driver' compare --allow kernel,dr
offers 'slower unclear missing none' compare --fail-on ''
offers 'unclear' ab --fail-on unc
offers 'auto,passive' tune --wait auto,pass
offers 'pcores' doctor -P pc
offers 'zsh' completion z
offers '' nonsense ''

# Every option in a command's help is offered.
for command in $("$CONTEND_BINARY" help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p') completion man version; do
    "$CONTEND_BINARY" "$command" --help-all | grep -oE '^  (-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+' |
        sort >"$scratch/shown"
    in_bash "$command" -- | tr ' ' '\n' | grep -vxE -- '--help(-all)?' | sort >"$scratch/offered"
    cmp -s "$scratch/shown" "$scratch/offered" || [ "$command" = help ] ||
        fail "$command: $(diff "$scratch/shown" "$scratch/offered")"
done

# Every offered value is accepted.
taken() { # taken WORD... --OPTION: each of what is offered behind it
    local value
    for value in $(in_bash "$@" ''); do
        ! "$CONTEND_BINARY" "$@" "$value" 2>&1 </dev/null | grep -E 'invalid value|is not a list|no rule|no results: type' ||
            fail "offered and refused: $* $value"
    done
}
taken compare . . --allow
taken compare . . --fail-on
taken validate --list --only
[ "$(in_bash validate --only '' | wc -w)" -ge 45 ] || fail "rules: $(in_bash validate --only '')"

# Other shells, if installed.
if command -v fish >/dev/null; then
    fish -n contend.fish || fail "fish cannot read its script"
    in_fish() { # in_fish LINE: the names alone
        # shellcheck disable=SC2016
        fish --no-config -c 'source contend.fish; complete -C "$argv[1]"' "$1" | cut -f 1 | paste -sd' '
    }
    while IFS='|' read -r line expected; do
        said=$(in_fish "contend $line")
        [ "$said" = "$expected" ] || fail "fish offers '$said', expected '$expected': $line"
    done <<'LINES'
repo|report
run pipel|pipeline
run --profile q|quick
run --pl|--placement
place -P none,part|none,partition
compare --allow kernel,dr|kernel,driver
run pipeline -p wait=|wait=block wait=spin
bench cpu_speed -p |
bench collective -p redop=s|redop=sum
LINES
else
    echo "fish is not installed: its script was not tried"
fi
if command -v zsh >/dev/null; then
    zsh -n contend.zsh || fail "zsh cannot read its script"
    # A zsh on a pseudo-terminal, which completes at a tab and prints its line at Ctrl-X.
    cp contend.zsh _contend
    cat >in_zsh <<'ZSH'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PROMPT=""; stty rows 100 cols 200; fpath=($PWD $fpath); autoload -Uz compinit
compinit -u -d $PWD/dump; tell() { print -r -- "LINE<$BUFFER>"; BUFFER=""; zle accept-line }
zle -N tell; bindkey "^X" tell; print RE''ADY'
zpty -r z said '*READY*'
for line in "$@"; do
    zpty -w -n z "$line"$'\t\x18'
    zpty -r z said '*LINE<*>*' && print -r -- ${${said##*LINE<}%%>*}
done
zpty -d z
ZSH
    in_zsh() { # in_zsh LINE EXPECTED
        local said
        said=$(timeout 100 zsh -f in_zsh "$1" 2>&1)
        [ "$said" = "$2" ] || fail "zsh makes '$said' of '$1', expected '$2'"
    }
    in_zsh 'contend rep' 'contend report '
    in_zsh 'contend run pipel' 'contend run pipeline '
    in_zsh 'contend run --no-pl' 'contend run --no-plots '
    in_zsh 'contend run --profile q' 'contend run --profile quick '
    in_zsh 'contend place -P none,part' 'contend place -P none,partition '
    in_zsh 'contend run pipeline -p wait=s' 'contend run pipeline -p wait=spin '
    in_zsh 'contend bench collective -p redop=su' 'contend bench collective -p redop=sum '
else
    echo "zsh is not installed: its script was not tried"
fi
finish
