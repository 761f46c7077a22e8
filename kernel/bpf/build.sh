#!/bin/sh
# kernel/bpf/build.sh OUTPUT [NAME]: build OUTPUT/ndm.bpf.o, NDM as a BPF program
#
# NAME: of the first model's congestion control in place of ndm; the others' are NAME_MODEL. The object has the models
# that kernel/build.sh compiles in. Needs clang, llvm and libbpf's headers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: kernel/bpf/build.sh OUTPUT [NAME]} name=${2:-ndm}
"$here/../sources.sh" "$out/src"
out=$(cd "$out" && pwd)
cd "$here/../.."	# BTF has the lines of the sources, which clang finds below the folder that compile.sh names
cc -O1 -Wall -Wextra -Wno-sign-compare -I"$here/../user/include" -I"$out/src" -I"$here" -o "$out/models" "$here/models.c"
"$out/models" "$name" >"$out/ndm_bpf_models.h"
"$here/compile.sh" "$here/ndm.bpf.c" "$out/ndm.bpf.o" -I"$out/src" -I"$out"
