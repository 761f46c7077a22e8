// SPDX-License-Identifier: GPL-2.0
/* Opens sockets in the network namespaces of Mininet's hosts, so that one process carries the traffic of all hosts. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"

static int netns_open(const char *namespace)
{
	int fd = open(namespace, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die(namespace);
	return fd;
}

static void netns_enter(int netns)
{
	if (setns(netns, CLONE_NEWNET))
		die("setns");
	close(netns);
}

int socket_in(const char *namespace, int domain, int type, int protocol)
{
	int is_other = strcmp(namespace, "-"), previous, fd;

	if (is_other) {
		previous = netns_open("/proc/self/ns/net");
		netns_enter(netns_open(namespace));
	}
	fd = socket(domain, type | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		die("socket");
	if (is_other)
		netns_enter(previous);
	return fd;
}

int tcp_socket_in(const char *namespace)
{
	int one = 1, fd = socket_in(namespace, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die("SO_REUSEADDR");
	return fd;
}
