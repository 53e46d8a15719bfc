#!/bin/sh
# manual.sh PROGRAM PREFIX: writes what PROGRAM says of itself to where man and the shells look for it
# below PREFIX, such as ~/.local: the manual page and the completions. With them go the pages that help and messages name,
# without pictures of, and links to, what stays with the sources.
set -eu

program=$1
share=$2/share

# write FILE COMMAND...: a file is there as a whole or not at all.
write() {
    file=$share/$1
    shift
    mkdir -p "$(dirname "$file")"
    "$program" "$@" >"$file.new"
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
    sed -zE -e 's/!\[[^]]*\]\(\.\.\/[^)]*\)\n?//g' -e 's/[ \n]\(\[example\]\(\.\.\/[^)]*\)\)//g' \
        -e 's/\[([^]]*)\]\(\.\.\/[^)]*\)/\1/g' "$page" >"$docs/$(basename "$page")"
done
