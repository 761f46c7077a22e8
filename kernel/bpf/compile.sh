#!/bin/sh
# kernel/bpf/compile.sh SOURCE OBJECT [FLAG...]: compile a BPF program, with the headers of the law and BTF
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$1 object=$2; shift 2
root=$(cd "$here/../.." && pwd) folder=$(cd "$(dirname "$object")" && pwd)
# The memory of a connection is part of its state, so that a test for NULL is always false. The verifier wants loops with
# little stack rather than unrolled ones. The object has no folder's name in it: the same sources make the same bytes anywhere.
clang -O2 -g -target bpf -mcpu=v3 -fno-unroll-loops -Wall -Wextra -Wno-sign-compare -Wno-pointer-bool-conversion \
	-Wno-unused-function -Wno-unused-parameter -fdebug-compilation-dir=. -ffile-prefix-map="$root/=" \
	-ffile-prefix-map="$folder/=build/" -I"$here/include" -I"$here/../user/include" "$@" -I"$here" \
	"-I/usr/include/$(cc -print-multiarch)" -c "$source" -o "$object.new"
llvm-strip -g "$object.new"	# BTF stays
mv "$object.new" "$object"
