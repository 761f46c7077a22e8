// SPDX-License-Identifier: GPL-2.0
/* Sockets in the namespaces of Mininet's hosts: one process can carry the traffic of all of them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"

int socket_in(const char *namespace)
{
	int one = 1, fd;

	if (strcmp(namespace, "-")) {
		int place = open(namespace, O_RDONLY | O_CLOEXEC);

		if (place < 0 || setns(place, CLONE_NEWNET))
			die(namespace);
		close(place);
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die("socket");
	return fd;
}
