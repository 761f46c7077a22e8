// SPDX-License-Identifier: GPL-2.0
/* Opens sockets in the network namespaces of Mininet's hosts, so that one process carries the traffic of all hosts. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"

#define NAMESPACES 512
#define OWN "/proc/self/ns/net"

/* The namespaces that were used, which stay open; the first is the program's own. */
static struct {
	char name[64];
	int fd;
} namespaces[NAMESPACES];
static int count, current;

static void netns_open(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (count == NAMESPACES || strlen(name) >= sizeof(namespaces->name))
		fail("namespace %s: it is too long, or there are more than %d", name, NAMESPACES);
	if (fd < 0)
		die(name);
	strcpy(namespaces[count].name, name);
	namespaces[count].fd = fcntl(fd, F_DUPFD_CLOEXEC, NAMESPACE_FDS);
	if (namespaces[count++].fd < 0)
		die("dup");
	close(fd);
}

static int netns_find(const char *name)
{
	int i = 0;

	while (i < count && strcmp(namespaces[i].name, name))
		i++;
	if (i == count)
		netns_open(name);
	return i;
}

static void netns_enter(int i)
{
	if (i != current && setns(namespaces[i].fd, CLONE_NEWNET))
		die("setns");
	current = i;
}

int socket_in(const char *namespace, int domain, int type, int protocol)
{
	int fd;

	if (!count)
		netns_open(OWN);
	netns_enter(strcmp(namespace, "-") ? netns_find(namespace) : 0);
	fd = socket(domain, type | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		die("socket");
	return fd;
}

int tcp_socket_in(const char *namespace)
{
	int one = 1, fd = socket_in(namespace, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die("SO_REUSEADDR");
	return fd;
}
