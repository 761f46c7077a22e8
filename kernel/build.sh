#!/bin/sh
# kernel/build.sh OUTPUT KDIR: build the modules for the kernel tree KDIR as OUTPUT/*.ko
#
# KBUILD_FLAGS: more arguments for make (W=1, C=2, ...).
# The sources are first copied to OUTPUT/src, so that the tree stays clean and several kernels can build at the same time.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 2 ] || { echo "usage: kernel/build.sh OUTPUT KDIR" >&2; exit 2; }
[ -f "$2/Makefile" ] || { echo "kernel/build.sh: $2 is not a kernel build tree: it has no Makefile" >&2; exit 1; }
kdir=$(cd "$2" && pwd -P)
mkdir -p "$1"
exec 9>"$1/.lock"
flock 9 # another make may be building here
# make sees no difference between objects of this kernel and of another one that was here before
[ "$(cat "$1/src/.kernel" 2>/dev/null)" = "$kdir" ] || rm -rf "$1/src"
"$here/sources.sh" "$1/src"
echo "$kdir" >"$1/src/.kernel"
out=$(cd "$1" && pwd)
arch=
[ ! -f "$kdir/.config" ] || ! grep -q '^CONFIG_UML=y' "$kdir/.config" || arch="ARCH=um SUBARCH=x86_64"
# debug information without the folder's name: the same sources make the same bytes anywhere
# shellcheck disable=SC2086
MAKEFLAGS= make -s -j"$(nproc)" -C "$kdir" $arch M="$out/src" KCFLAGS="-ffile-prefix-map=$out/src=ndm-tcp" \
	${KBUILD_FLAGS:-} modules
for module in "$out"/src/*.ko "$out"/src/*/*.ko; do
	[ -f "$module" ] || continue
	cp "$module" "$out/.${module##*/}" && mv "$out/.${module##*/}" "$out/${module##*/}"
done
