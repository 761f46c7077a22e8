#!/bin/sh
# The host lab's first program, in namespaces of its own: init-host.sh ROOT FD, the checkout and the channel's descriptor.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 TERM=dumb
# /sys shows the network namespace in which it was mounted
mount --make-rprivate /
mount -t sysfs sys /sys
mount -t tracefs tracefs /sys/kernel/tracing
# mnexec closes every descriptor up to the soft limit, one by one, for every node
ulimit -Sn 256
ip link set lo up
exec /usr/bin/python3 -I -S "$1/env/lab/guest/agent.py" host "$2"
