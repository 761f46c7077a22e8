#!/bin/sh
# kernel/release.sh KDIR: the release that modules built there are for, as uname -r says it
#
# Not `make kernelrelease`: for Debian's headers of 6.1 that is 6.1.192, and the kernel 6.1.0-56-amd64.
set -eu
[ -f "${1:?usage: kernel/release.sh KDIR}/Makefile" ] ||
	{ echo "KDIR=$1 is no kernel build tree: it has no Makefile" >&2; exit 1; }
file=$1/include/generated/utsrelease.h
[ -f "$file" ] || { echo "KDIR=$1 is not prepared for modules: $file is not there (make modules_prepare)" >&2; exit 1; }
sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$file"
