#!/bin/sh
# kernel/sources.sh FOLDER: copy the sources into FOLDER; exported models replace the shipped ones
#
# Exported models are ndm_weights.h and models/*.h in build/exported, or $NDM_MODEL_BUILD/exported. An unchanged file keeps
# its time, so that nothing is compiled twice.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: kernel/sources.sh FOLDER}
exported=${NDM_MODEL_BUILD:-$here/../build}/exported
names=$(cd "$here" && ls Kbuild VERSION ./*.h compat/* kunit/*.c lab/*.[ch] models/*.h ndm/*.h ndm/tcp/* nv/* schemes/*)
[ ! -d "$exported" ] || names="$names $(cd "$exported" && find . -name '*.h')"
for name in $names; do
	file=$exported/$name
	[ -f "$file" ] || file=$here/$name
	cmp -s "$file" "$out/$name" || { mkdir -p "$(dirname "$out/$name")" && cp "$file" "$out/$name.$$" && mv "$out/$name.$$" "$out/$name"; }
done
