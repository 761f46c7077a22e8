#!/bin/sh
# kernel/bpf/build.sh OUTPUT [NAME]: build OUTPUT/ndm.bpf.o, NDM as a BPF program
#
# NAME: of the congestion control, in place of ndm. The object has the model that kernel/build.sh compiles in. Needs
# clang, llvm and libbpf's headers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: kernel/bpf/build.sh OUTPUT [NAME]} name=${2:-ndm}
mkdir -p "$out"
exec 9>"$out/.lock"
flock 9 # another make may be building here
"$here/../sources.sh" "$out/src"
out=$(cd "$out" && pwd)
cd "$here/../.."	# BTF has the lines of the sources, which clang finds below the folder that compile.sh names
cc -O1 -Wall -Wextra -Wno-sign-compare -I"$here/../user/include" -I"$out/src" -I"$here" -o "$out/model" "$here/model.c"
"$out/model" "$name" >"$out/ndm_bpf_model.h"
"$here/compile.sh" "$here/ndm.bpf.c" "$out/ndm.bpf.o" -I"$out/src" -I"$out"
