#!/usr/bin/env bash
# contend report on an untrusted directory reads, writes and runs nothing outside of it. None of its files blocks the
# program or fills the memory.
. tests/lib/cli.sh
needs gnuplot

expect 0 . env PATH=/nonexistent "$CONTEND_FAKE" run fake --placement none,sized --workers 2 \
    --rounds 2 --time 0.1 --warmup 0.01 --out "$scratch/run"
rm -f "$scratch/run/plots"/{occupancy,step_time,throughput}.dat # two are enough, and take half the time
echo precious >"$scratch/victim"
untouched() { # untouched WHAT
    [ "$(cat "$scratch/victim")" = precious ] || fail "$1 was followed: another file was written"
    echo precious >"$scratch/victim"
}
theirs() { # a fresh directory of somebody else's, $there
    there=$scratch/theirs
    rm -rf "$there"
    cp -r "$scratch/run" "$there"
}

# Links in place of pictures are replaced; their targets are not written.
theirs
ln -s "$scratch/victim" "$there/plots/loss.svg"
ln "$scratch/victim" "$there/plots/step_time.png"
expect 0 'plots/loss.svg, loss.png' "$CONTEND_BINARY" report "$there"
untouched "a link of the name of a picture"
[ ! -L "$there/plots/loss.svg" ] || fail "the link is still there"
grep -q '</svg>' "$there/plots/loss.svg" || fail "no loss.svg"
[ -z "$(find "$there" -name '*.tmp')" ] || fail "a temporary file was left"

# plots may not be a link either. Only DIR may be a link, since the user names it.
theirs
mkdir "$scratch/elsewhere"
mv "$there/plots" "$scratch/elsewhere/plots"
ln -s "$scratch/elsewhere/plots" "$there/plots"
expect 2 "theirs': plots is no directory \(a link is not followed\)" "$CONTEND_BINARY" report "$there"
[ -z "$(find "$scratch/elsewhere" -name '*.svg')" ] || fail "it drew in another directory"
theirs
ln -s "$there" "$scratch/named"
expect 0 'named/plots/loss.svg' "$CONTEND_BINARY" report "$scratch/named"

# A gnuplot inside the directory is not run, even if PATH has an empty or relative entry.
theirs
printf '#!/bin/sh\ntouch "%s/pwned"\n' "$scratch" >"$there/plots/gnuplot"
chmod +x "$there/plots/gnuplot"
cp "$there/plots/gnuplot" "$there/gnuplot"
for path in ":$PATH" ".:$PATH" "plots:$PATH" "$PATH:"; do
    (cd "$there/plots" && expect 0 'loss.svg' env "PATH=$path" "$CONTEND_BINARY" report ..
     exit "$failures") || fail "PATH=$path"
    [ ! -e "$scratch/pwned" ] || fail "PATH=$path: it ran a program of that directory"
    rm -f "$scratch/pwned"
done
for path in "" : . plots .:plots; do
    (cd "$there" && expect 0 'gnuplot is not installed' env "PATH=$path" "$CONTEND_BINARY" report .
     exit "$failures") || fail "PATH=$path"
    [ ! -e "$scratch/pwned" ] || fail "PATH=$path: it ran a program of that directory"
    rm -f "$scratch/pwned"
done
[ -e "$there/plots/loss.svg" ] || fail "without gnuplot, pictures that were there are gone"

# Data that are not a file, have no end, or are too large: the other figures are drawn.
refused() { # refused PATTERN
    expect 3 "$1" "$CONTEND_BINARY" report "$there"
    grep -q '</svg>' "$there/plots/efficiency.svg" || fail "$1: it took the others along"
}
theirs
rm "$there/plots/loss.dat"
mkfifo "$there/plots/loss.dat"
refused 'cannot read plots/loss.dat: it is no regular file'
for target in /dev/zero "$scratch/victim" nowhere; do
    theirs
    ln -sf "$target" "$there/plots/loss.dat"
    refused 'cannot read plots/loss.dat: it is a link'
done
theirs
rm "$there/plots/loss.dat"
mkdir "$there/plots/loss.dat"
refused 'cannot read plots/loss.dat: it is no regular file'
theirs
truncate -s 1T "$there/plots/loss.dat"
refused 'cannot read plots/loss.dat: it is larger than 64 MiB'

# Accepted data may still make gnuplot use more memory or write large files, so both have limits.
theirs
mkdir "$scratch/bin"
printf '#!/bin/bash\n{ ulimit -v; ulimit -f; ulimit -c; pwd; } >"%s/limits"\n' "$scratch" >"$scratch/bin/gnuplot"
chmod +x "$scratch/bin/gnuplot"
expect 0 . env "PATH=$scratch/bin:$PATH" "$CONTEND_BINARY" report "$there"
[ "$(paste -sd ' ' "$scratch/limits")" = '4194304 262144 0 /' ] ||
    fail "limits and directory of gnuplot: $(cat "$scratch/limits")"
expect 0 . bash -c 'ulimit -f 100000 && exec "$@"' bash \
    env "PATH=$scratch/bin:$PATH" "$CONTEND_BINARY" report "$there"
[ "$(sed -n 2p "$scratch/limits")" = 100000 ] || fail "it raised a limit: $(cat "$scratch/limits")"

# Text stays text: in labels, in titles, in messages on the terminal.
for text in "'. system('touch $scratch/pwned') .'" '@x @ARG1 `touch '"$scratch"'/pwned`' '<script>alert(1)</script></text>'; do
    theirs
    TEXT=$text awk '{ gsub(/"[^"]+"/, "\001"); n = split($0, part, "\001"); line = part[1]
        for (i = 2; i <= n; i++) line = line "\"" ENVIRON["TEXT"] "\"" part[i]
        print line }' "$scratch/run/plots/loss.dat" >"$there/plots/loss.dat"
    expect 0 'loss.svg' "$CONTEND_BINARY" report "$there"
    [ ! -e "$scratch/pwned" ] || fail "text of a figure was run: $text"
    rm -f "$scratch/pwned"
    grep -q '<script' "$there/plots/loss.svg" && fail "text became an element of the SVG: $text"
done
theirs
printf '"\033]0;owned\007" \001\n\n\n1 "\033[31m"\n' >"$there/plots/loss.dat"
"$CONTEND_BINARY" report "$there" >"$scratch/log" 2>&1 </dev/null
grep -q "$(printf '\033')" "$scratch/log" && fail "control characters of the data: $(cat -v "$scratch/log")"

# A run into a directory in which the user has figures with contend's names: they stay.
own=$scratch/own
mkdir -p "$own/plots"
ln "$scratch/victim" "$own/plots/loss.dat"
echo mine | tee "$own/plots/efficiency.svg" "$own/plots/notes.txt" >"$own/plots/gpu_copy.png"
run_fake=("$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 1 --time 0.1 --warmup 0.01
    --out "$own")
expect 0 'no plot of efficiency: plots/ has a file of that name' "${run_fake[@]}"
untouched "a second name of another file"
[ "$(cat "$own"/plots/{efficiency.svg,notes.txt,gpu_copy.png})" = $'mine\nmine\nmine' ] ||
    fail "files of the user's: $(ls -l "$own/plots")"
[ -e "$own/plots/step_time.svg" ] || fail "no figure beside those of the user"
rm -r "$own"
mkdir -p "$own" "$scratch/elsewhere/more"
touch "$scratch/elsewhere/more/loss.svg"
ln -s "$scratch/elsewhere/more" "$own/plots"
expect 0 'no plots: plots is no directory' "${run_fake[@]}"
expect 0 'replacing' "${run_fake[@]}" # run.json of the first is there: its figures go, but not through a link
[ "$(ls "$scratch/elsewhere/more")" = loss.svg ] || fail "figures behind a link were written or removed"
finish
