// SPDX-License-Identifier: GPL-2.0
/* The TCP connections of this network namespace, from the kernel's sock_diag, as `ss -ti` has them. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl.h"

#define ESTABLISHED 1

static int ask(int family)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} message = {
		.header = {
			.nlmsg_len = sizeof(message),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.request = {
			.sdiag_family = family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1),
			.idiag_states = 1 << ESTABLISHED,
		},
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0 || send(fd, &message, sizeof(message), 0) < 0)
		fail("the kernel does not show its connections: %s", strerror(errno));
	return fd;
}

/* Fills @one from the kernel's answer. */
static void read_connection(const struct nlmsghdr *header, struct connection *one)
{
	const struct inet_diag_msg *message = NLMSG_DATA(header);
	int length = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
	const struct rtattr *attribute = (const struct rtattr *)(message + 1);
	struct tcp_info info = {};
	char address[INET6_ADDRSTRLEN];
	size_t size;

	memset(one, 0, sizeof(*one));
	one->cookie = message->id.idiag_cookie[0] |
		      (unsigned long long)message->id.idiag_cookie[1] << 32;
	inet_ntop(message->idiag_family, message->id.idiag_dst, address, sizeof(address));
	snprintf(one->peer, sizeof(one->peer), strchr(address, ':') ? "[%s]:%u" : "%s:%u", address,
		 ntohs(message->id.idiag_dport));
	for (; RTA_OK(attribute, length); attribute = RTA_NEXT(attribute, length)) {
		size = RTA_PAYLOAD(attribute);
		if (attribute->rta_type == INET_DIAG_CONG)
			snprintf(one->control, sizeof(one->control), "%.*s", (int)size,
				 (const char *)RTA_DATA(attribute));
		else if (attribute->rta_type == INET_DIAG_INFO)
			memcpy(&info, RTA_DATA(attribute), size < sizeof(info) ? size : sizeof(info));
	}
	one->acked = info.tcpi_bytes_acked;
	one->rtt_us = info.tcpi_rtt;
	one->min_rtt_us = info.tcpi_min_rtt;
	one->cwnd = info.tcpi_snd_cwnd;
	one->retransmits = info.tcpi_total_retrans;
}

static int read_family(int family, struct connection *list, int count, int most)
{
	static char buffer[1 << 16];
	const struct nlmsghdr *header;
	int fd = ask(family), length;

	while ((length = recv(fd, buffer, sizeof(buffer), 0)) > 0)
		for (header = (void *)buffer; NLMSG_OK(header, length);
		     header = NLMSG_NEXT(header, length)) {
			if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) {
				close(fd);
				return count;
			}
			if (count < most)
				read_connection(header, &list[count++]);
		}
	close(fd);
	return count;
}

int connections(struct connection *list, int most)
{
	int count = read_family(AF_INET, list, 0, most);

	return read_family(AF_INET6, list, count, most);
}
