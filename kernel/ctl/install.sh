#!/bin/sh
# kernel/ctl/install.sh install|uninstall: install what `make bpf` has built, with shipped models, man page and systemd unit
#
# DESTDIR: install below this folder (for packages, and to copy it to another machine); nothing is unloaded then.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build models=${NDM_MODEL_BUILD:-$root/build}
target=${DESTDIR:-}
ndmctl=/usr/sbin/ndmctl

installed_files() { # MODE DESTINATION SOURCE, one file a line; all but those of /usr/lib/ndm
	echo "755 $ndmctl $build/ndmctl"
	echo "644 /usr/share/man/man8/ndmctl.8 $here/ndmctl.8"
	echo "644 /usr/share/bash-completion/completions/ndmctl $here/ndmctl.bash"
	echo "644 /usr/lib/systemd/system/ndm.service $here/ndm.service"
}

if dpkg-query --admindir="$target/var/lib/dpkg" --search $ndmctl >/dev/null 2>&1; then
	echo "kernel/ctl/install.sh: $target$ndmctl is a package's, nothing was changed: apt remove ndm-tcp" >&2
	exit 1
fi
case ${1:-} in
install)
	installed_files | while read -r mode destination source; do
		install -D -m "$mode" "$source" "$target$destination"
	done
	install -D -m 644 "$models/bpf/ndm.bpf.o" "$target/usr/lib/ndm/ndm.bpf.o"
	for model in "$root"/datasets/models/*/policy.bin; do
		install -D -m 644 "$model" "$target/usr/lib/ndm/models/$(basename "$(dirname "$model")").bin"
	done;;
uninstall)
	if [ -z "$target" ] && [ -x $ndmctl ]; then
		systemctl disable --now ndm 2>/dev/null || ! $ndmctl status >/dev/null 2>&1 || $ndmctl unload
	fi
	rm -rf "$target/usr/lib/ndm"
	installed_files | while read -r _ destination _; do rm -f "$target$destination"; done;;
*) echo "usage: kernel/ctl/install.sh install|uninstall" >&2; exit 2;;
esac
