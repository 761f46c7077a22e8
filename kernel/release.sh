#!/bin/sh
# kernel/release.sh KDIR: print the release of the kernel tree KDIR, as uname -r prints it
#
# `make kernelrelease` differs: for Debian's 6.1 headers it prints 6.1.192, but the kernel is 6.1.0-56-amd64.
set -eu
[ -f "${1:?usage: kernel/release.sh KDIR}/Makefile" ] ||
	{ echo "KDIR=$1 is not a kernel build tree: it has no Makefile" >&2; exit 1; }
file=$1/include/generated/utsrelease.h
[ -f "$file" ] || { echo "KDIR=$1 is not prepared for modules: $file is missing (make modules_prepare)" >&2; exit 1; }
sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$file"
