#!/bin/sh
# The lab's first program. The root is the host's file system, read-only; what must be written is tmpfs.
# It was found through /proc/self/cwd of the host's process, so that the kernel's command line holds no path.
# Its own folder, and that of the modules, must be known before the guest's /proc covers the host's.
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
# a checkout in a folder that is covered now, such as /tmp, is seen again where it was
mkdir -p "$root"
mount --no-canonicalize --bind . "$root"
cd /
# mnexec closes every descriptor up to the soft limit, one by one, for every node
ulimit -Sn 256
ip link set lo up
# Pages for all of TCP, what a stock machine with 8 GB has. The kernel made it of the lab's memory, and a run with many flows
# came so near to it that what the run before it had left in the accounts decided.
echo 98304 131072 196608 >/proc/sys/net/ipv4/tcp_mem
# What the kernel does from time to time would come at another moment of each run, and delay what is due just then by what
# its clock reads take: neighbours, all of them permanent, are looked after in a month.
for every in base_reachable_time_ms interval_probe_time_ms; do
	echo 2000000000 >/proc/sys/net/ipv4/neigh/default/$every
done
insmod "$modules/tcp_ndm_gym.ko"
insmod "$modules/lab_gate.ko"
insmod "$modules/sch_linktrace.ko"
exec /usr/bin/python3 -I -S "$here/agent.py" virtual /dev/lab_gate
