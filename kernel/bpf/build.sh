#!/bin/sh
# kernel/bpf/build.sh OUTPUT [NAME]: build OUTPUT/ndm.bpf.o, NDM as a BPF program
#
# NAME: of the first model's congestion control in place of ndm; the others' are NAME_MODEL. The object has the models
# that kernel/build.sh compiles in. Needs clang, llvm and libbpf's headers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: kernel/bpf/build.sh OUTPUT [NAME]} name=${2:-ndm}
"$here/../sources.sh" "$out/src"
include="-I$here/../user/include -I$out/src -I$here"
# shellcheck disable=SC2086
cc -O1 -Wall -Wextra -Wno-sign-compare $include -o "$out/models" "$here/models.c"
"$out/models" "$name" >"$out/ndm_bpf_models.h"
# The memory of a connection is part of its state, so that a test for NULL is always false. The verifier wants loops with
# less stack rather than unrolled ones.
# shellcheck disable=SC2086
clang -O2 -g -target bpf -mcpu=v3 -fno-unroll-loops -Wall -Wextra -Wno-sign-compare -Wno-pointer-bool-conversion \
	-Wno-unused-function -Wno-unused-parameter -I"$here/include" $include -I"$out" "-I/usr/include/$(cc -print-multiarch)" \
	-c "$here/ndm.bpf.c" -o "$out/.ndm.bpf.o"
llvm-strip -g "$out/.ndm.bpf.o"	# BTF stays
mv "$out/.ndm.bpf.o" "$out/ndm.bpf.o"
