#!/bin/sh
# Builds the packages twice, from two clones at two places, and compares them byte for byte.
set -eu
here=$(git rev-parse --show-toplevel)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset CARGO_TARGET_DIR
for place in one "another place"; do
    git clone --quiet "$here" "$folder/$place"
    (cd "$folder/$place" && cargo xtask package)
done
for file in "$folder"/one/target/package/coretwin*.deb "$folder"/one/target/package/coretwin*.tar.gz; do
    cmp "$file" "$folder/another place/target/package/$(basename "$file")"
    sha256sum "$file" | sed "s|  .*/|  |"
done
echo "equal, byte for byte"
