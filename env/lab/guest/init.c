// SPDX-License-Identifier: GPL-2.0
/*
 * The first program in the virtual lab: mounts what must be writable, loads the lab's modules, and becomes the agent.
 *
 * It is one static program because a process costs the lab as much as a thousand packets. The root is the host's file
 * system, read-only. The kernel finds the program through /proc/self/cwd of the host process, which is env/lab/guest of
 * the checkout, so that the kernel's command line contains no path.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* mnexec closes every descriptor up to the soft limit, one by one, for every node. */
#define INIT_DESCRIPTORS 256

static const char *const init_environment[] = {
	"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "TERM=dumb", NULL,
};

static const struct {
	const char *type, *folder;
} init_mounts[] = {
	{ "proc", "/proc" },
	{ "sysfs", "/sys" },
	{ "tmpfs", "/tmp" },
	{ "tmpfs", "/run" },
	{ "devtmpfs", "/dev" },
	{ "devpts", "/dev/pts" },
};

/* smaller: a smaller value, for kernels that refuse the first one; NULL: none */
static const struct {
	const char *file, *value, *smaller;
} init_sysctls[] = {
	/*
	 * Pages for all of TCP: the value of a stock machine with 8 GB. The kernel's default follows from the lab's memory, and
	 * runs with many flows came so near to it that the rest of the previous run in the accounts mattered.
	 */
	{ "/proc/sys/net/ipv4/tcp_mem", "98304 131072 196608", NULL },
	/*
	 * Periodic work of the kernel would come at a different moment of each run, and its clock reads would delay events that
	 * are due then. Neighbours are permanent here, so their checks can wait for a month, since Linux 7.3 for a day.
	 */
	{ "/proc/sys/net/ipv4/neigh/default/base_reachable_time_ms", "2000000000", NULL },
	{ "/proc/sys/net/ipv4/neigh/default/interval_probe_time_ms", "2000000000", "86400000" },
};

static const char *const init_modules[] = { "tcp_ndm_gym", "lab_gate", "lab_traffic", "sch_linktrace" };

/* Print what failed and end. The kernel then panics, and the host shows the console's last lines. */
static void init_die(const char *what)
{
	fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *init_format(char *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (vsnprintf(text, PATH_MAX, format, arguments) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		init_die(format);
	}
	va_end(arguments);
	return text;
}

static void init_read_link(const char *link, char *target)
{
	ssize_t length = readlink(link, target, PATH_MAX - 1);

	if (length < 0)
		init_die(link);
	target[length] = '\0';
}

static void init_make_folder(const char *folder)
{
	if (mkdir(folder, 0755) && errno != EEXIST)
		init_die(folder);
}

/* Make a folder and its parents, where they are missing. */
static void init_make_folders(const char *folder)
{
	char parent[PATH_MAX];

	for (const char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/'))
		init_make_folder(init_format(parent, "%.*s", (int)(slash - folder), folder));
	init_make_folder(folder);
}

static void init_mount(const char *type, const char *folder)
{
	init_make_folder(folder);
	if (mount(type, folder, type, 0, NULL))
		init_die(folder);
}

/* Show a folder of the host that the mounts may hide, by the name that its process has for it. */
static void init_show(const char *folder, const char *name)
{
	init_make_folders(folder);
	if (mount("none", folder, "hostfs", MS_RDONLY, name))
		init_die(folder);
}

static bool init_write(const char *file, const char *value)
{
	int fd = open(file, O_WRONLY);
	bool written;

	if (fd < 0)
		init_die(file);
	written = write(fd, value, strlen(value)) >= 0;
	close(fd);
	return written;
}

static void init_set(const char *file, const char *value, const char *smaller)
{
	if (!init_write(file, value) && !(errno == EINVAL && smaller && init_write(file, smaller)))
		init_die(file);
}

static void init_bring_up(const char *device)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = { 0 };

	strncpy(request.ifr_name, device, sizeof(request.ifr_name) - 1);
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request))
		init_die(device);
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		init_die(device);
	close(fd);
}

static void init_load_module(const char *file)
{
	int fd = open(file, O_RDONLY);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		init_die(file);
	close(fd);
}

int main(void)
{
	char here[PATH_MAX], root[PATH_MAX], build[PATH_MAX], file[PATH_MAX];
	struct rlimit descriptors;
	struct stat status;

	/* the folders must be found before the guest's /proc covers the host's */
	init_read_link("/proc/self/cwd", here);
	init_read_link("/proc/self/fd/5", build);
	if (!realpath(init_format(file, "%s/../../..", here), root) || chdir(root))
		init_die(here);

	for (size_t i = 0; i < sizeof(init_mounts) / sizeof(init_mounts[0]); i++)
		init_mount(init_mounts[i].type, init_mounts[i].folder);
	init_make_folder("/dev/shm");
	if (!stat("/sys/kernel/tracing", &status))
		init_mount("tracefs", "/sys/kernel/tracing");
	if (!stat("/sys/kernel/debug", &status))
		init_mount("debugfs", "/sys/kernel/debug");
	/* a checkout in a folder that is now covered, such as /tmp, is mounted again at its old place */
	if (stat(root, &status))
		init_make_folders(root);
	if (mount(".", root, NULL, MS_BIND, NULL) || chdir("/"))
		init_die(root);
	init_show("/run/modules", "/proc/self/fd/4");
	if (stat(build, &status))
		init_show(build, "/proc/self/fd/5");

	if (getrlimit(RLIMIT_NOFILE, &descriptors))
		init_die("RLIMIT_NOFILE");
	descriptors.rlim_cur = INIT_DESCRIPTORS;
	if (setrlimit(RLIMIT_NOFILE, &descriptors))
		init_die("RLIMIT_NOFILE");
	init_bring_up("lo");
	for (size_t i = 0; i < sizeof(init_sysctls) / sizeof(init_sysctls[0]); i++)
		init_set(init_sysctls[i].file, init_sysctls[i].value, init_sysctls[i].smaller);
	for (size_t i = 0; i < sizeof(init_modules) / sizeof(init_modules[0]); i++)
		init_load_module(init_format(file, "/run/modules/%s.ko", init_modules[i]));

	execle("/usr/bin/python3", "python3", "-I", "-S", init_format(file, "%s/agent.py", here), "virtual", "/dev/lab_gate",
	       NULL, init_environment);
	init_die("/usr/bin/python3");
}
