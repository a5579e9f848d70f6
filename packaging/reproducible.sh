#!/bin/sh
# Builds the packages of this commit twice and compares them byte for byte: at two places, of two
# homes of cargo, with two umasks, locales, time zones and moments.
#   packaging/reproducible.sh [FOLDER]    with the packages in FOLDER, whoever built them: once
set -eu
here=$(git rev-parse --show-toplevel)
others=${1:+$(cd "$1" && pwd)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
unset CARGO_TARGET_DIR SOURCE_DATE_EPOCH
git clone --quiet "$here" "$folder/one"
if [ -z "$others" ]; then
    (cd "$folder/one" && cargo xtask package)
    others=$folder/one/target/package
fi
# The other: nothing is as it was but the commit and what cargo has downloaded.
git clone --quiet "$here" "$folder/other/place"
mkdir "$folder/cargo"
ln -s "${CARGO_HOME:-$HOME/.cargo}/registry" "$folder/cargo/registry"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
(
    umask 077
    cd "$folder/other/place"
    CARGO_HOME=$folder/cargo LC_ALL=tr_TR.UTF-8 TZ=Pacific/Chatham cargo xtask package
)
for file in "$folder"/other/place/target/package/coretwin*.deb "$folder"/other/place/target/package/coretwin*.tar.gz; do
    cmp "$others/$(basename "$file")" "$file"
    (cd "$(dirname "$file")" && sha256sum "$(basename "$file")")
done
echo "equal, byte for byte"
