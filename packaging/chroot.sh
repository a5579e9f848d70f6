#!/bin/sh
# A fresh Debian root, made from this machine's own apt sources, and what is tried in it, in order:
#   packaging/chroot.sh [package] [study] [test] [image]      without words: those in CORETWIN_CHROOT, else package
#   package   the package is installed, run by an ordinary user and removed
#   study     a clone of this commit and this machine's Rust toolchain, nothing else: `make study`
#   test      the same, `make test`
#   image     packaging/Dockerfile, by buildah, upon this root instead of the images it names
#   arm64     the package for arm64, by this release's Rust and cross compiler; its programs run emulated
# CORETWIN_RELEASE=trixie takes another release than this machine's, from the same archive; arm64 needs sid.
# As root. Lent by this machine: the network and whom to trust there, the toolchain (read-only), what cargo has
# downloaded (a copy).
set -eu
# In a mount namespace of its own: however this ends, nothing stays mounted.
[ "${CORETWIN_APART:-}" = yes ] ||
    CORETWIN_APART=yes exec unshare --mount --propagation private sh "$0" "$@"
here=$(git rev-parse --show-toplevel)
# shellcheck disable=SC2086 # a list of words
[ $# -gt 0 ] || set -- ${CORETWIN_CHROOT:-package}
command -v debootstrap >/dev/null 2>&1 || apt-get -qq install -y --no-install-recommends debootstrap
folder=$(mktemp -d)
root=$folder/root
leave() {
    [ ! -e "${formats:-}/coretwin-arm64" ] || echo -1 >"$formats/coretwin-arm64"
    for place in proc/sys/fs/binfmt_misc proc sys dev/pts dev/shm rust; do umount --lazy "$root/$place" 2>/dev/null || true; done
    rm -rf --one-file-system "$folder"
}
trap leave EXIT
trap 'exit 130' INT TERM
bare() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }

make_root() {
    own=$(. /etc/os-release && echo "$VERSION_CODENAME")
    release=${CORETWIN_RELEASE:-$own}
    # shellcheck disable=SC2016 # apt fills them in
    mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Identifier: Packages' 'Component: main' |
        awk -v own="$own" '$1 == own { print $2; exit }')
    [ -n "$mirror" ] || { echo "chroot: apt knows no archive of $own; run apt-get update"; exit 1; }
    debootstrap --variant=minbase "$release" "$root" "$mirror" >"$folder/debootstrap.log" ||
        { tail -n 5 "$folder/debootstrap.log"; exit 1; }
    rm -f "$root/etc/apt/sources.list"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list \
        /etc/apt/apt.conf.d/* /usr/share/keyrings/*.gpg /etc/resolv.conf /etc/hosts /etc/pip.conf \
        /etc/ssl/certs/ca-certificates.crt /usr/local/share/ca-certificates/*.crt; do
        if [ -f "$file" ]; then mkdir -p "$root${file%/*}" && cp "$file" "$root$file"; fi
    done
    if [ "$release" != "$own" ]; then
        rm -f "$root"/etc/apt/sources.list.d/* # they name this machine's release
        echo "deb $mirror $release main" >"$root/etc/apt/sources.list"
    fi
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mkdir -p "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,gid=5,mode=620 devpts "$root/dev/pts"
    ln -sf pts/ptmx "$root/dev/ptmx"
    mount -t tmpfs -o mode=1777 none "$root/dev/shm"
}

try_package() {
    (cd "$here" && cargo xtask package)
    package=$(ls "${CARGO_TARGET_DIR:-$here/target}"/package/coretwin_*.deb | tail -n 1)
    list() { bare find / -xdev -not -path '/var/lib/dpkg/*' -not -path '/var/log/*' -not -path '/tmp/*' -not -path '/run/*' | sort; }
    list >"$folder/before"
    cp "$package" "$root/tmp/coretwin.deb"
    bare dpkg -i /tmp/coretwin.deb
    test -z "$(bare dpkg --verify coretwin)"
    for file in share/man/man1/coretwin.1.gz share/man/man1/coretwin-study.1.gz \
        share/man/man1/coretwin-simulate-core.1.gz share/bash-completion/completions/coretwin \
        share/zsh/vendor-completions/_coretwin share/fish/vendor_completions.d/coretwin.fish \
        lib/systemd/system/coretwin-top.service lib/systemd/system/coretwin-record.service share/doc/coretwin/copyright; do
        # minbase leaves out man pages and documents where the machine's dpkg is told so; the package has them.
        dpkg-deb --fsys-tarfile "$package" | tar -xO "./usr/$file" | head -c 1 | grep -q . ||
            { echo "chroot: $file is missing or empty"; exit 1; }
    done
    test -z "$(find "$root/usr" -name '*coretwin*' -perm /022 ! -type l)"
    # An ordinary user, without privileges, and a folder of theirs.
    user() { chroot --userspec=65534:65534 "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp/home "$@"; }
    install -d -m 755 -o 65534 -g 65534 "$root/tmp/home"
    user coretwin --version
    user coretwin topology
    user coretwin audit >/dev/null
    user coretwin run aim9/misc_rtns_1:seconds=0.1 >/dev/null
    user sh -c 'cd && coretwin study --quick --arm a=cpus:0 --arm b=cpus:0 --out study -- true' >/dev/null
    user coretwin report /tmp/home/study --format md | head -n 1
    user coretwin study chat:rooms=20 --machine vm-1 --blocks 1 --out /tmp/home/simulated >/dev/null
    bare dpkg -r coretwin
    list | comm -13 "$folder/before" - >"$folder/left"
    test ! -s "$folder/left" || { echo "chroot: left behind:"; cat "$folder/left"; exit 1; }
    echo "chroot: the package installed, ran, and went without a trace"
}

# What cargo has downloaded, into a folder.
lend() {
    mkdir -p "$1"
    for part in cache index; do cp -r "${CARGO_HOME:-$HOME/.cargo}/registry/$part" "$1/"; done
}

# A clone, a toolchain, and the two programs that the first command needs: git made the clone.
try_make() {
    if [ ! -d "$root/source" ]; then
        git clone --quiet "$here" "$root/source"
        mkdir -p "$root/rust"
        mount --bind -o ro "$(rustc --print sysroot)" "$root/rust"
        lend "$root/root/.cargo/registry"
        bare apt-get -qq update
        bare apt-get -qq install -y --no-install-recommends make >/dev/null
    fi
    chroot "$root" /usr/bin/env -i PATH=/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        make -C /source "$1"
    echo "chroot: make $1 ended well"
}

# What the Dockerfile names comes from a registry; here the fresh root stands in, with the toolchain for `rust`.
try_image() {
    command -v buildah >/dev/null 2>&1 || apt-get -qq install -y --no-install-recommends buildah
    store() { buildah --root "$folder/images" --runroot "$folder/run" "$@"; }
    tar -C "$root" --one-file-system --exclude=./source --exclude='./tmp/*' -cf "$folder/root.tar" .
    for image in $(sed -n 's/^FROM \([^ ]*\).*/\1/p' "$here/packaging/Dockerfile"); do
        box=$(store from scratch)
        store add --quiet "$box" "$folder/root.tar" / >/dev/null
        case $image in rust:*) store copy --quiet "$box" "$(rustc --print sysroot)" /usr/local >/dev/null ;; esac
        store config --env CARGO_HOME=/usr/local/cargo --env PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$box"
        store commit --quiet --rm "$box" "localhost/$image" >/dev/null
    done
    git clone --quiet "$here" "$folder/context"
    sed -i 's,^FROM ,FROM localhost/,' "$folder/context/packaging/Dockerfile"
    lend "$folder/registry"
    store build --isolation chroot --pull-never --file "$folder/context/packaging/Dockerfile" --tag coretwin \
        --volume "$folder/registry:/usr/local/cargo/registry" "$folder/context"
    box=$(store from --pull-never coretwin)
    store run --isolation chroot "$box" -- coretwin topology
    store run --isolation chroot "$box" -- coretwin cputime --help >/dev/null
    echo "chroot: the image was built, and runs"
}

# Debian builds Rust's library for arm64, too; only its newest release has a Rust that is new enough.
try_arm64() {
    git clone --quiet "$here" "$root/source-arm64"
    lend "$root/root/.cargo/registry"
    bare dpkg --add-architecture arm64
    bare apt-get -qq update
    bare apt-get -qq install -y --no-install-recommends git rustc cargo clang make pkg-config qemu-user \
        gcc libc6-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross libstd-rust-dev:arm64 \
        linux-libc-dev autoconf automake autopoint flex bison gawk >/dev/null
    # The kernel runs them by the release's emulator, as the tool starts its workers by itself.
    mount -t binfmt_misc none "$root/proc/sys/fs/binfmt_misc"
    formats=$root/proc/sys/fs/binfmt_misc
    magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf '%s\n' ":coretwin-arm64:M::$magic:$mask:/usr/bin/qemu-aarch64:" >"$folder/format"
    cat "$folder/format" >"$formats/register"
    target=aarch64-unknown-linux-gnu
    bare sh -c "cd /source-arm64 && cargo xtask package $target"
    bare sh -ec 'cd /tmp && dpkg-deb -x /source-arm64/target/package/coretwin_*_arm64.deb arm64
        file() { od -A n -t x1 -j 18 -N 2 "$1" | tr -d " "; }
        test "$(file arm64/usr/bin/coretwin)" = b700 # EM_AARCH64 (elf.h)
        run() { arm64/usr/bin/coretwin "$@"; }
        run --version
        run topology
        run study --quick --arm a=cpus:0 --arm b=cpus:0 --out study-arm64 -- true >/dev/null
        run report study-arm64 --format md | head -n 3
        run study chat:rooms=20 --machine vm-1 --blocks 1 --out simulated-arm64 | head -n 3'
    echo "chroot: the programs for arm64 were built, and run"
}

make_root
for what in "$@"; do
    case $what in
    package) try_package ;;
    study | test) try_make "$what" ;;
    image) try_image ;;
    arm64) try_arm64 ;;
    *)
        echo "chroot: package, study, test, image or arm64, not '$what'"
        exit 2
        ;;
    esac
done
