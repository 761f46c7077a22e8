#!/bin/sh
# kernel/install.sh install|uninstall [KDIR]: install tcp_ndm with DKMS, for the running kernel or that of KDIR
# kernel/install.sh sources FOLDER: write only the files for /usr/src, without dkms and root (for packages)
#
# install first builds for every kernel that has tcp_ndm, then replaces all installed versions.
# DESTDIR: install into this folder (for packages and tests); the host's files and loaded modules do not change.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
name=ndm-tcp module=tcp_ndm
version=$(cat "$here/VERSION")
root=${DESTDIR:+$(mkdir -p "$DESTDIR" && cd "$DESTDIR" && pwd)}
dkms_tree=$root/var/lib/dkms source_tree=$root/usr/src install_tree=$root/lib/modules
range=$(sed -n 's/^BUILD_EXCLUSIVE_KERNEL="\(.*\)"$/\1/p' "$here/dkms.conf")
PATH=$PATH:/usr/sbin:/sbin # dkms, modprobe

die() { # LINE...
	printf '%s\n' "make ${action:-install}: $1" >&2
	shift
	[ $# -eq 0 ] || printf '  %s\n' "$@" >&2
	exit 1
}

run_dkms() { # ACTION ARGUMENT...
	what=$1
	shift
	if [ -n "$root" ]; then
		# otherwise DKMS would run depmod for the host and create a signing key in the host's folder
		[ "$what" = status ] || set -- "$@" --no-depmod
		set -- "$@" --dkmstree "$dkms_tree" --sourcetree "$source_tree" --installtree "$install_tree"
		mok_signing_key=$dkms_tree/mok.key mok_certificate=$dkms_tree/mok.pub dkms "$what" "$@"
	else
		dkms "$what" "$@"
	fi
}

# DKMS 2 prints "ndm-tcp, 1.0.0, KERNEL, ARCH: installed", DKMS 3 "ndm-tcp/1.0.0, KERNEL, ARCH: installed"
registered() { run_dkms status -m $name 2>"$work/log" | sed -n "s:^$name[/,] *\([^,\: ]*\).*:\1:p" | sort -u; }
kernels() { run_dkms status -m $name 2>"$work/log" | sed -n "s:^$name[/,] *[^,]*, *\([^, ]*\), [^\:]*\: installed.*:\1:p" | sort -u; }

needed() { # FILE: print it and the files that it includes from its folder or from kernel/
	echo "$1"
	sed -n 's/^#include "\(.*\)"$/\1/p' "$work/kernel/$1" | while read -r included; do
		[ ! -f "$work/kernel/$(dirname "$1")/$included" ] || included=$(dirname "$1")/$included
		needed "${included#./}"
	done
}

assemble() { # FOLDER: copy the files for /usr/src, with the selected model only
	"$here/sources.sh" "$work/kernel"
	objects=$(sed -n 's/^tcp_ndm-y := //p' "$here/Kbuild")
	for file in Kbuild VERSION $(for object in $objects; do needed "${object%.o}.c"; done | sort -u); do
		mkdir -p "$1/$(dirname "$file")"
		cp "$work/kernel/$file" "$1/$file"
	done
	sed "s/#MODULE_VERSION#/$version/" "$here/dkms.conf" >"$1/dkms.conf"
}

try_build() { # KDIR
	rm -rf "$work/build"
	cp -R "$work/source" "$work/build"
	make -s -C "$1" M="$work/build" NDM_ONLY=y modules >"$work/log" 2>&1 && return
	tail -n 20 "$work/log" >&2
	die "$module does not build for $1; nothing was changed"
}

remove_all() {
	for old in $(registered); do
		run_dkms remove -m $name -v "$old" --all >"$work/log" 2>&1 || { cat "$work/log" >&2; die "dkms remove failed"; }
		rm -rf "${source_tree:?}/$name-$old"
	done
}

install_modules() { # KDIR
	kdir=${1:-/lib/modules/$(uname -r)/build}
	if [ -z "$1" ]; then
		release=$(uname -r)
		[ -f "$kdir/Makefile" ] || die "the running kernel, $release, has no headers: $kdir is missing" \
			"Debian, Ubuntu: apt-get install linux-headers-$release" "another kernel: make install KDIR=/lib/modules/RELEASE/build"
	else
		release=$("$here/release.sh" "$kdir" 2>&1) || die "$release"
		kdir=$(cd "$kdir" && pwd)
	fi
	printf '%s\n' "$release" | grep -Eq "$range" || die "$module is for Linux 6.1 to 7.x, not $release"
	[ -n "$root" ] || [ -d "/lib/modules/$release" ] || die "/lib/modules/$release is missing: that kernel is not installed"

	assemble "$work/source"
	try_build "$kdir"
	others=
	for other in $(kernels); do
		[ "$other" != "$release" ] || continue
		if [ -f "/lib/modules/$other/build/Makefile" ]; then
			try_build "/lib/modules/$other/build"
			others="$others $other"
		else
			echo "the headers of $other are missing: its $module is removed"
		fi
	done

	remove_all
	mkdir -p "$dkms_tree" "$source_tree" "$install_tree/$release"
	cp -R "$work/source" "$source_tree/$name-$version"
	set -- add -m $name -v "$version"
	run_dkms "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "dkms add failed"; }
	for kernel in $release $others; do
		set -- install -m $name -v "$version" -k "$kernel"
		[ "$kernel" != "$release" ] || set -- "$@" --kernelsourcedir "$kdir"
		run_dkms "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "dkms install failed for $kernel"; }
		echo "$module $version is installed for $kernel"
	done
	[ -z "$root" ] || return 0
	if [ -d /sys/module/$module ]; then
		echo "the old $module is still loaded; replace it with: rmmod $module && modprobe $module"
	elif [ "$release" = "$(uname -r)" ]; then
		echo "load it with: modprobe $module"
	fi
}

uninstall_modules() {
	if [ -z "$(registered)" ]; then
		echo "$name is not installed: dkms status does not list it"
		return
	fi
	if [ -z "$root" ] && [ -d /sys/module/$module ] && ! rmmod $module 2>"$work/log"; then
		die "$module is in use, nothing was changed: $(cat "$work/log")" \
			"the default congestion control counts as a user: $(cat /proc/sys/net/ipv4/tcp_congestion_control)" \
			"list the connections that use it: ss -tiHO | grep -w ndm"
	fi
	remove_all
	echo "$name is uninstalled"
}

action=${1:-}
case $action in
install|uninstall) ;;
sources)
	work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
	assemble "${2:?usage: kernel/install.sh sources FOLDER}"
	exit;;
*) echo "usage: kernel/install.sh install|uninstall [KDIR], or sources FOLDER" >&2; exit 2;;
esac
! dpkg-query --admindir="$root/var/lib/dpkg" --search "/usr/src/$name-*/dkms.conf" >/dev/null 2>&1 ||
	die "$module is a package's, nothing was changed: apt remove $name-dkms"
[ "$(id -u)" -eq 0 ] || die "it needs root: sudo make $action${2:+ KDIR=$2}"
command -v dkms >/dev/null || die "dkms is missing: install the package dkms" \
	"without it: make module KDIR=... and insmod, see docs/guides/install-on-a-server.md"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
case $action in
install) install_modules "${2:-}";;
uninstall) uninstall_modules;;
esac
