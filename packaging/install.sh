#!/bin/sh
# Installs mitmcraft @VERSION@ for Linux into ~/.local, or the folder PREFIX:
#   curl -fsSL URL/install.sh | URL=URL sh
# URL is where this script and the archives are published. Nothing is installed unless the archive has the checksum that
# stands here.
set -eu

# A function: a script that was cut off by the network does nothing.
main() {
    prefix=${PREFIX:-$HOME/.local}
    url=${URL:?"set URL to the address of the folder with the archives"}
    [ "$(uname -s)" = Linux ] || fail "there are archives for Linux only here: see docs/install.md for other systems"
    case $(uname -m) in
    x86_64) target=x86_64 sum=@X86_64@ ;;
    aarch64) target=aarch64 sum=@AARCH64@ ;;
    *) fail "there is no archive for $(uname -m)" ;;
    esac
    [ ${#sum} = 64 ] || fail "there is no archive for $target in this release"
    name=mitmcraft-@VERSION@-$target-unknown-linux-gnu
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    curl -fsSL -o "$folder/archive" "$url/$name.tar.gz" || fail "cannot download $url/$name.tar.gz"
    # As text: BusyBox has no option to check one silently.
    [ "$(sha256sum <"$folder/archive" | cut -d ' ' -f 1)" = "$sum" ] ||
        fail "$url/$name.tar.gz is not the archive of this release: its checksum is another one"
    tar -xzf "$folder/archive" -C "$folder"
    mkdir -p "$prefix/bin" "$prefix/share/man" "$prefix/share/bash-completion/completions" \
        "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
    # Moved: a program that runs is not overwritten.
    cp "$folder/$name/mitmcraft" "$prefix/bin/.mitmcraft.new"
    mv "$prefix/bin/.mitmcraft.new" "$prefix/bin/mitmcraft"
    cp -R "$folder/$name/man/." "$prefix/share/man"
    completions=$folder/$name/completions
    cp "$completions/mitmcraft.bash" "$prefix/share/bash-completion/completions/mitmcraft"
    cp "$completions/mitmcraft.zsh" "$prefix/share/zsh/site-functions/_mitmcraft"
    cp "$completions/mitmcraft.fish" "$prefix/share/fish/vendor_completions.d/mitmcraft.fish"
    version=$("$prefix/bin/mitmcraft" --version) || fail "$prefix/bin/mitmcraft is installed, but does not run"
    echo "installed $version as $prefix/bin/mitmcraft"
    case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "add $prefix/bin to your PATH" ;;
    esac
}
fail() {
    echo "install.sh: error: $*" >&2
    exit 1
}
main
