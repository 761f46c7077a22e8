#!/bin/sh
# The lab's first program. The root is the host's file system, read-only; what must be written is tmpfs.
# The kernel finds it through /proc/self/cwd of the host process, so that its command line contains no path.
# The script must find its folder, and that of the modules, before the guest's /proc covers the host's.
here=$(readlink /proc/self/cwd)
modules=$(readlink /proc/self/fd/4)
root=$(readlink -f "$here/../../..")
cd "$root"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t devtmpfs dev /dev
mkdir /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
[ ! -d /sys/kernel/tracing ] || mount -t tracefs tracefs /sys/kernel/tracing
# a checkout in a folder that is now covered, such as /tmp, is mounted again at its old place
mkdir -p "$root"
mount --no-canonicalize --bind . "$root"
cd /
# mnexec closes every descriptor up to the soft limit, one by one, for every node
ulimit -Sn 256
ip link set lo up
# Pages for all of TCP: the value of a stock machine with 8 GB. The kernel's default follows from the lab's memory, and runs
# with many flows came so near to it that the rest of the previous run in the accounts mattered.
echo 98304 131072 196608 >/proc/sys/net/ipv4/tcp_mem
# Periodic work of the kernel would come at a different moment of each run, and its clock reads would delay events that are
# due then. Neighbours are permanent here, so their checks can wait for a month.
for every in base_reachable_time_ms interval_probe_time_ms; do
	echo 2000000000 >/proc/sys/net/ipv4/neigh/default/$every
done
insmod "$modules/tcp_ndm_gym.ko"
insmod "$modules/lab_gate.ko"
insmod "$modules/sch_linktrace.ko"
exec /usr/bin/python3 -I -S "$here/agent.py" virtual /dev/lab_gate
