#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# gcc for the lab kernel: the headers that most files include come precompiled from lab_headers.h in the tree.
#
# Parsing headers is most of the compile. gcc refuses a precompiled header after -DKBUILD_BASENAME and the like, which
# differ from file to file, so these names are in a header of their own that is included after it. The first file that
# is compiled decides the options of the precompiled header. A file is compiled as usual if it defines a macro before
# its last #include, needs other options, or does not compile with the precompiled header.
headers=lab_headers.h

with_precompiled() {
	for argument; do
		case $argument in
		-D__ASSEMBLY__ | -E | -S) return 1 ;;
		*/compiler_types.h) kernel=yes ;;
		*.c) source=$argument names=${argument%.c}.names.h ;;
		*.o) object=$argument ;;
		esac
	done
	[ "${kernel-}" ] && [ "${source-}" ] && [ "${object-}" ] || return 1
	awk '/^#[ \t]*define[ \t]+pr_fmt/ { print "#undef pr_fmt"; next }
		/^#[ \t]*(define|undef)/ { early = 1 }
		/^#[ \t]*include/ && early { late = 1; exit }
		END { exit late }' "$source" >"$names" || return 1
	for argument; do
		[ "${rest-}" ] || set --
		rest=yes
		case $argument in
		-c | -o | "$object" | "$source" | -include | */compiler-version.h | */kconfig.h | */compiler_types.h) ;;
		-D*KBUILD_*=* | -Dpr_fmt*=*) argument=${argument#-D}
			printf '#undef %s\n#define %s %s\n' "${argument%%[(=]*}" "${argument%%=*}" "${argument#*=}" >>"$names" ;;
		*) set -- "$@" "$argument" ;;
		esac
	done
	[ -e $headers.gch ] || gcc "$@" -x c-header -o "$headers.gch" $headers || return 1
	gcc -Winvalid-pch -Werror=invalid-pch -include $headers -include "$names" "$@" -c -o "$object" "$source"
}

with_precompiled "$@" || exec gcc "$@"
