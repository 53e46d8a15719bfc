#!/bin/sh
# manual.sh PROGRAM PREFIX: has PROGRAM write its manual page and completions below PREFIX, such as ~/.local, where man
# and the shells look for them. Also copies the documents that help and messages name, without pictures and links that
# point outside docs/. CONTEND_EMULATOR, such as qemu-aarch64, runs the program of a cross-build.
set -eu

program=$1
share=$2/share

# write FILE COMMAND...: writes the file completely or not at all.
write() {
    file=$share/$1
    shift
    mkdir -p "$(dirname "$file")"
    ${CONTEND_EMULATOR:-} "$program" "$@" >"$file.new"
    mv "$file.new" "$file"
}

write bash-completion/completions/contend completion bash
write zsh/site-functions/_contend completion zsh
write fish/vendor_completions.d/contend.fish completion fish
write man/man1/contend.1 man

docs=$share/doc/contend/docs
rm -rf "$docs"
mkdir -p "$docs"
for page in "$(dirname "$0")"/../docs/*.md; do
    sed -zE -e 's/<picture>[^\n]*\n[^\n]*<\/picture>\n?//g' -e 's/[ \n]\(\[example\]\(\.\.\/[^)]*\)\)//g' \
        -e 's/\[([^]]*)\]\(\.\.\/[^)]*\)/\1/g' "$page" >"$docs/$(basename "$page")"
done
