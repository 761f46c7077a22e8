// SPDX-License-Identifier: GPL-2.0
/* Sockets in the network namespaces of Mininet's hosts, so that one process carries the traffic of all. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"

static int open_place(const char *namespace)
{
	int place = open(namespace, O_RDONLY | O_CLOEXEC);

	if (place < 0)
		die(namespace);
	return place;
}

static void enter(int place)
{
	if (setns(place, CLONE_NEWNET))
		die("setns");
	close(place);
}

int socket_in(const char *namespace, int domain, int type, int protocol)
{
	int elsewhere = strcmp(namespace, "-"), own, fd;

	if (elsewhere) {
		own = open_place("/proc/self/ns/net");
		enter(open_place(namespace));
	}
	fd = socket(domain, type | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		die("socket");
	if (elsewhere)
		enter(own);
	return fd;
}

int tcp_socket_in(const char *namespace)
{
	int one = 1, fd = socket_in(namespace, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die("SO_REUSEADDR");
	return fd;
}
