// SPDX-License-Identifier: GPL-2.0
/* ndmctl doctor: what NDM needs of this machine, for whoever helps. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ctl.h"

#define BPF_FS_MAGIC 0xcafe4a11

static void say(bool good, const char *what, const char *otherwise)
{
	printf("%-8s %s%s%s\n", good ? "ok" : "MISSING", what, good ? "" : ": ", good ? "" : otherwise);
}

/* The first line of a file; empty if it cannot be read. */
static const char *line_of(const char *file)
{
	static char line[4096];
	FILE *stream = fopen(file, "r");

	line[0] = 0;
	if (stream) {
		if (!fgets(line, sizeof(line), stream))
			line[0] = 0;
		fclose(stream);
	}
	line[strcspn(line, "\n")] = 0;
	return line;
}

static bool has_capability(int number)
{
	unsigned long long effective = 0;
	char line[256];
	FILE *stream = fopen("/proc/self/status", "r");

	while (stream && fgets(line, sizeof(line), stream))
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	if (stream)
		fclose(stream);
	return effective >> number & 1;
}

void doctor(const char *object)
{
	struct utsname kernel;
	struct statfs mounted;
	const char *lockdown;
	int major = 0, minor = 0;
	bool found;

	uname(&kernel);
	sscanf(kernel.release, "%d.%d", &major, &minor);
	printf("kernel   %s %s %s\n", kernel.release, kernel.version, kernel.machine);
	say(major > 6 || (major == 6 && minor >= 1), "Linux 6.1 or newer", "this one is older");
	say(!access("/sys/kernel/btf/vmlinux", F_OK), "the kernel's types (BTF)",
	    "built without CONFIG_DEBUG_INFO_BTF: use the module");
	say(!statfs("/sys/fs/bpf", &mounted) && (unsigned int)mounted.f_type == BPF_FS_MAGIC,
	    "a file system for BPF", "mount -t bpf bpf /sys/fs/bpf");
	say(has_capability(CAP_BPF), "CAP_BPF", "run it as root");
	say(has_capability(CAP_PERFMON), "CAP_PERFMON", "run it as root");
	say(has_capability(CAP_NET_ADMIN), "CAP_NET_ADMIN", "run it as root");
	lockdown = line_of("/sys/kernel/security/lockdown");
	say(!strstr(lockdown, "[confidentiality]"), "no lockdown for confidentiality",
	    "the kernel lets no BPF program read its memory");
	found = !access(object, R_OK);
	say(found, object, found ? "" : strerror(errno));
	printf("lockdown %s\n", *lockdown ? lockdown : "unknown (no securityfs)");
	printf("loaded   %s\n", geteuid() ? "unknown: run it as root" : bpf_way.loaded() ? "BPF program" :
				module_way.loaded() ? "module tcp_ndm" : "nothing");
	printf("choice   %s\n", line_of("/proc/sys/net/ipv4/tcp_available_congestion_control"));
	printf("default  %s\n", line_of("/proc/sys/net/ipv4/tcp_congestion_control"));
	printf("qdisc    %s\n", line_of("/proc/sys/net/core/default_qdisc"));
}
