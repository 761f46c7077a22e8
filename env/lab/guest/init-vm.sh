#!/bin/sh
# The VM lab's first program once the root is the host's file system, read-only; what must be written is tmpfs.
# From the kernel's command line: lab_root, the checkout; lab_kernel, the folder with the kernel's lib/modules;
# lab_clock, the kind of its clock; lab_burst_us, a bottleneck's burst where it differs from that clock's.
cd "$lab_root" && exec 8<"$lab_kernel" || exit 1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tracefs tracefs /sys/kernel/tracing
# a checkout or a cache in a folder that is now covered, such as /tmp, is mounted again at its old place
mkdir -p "$lab_root" "$lab_kernel"
mount --no-canonicalize --bind . "$lab_root"
mount --no-canonicalize --bind /proc/self/fd/8 "$lab_kernel"
exec 8<&-
cd /
# the kernel loads its own modules, such as a qdisc's, with this program
printf '#!/bin/sh\nexec /sbin/modprobe -d "%s" "$@"\n' "$lab_kernel" >/run/modprobe
chmod +x /run/modprobe
echo /run/modprobe >/proc/sys/kernel/modprobe
# mnexec closes every descriptor up to the soft limit, one by one, for every node
ulimit -Sn 256
ip link set lo up
# a panic ends the VM at once
echo -1 >/proc/sys/kernel/panic
for port in /sys/class/virtio-ports/*; do
	[ "$(cat "$port/name")" != ndm.lab ] || device=/dev/${port##*/}
done
/usr/bin/python3 -I -S "$lab_root/env/lab/guest/agent.py" "$lab_clock" "$device" ${lab_burst_us:-}
# the host has closed the channel: power off
echo o >/proc/sysrq-trigger
while :; do read -r nothing; done
