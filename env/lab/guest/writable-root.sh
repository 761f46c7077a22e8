#!/bin/sh
# Runs a program in a file system that it may change, with /usr/bin/unshare --mount around it:
#
#     writable-root.sh LAYER FOLDER... -- PROGRAM [ARGUMENT]...
#
# The root is the host's, read-only, under an overlay whose changes go to LAYER/upper. /tmp and /run are empty, except for
# the FOLDERs there: the first one is where the program starts. It stops itself when all is ready; SIGCONT starts the
# program.
layer=$1 folders=
shift
while [ "$1" != -- ]; do
	folders="$folders$1
"
	shift
done
shift
set -e
mkdir -p "$layer/upper" "$layer/work" "$layer/all" "$layer/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" "$layer/all"
mount --bind "$layer/all" "$layer/root"
here=${folders%%
*}
programs=$(dirname "$0")/programs
cd "$layer/root"
mount --rbind /proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs tmp
chmod 1777 tmp
mount -t tmpfs tmpfs run
echo "$folders" | sort -u | while read -r folder; do
	case $folder in /tmp | /tmp/* | /run | /run/*)
		mkdir -p "./$folder"
		mount --bind "$layer/all/$folder" "./$folder"
		;;
	esac
done
# Mininet's CPULimitedHost needs version 1 of cgroups, which the lab kernel and newer stock kernels do not have
if grep -qs ^cpuset /proc/cgroups; then
	mount -t tmpfs cgroup sys/fs/cgroup
	for controller in cpu cpuacct cpuset; do
		mkdir "sys/fs/cgroup/$controller"
		mount -t cgroup -o "$controller" cgroup "sys/fs/cgroup/$controller" 2>/dev/null || rmdir "sys/fs/cgroup/$controller"
	done
fi
# a lab kernel has all of its modules built in, a stock kernel's are in a folder of the host
if [ -n "$lab_kernel" ]; then
	mount --bind "$lab_kernel/lib/modules/$(uname -r)" "lib/modules/$(uname -r)"
elif command -v depmod >/dev/null; then
	depmod -b . "$(uname -r)" 2>/dev/null
fi
# the host's file system does not show capabilities of programs
(cd usr/bin && chmod -f u+s ping arping clockdiff dumpcap mtr-packet) || :
echo lab >/proc/sys/kernel/hostname
echo 127.0.1.1 lab >>etc/hosts
# Open vSwitch's programs make their sockets there, the first one that starts too
mkdir -p run/lab run/old run/openvswitch
cp "$programs"/* run/lab
# Mininet's class Controller calls this name; Debian's controller has another one
if ! command -v controller >/dev/null && command -v ovs-testcontroller >/dev/null; then
	ln -s "$(command -v ovs-testcontroller)" run/lab/controller
fi
pivot_root . run/old
cd /
umount -l /run/old
rmdir /run/old
cd "$here"
kill -STOP $$
exec "$@"
