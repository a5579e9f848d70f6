#!/bin/sh
# Installs the package into a fresh Debian root and runs it there as an ordinary user. As root, with
# debootstrap. `cargo xtask package` first.
set -eu
here=$(git rev-parse --show-toplevel)
target=${CARGO_TARGET_DIR:-$here/target}
package=$(ls "$target"/package/coretwin_*.deb 2>/dev/null | tail -1) || true
if [ -z "$package" ]; then
    (cd "$here" && cargo xtask package)
    package=$(ls "$target"/package/coretwin_*.deb | tail -1)
fi
command -v debootstrap >/dev/null 2>&1 || apt-get -qq install -y --no-install-recommends debootstrap
folder=$(mktemp -d)
leave() { umount "$folder/proc" "$folder/sys" 2>/dev/null || true; rm -rf --one-file-system "$folder"; }
trap leave EXIT
debootstrap --variant=minbase stable "$folder" ${DEBIAN_MIRROR:-} >/dev/null
mount -t proc proc "$folder/proc"
mount -t sysfs -o ro sysfs "$folder/sys"
mkdir -p "$folder/dev/shm" && chmod 1777 "$folder/dev/shm"
cp "$package" "$folder/tmp/coretwin.deb"
inside() { chroot "$folder" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp "$@"; }
inside dpkg -i /tmp/coretwin.deb
inside dpkg --verify coretwin
for file in share/man/man1/coretwin.1.gz share/man/man1/coretwin-study.1.gz \
    share/bash-completion/completions/coretwin share/zsh/vendor-completions/_coretwin \
    share/fish/vendor_completions.d/coretwin.fish lib/systemd/system/coretwin-top.service; do
    test -s "$folder/usr/$file"
done
test -z "$(find "$folder/usr" -name '*coretwin*' -perm /022 ! -type l)"
# An ordinary user, without privileges.
user() { chroot --userspec=65534:65534 "$folder" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp "$@"; }
user coretwin --version
user coretwin topology
user coretwin audit >/dev/null
user sh -c 'cd /tmp && coretwin study --quick --arm a=cpus:0 --arm b=cpus:0 --out study -- true' >/dev/null
user coretwin report /tmp/study --format md | head -1
inside dpkg -r coretwin
test ! -e "$folder/usr/bin/coretwin"
echo "installed, ran, removed"
