// SPDX-License-Identifier: GPL-2.0
/*
 * Samples the kernel's counters of the queues of a network's ports, over rtnetlink, so that a sample starts no process.
 *
 * A port's queue is the leaf of its qdiscs. A qdisc above the leaf counts the leaf's drops as its own: the difference is
 * what it dropped itself. netem is not a queue: what it drops was lost on the link. A policer's drops are counted at the
 * clsact hook. All counters start with the run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"

#define MAX_PORTS 64
#define MAX_QDISCS 16		/* of a port */
#define MAX_WAITING 64		/* unread answers in the socket, one for each leaf and sample */
#define ANSWER (1 << 16)	/* bytes; the kernel sends a dump in pieces of at most half of this */
#define MESSAGE (1 << 13)	/* bytes; more than the kernel's answer for one qdisc */
#define BUFFER (1 << 21)	/* of the socket, bytes; the kernel counts at most 16 KB for an answer */

/* Counters of a qdisc, or the sum of several. The kernel's counters have 32 bits, except that of the bytes. */
struct counters {
	uint64_t sent_bytes;
	uint32_t sent_packets, dropped, marked;
	uint32_t backlog_bytes, backlog_packets;
};

struct qdisc {
	uint32_t handle, parent;
	int is_netem, is_clsact;
	struct counters counters;
};

/* A port's counters: the sum over its leaves, and the packets that did not reach them. */
struct state {
	struct counters queue;
	uint32_t lost, policed;
};

struct port {
	int device;
	struct qdisc qdiscs[MAX_QDISCS];	/* from the dump that is being read */
	int count;
	struct state begin;
};

/* An rtnetlink request for one qdisc or for all. */
struct request {
	struct nlmsghdr header;
	struct tcmsg tc;
};

static struct port ports[MAX_PORTS];
static int port_count;
/* The requests of a sample. A dump of all qdiscs would cost more, and its pieces cannot wait in the socket. */
static struct request leaf_requests[MAX_WAITING];
static int leaf_count;
/* Of a sample by the kernel that is being read. */
static int read_leaves;
/* The times of the samples whose answers have not been read. */
static int64_t sample_times_ns[MAX_WAITING];
static int unread_samples;
static int netlink = -1;

/* Find an attribute among those in `length` bytes; NULL when it is missing. */
static const struct rtattr *queue_find_attribute(const struct rtattr *first, int length, int type)
{
	for (const struct rtattr *a = first; RTA_OK(a, length); a = RTA_NEXT(a, length))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

static const struct rtattr *queue_find_nested(const struct rtattr *nest, int type)
{
	return nest ? queue_find_attribute(RTA_DATA(nest), RTA_PAYLOAD(nest), type) : NULL;
}

/* Copy a kernel structure, which is longer in newer kernels and shorter in older ones. */
#define QUEUE_COPY(to, attribute) queue_copy(&(to), sizeof(to), attribute)
static void queue_copy(void *to, size_t size, const struct rtattr *attribute)
{
	memset(to, 0, size);
	if (attribute)
		memcpy(to, RTA_DATA(attribute), RTA_PAYLOAD(attribute) < size ? RTA_PAYLOAD(attribute) : size);
}

/* Return the number of packets that cake has marked in all its tins. */
static uint32_t queue_cake_marked(const struct rtattr *statistics)
{
	const struct rtattr *tins = queue_find_nested(statistics, TCA_CAKE_STATS_TIN_STATS);
	uint32_t sum = 0, marked;
	int length;

	if (!tins)
		return 0;
	length = RTA_PAYLOAD(tins);
	for (const struct rtattr *tin = RTA_DATA(tins); RTA_OK(tin, length); tin = RTA_NEXT(tin, length)) {
		QUEUE_COPY(marked, queue_find_nested(tin, TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS));
		sum += marked;
	}
	return sum;
}

static uint32_t queue_marked(const char *kind, const struct rtattr *statistics)
{
	struct tc_red_xstats red;
	struct tc_codel_xstats codel;
	struct tc_fq_codel_xstats fq_codel;

	if (!strcmp(kind, "red")) {
		QUEUE_COPY(red, statistics);
		return red.marked;
	}
	if (!strcmp(kind, "codel")) {
		QUEUE_COPY(codel, statistics);
		return codel.ecn_mark + codel.ce_mark;
	}
	if (!strcmp(kind, "fq_codel")) {
		QUEUE_COPY(fq_codel, statistics);
		return fq_codel.qdisc_stats.ecn_mark + fq_codel.qdisc_stats.ce_mark;
	}
	return strcmp(kind, "cake") ? 0 : queue_cake_marked(statistics);
}

static void queue_read_qdisc(const struct nlmsghdr *message)
{
	const struct tcmsg *tc = NLMSG_DATA(message);
	const struct rtattr *first = TCA_RTA(tc);
	int length = TCA_PAYLOAD(message);
	const struct rtattr *kind = queue_find_attribute(first, length, TCA_KIND);
	const struct rtattr *statistics = queue_find_attribute(first, length, TCA_STATS2);
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	struct port *port = ports;
	struct qdisc *q;

	while (port < ports + port_count && port->device != tc->tcm_ifindex)
		port++;
	if (port == ports + port_count || !kind || !statistics)
		return;
	if (port->count == MAX_QDISCS)
		fail("a port has more than %d qdiscs", MAX_QDISCS);
	q = &port->qdiscs[port->count++];
	QUEUE_COPY(basic, queue_find_nested(statistics, TCA_STATS_BASIC));
	QUEUE_COPY(queue, queue_find_nested(statistics, TCA_STATS_QUEUE));
	*q = (struct qdisc){
		.handle = tc->tcm_handle,
		.parent = tc->tcm_parent,
		.is_netem = !strcmp(RTA_DATA(kind), "netem"),
		.is_clsact = !strcmp(RTA_DATA(kind), "clsact"),
		.counters = {
			.sent_bytes = basic.bytes,
			.sent_packets = basic.packets,
			.dropped = queue.drops,
			.marked = queue_marked(RTA_DATA(kind), queue_find_nested(statistics, TCA_STATS_APP)),
			.backlog_bytes = queue.backlog,
			.backlog_packets = queue.qlen,
		},
	};
}

/* Read what the kernel has sent in one piece into the ports; 1 when it was the end of a dump. */
static int queue_read_messages(const char *answer, ssize_t length)
{
	for (const struct nlmsghdr *m = (const void *)answer; NLMSG_OK(m, length); m = NLMSG_NEXT(m, length)) {
		if (m->nlmsg_type == NLMSG_DONE)
			return 1;
		if (m->nlmsg_type == NLMSG_ERROR) {
			errno = -((const struct nlmsgerr *)NLMSG_DATA(m))->error;
			die("RTM_GETQDISC");
		}
		if (m->nlmsg_type == RTM_NEWQDISC)
			queue_read_qdisc(m);
	}
	return 0;
}

static void queue_clear_qdiscs(void)
{
	for (int i = 0; i < port_count; i++)
		ports[i].count = 0;
}

static void queue_request(const struct request *requests, size_t count)
{
	if (send(netlink, requests, count * sizeof(*requests), 0) < 0)
		die("RTM_GETQDISC");
}

/* Read all qdiscs of the namespace. */
static void queue_dump(void)
{
	static char answer[ANSWER];
	struct request dump = {
		.header = {
			.nlmsg_len = sizeof(dump),
			.nlmsg_type = RTM_GETQDISC,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
	};
	ssize_t length;

	queue_clear_qdiscs();
	queue_request(&dump, 1);
	do {
		length = recv(netlink, answer, sizeof(answer), 0);
		if (length < 0)
			die("RTM_GETQDISC");
	} while (!queue_read_messages(answer, length));
}

static int queue_is_child(const struct qdisc *child, const struct qdisc *parent)
{
	return child != parent && TC_H_MAJ(child->parent) == TC_H_MAJ(parent->handle);
}

static int queue_has_child(const struct port *port, const struct qdisc *parent)
{
	for (const struct qdisc *q = port->qdiscs; q < port->qdiscs + port->count; q++)
		if (queue_is_child(q, parent))
			return 1;
	return 0;
}

/* Return a port's state according to the qdiscs that were read last: all of them, or only its leaves. */
static struct state queue_port_state(const struct port *port)
{
	struct state state = {};

	for (const struct qdisc *q = port->qdiscs; q < port->qdiscs + port->count; q++) {
		uint32_t below = 0;

		for (const struct qdisc *c = port->qdiscs; c < port->qdiscs + port->count; c++)
			if (queue_is_child(c, q))
				below += c->counters.dropped;
		if (q->is_clsact) {
			state.policed += q->counters.dropped;
			continue;
		}
		if (q->is_netem)
			state.lost += q->counters.dropped - below;
		if (queue_has_child(port, q))
			continue;
		state.queue.sent_bytes += q->counters.sent_bytes;
		state.queue.sent_packets += q->counters.sent_packets;
		state.queue.dropped += q->is_netem ? 0 : q->counters.dropped;
		state.queue.marked += q->counters.marked;
		state.queue.backlog_bytes += q->counters.backlog_bytes;
		state.queue.backlog_packets += q->counters.backlog_packets;
	}
	return state;
}

static void queue_record_sample(int64_t at_ns)
{
	for (int i = 0; i < port_count; i++) {
		const struct counters *begin = &ports[i].begin.queue;
		struct counters count = queue_port_state(&ports[i]).queue;
		const struct queue_row row = {
			.t_s = at_ns / 1e9,
			.port = i,
			.backlog_bytes = count.backlog_bytes,
			.backlog_packets = count.backlog_packets,
			.sent_bytes = count.sent_bytes - begin->sent_bytes,
			/* 32 bits, which may wrap around */
			.sent_packets = (uint32_t)(count.sent_packets - begin->sent_packets),
			.dropped = (uint32_t)(count.dropped - begin->dropped),
			.marked = (uint32_t)(count.marked - begin->marked),
		};

		record(QUEUE, &row, sizeof(row));
	}
}

/* Read the answers that wait in the socket: all of them with one system call. */
static void queue_read_samples(void)
{
	static char room[MAX_WAITING][MESSAGE];
	struct iovec parts[MAX_WAITING];
	struct mmsghdr answers[MAX_WAITING] = {};
	int count = unread_samples * leaf_count;

	for (int i = 0; i < count; i++) {
		parts[i] = (struct iovec){ room[i], MESSAGE };
		answers[i].msg_hdr.msg_iov = &parts[i];
		answers[i].msg_hdr.msg_iovlen = 1;
	}
	if (count && recvmmsg(netlink, answers, count, 0, NULL) != count)
		die("recvmmsg");
	for (int i = 0; i < count; i++) {
		if (i % leaf_count == 0)
			queue_clear_qdiscs();
		queue_read_messages(room[i], answers[i].msg_len);
		if (i % leaf_count == leaf_count - 1)
			queue_record_sample(sample_times_ns[i / leaf_count]);
	}
	unread_samples = 0;
}

void queues_sampled(int64_t at_ns, const char *answer, size_t length)
{
	if (!read_leaves)
		queue_clear_qdiscs();
	queue_read_messages(answer, length);
	read_leaves = (read_leaves + 1) % leaf_count;
	if (!read_leaves)
		queue_record_sample(at_ns);
}

/* The kernel answers at once, and the answer waits in the socket. */
void queues_sample(int64_t now)
{
	if (netlink < 0)
		return;
	queue_request(leaf_requests, leaf_count);
	sample_times_ns[unread_samples++] = now;
	if ((unread_samples + 1) * leaf_count > MAX_WAITING)
		queue_read_samples();
}

void queues_report(void)
{
	if (netlink < 0)
		return;
	queue_read_samples();
	queue_dump();
	for (int i = 0; i < port_count; i++) {
		const struct state *begin = &ports[i].begin;
		struct state now = queue_port_state(&ports[i]);
		const struct ports_row row = {
			.port = i,
			.dropped = (uint32_t)(now.queue.dropped - begin->queue.dropped),
			.marked = (uint32_t)(now.queue.marked - begin->queue.marked),
			.lost = (uint32_t)(now.lost - begin->lost),
			.policed = (uint32_t)(now.policed - begin->policed),
		};

		record(PORTS, &row, sizeof(row));
	}
}

/* Have every sample request the leaves of a port. */
static void queue_add_leaf_requests(const struct port *port)
{
	for (const struct qdisc *q = port->qdiscs; q < port->qdiscs + port->count; q++) {
		if (q->is_clsact || queue_has_child(port, q))
			continue;
		if (leaf_count == MAX_WAITING)
			fail("there are more than %d queues", MAX_WAITING);
		/* the kernel answers this request only with NLM_F_ECHO */
		leaf_requests[leaf_count++] = (struct request){
			.header = {
				.nlmsg_len = sizeof(struct request),
				.nlmsg_type = RTM_GETQDISC,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO,
			},
			.tc = { .tcm_ifindex = port->device, .tcm_handle = q->handle },
		};
	}
}

/* Return the index of a device in the namespace of a socket. */
static int queue_device_index(const char *name, int socket)
{
	struct ifreq request = {};

	strncpy(request.ifr_name, name, IFNAMSIZ - 1);
	if (ioctl(socket, SIOCGIFINDEX, &request))
		die(name);
	return request.ifr_ifindex;
}

void queues_add(const char *text)
{
	char namespace[64], devices[MAX_PORTS * IFNAMSIZ], *rest = devices, *name;
	int inet, buffer = BUFFER;

	if (netlink >= 0 || sscanf(text, "queue,%63[^,],%1023s", namespace, devices) != 2)
		bad(text);
	netlink = socket_in(namespace, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	/* Without CAP_NET_ADMIN, which a lab has, the usual one stays. */
	if (setsockopt(netlink, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) && errno != EPERM)
		die("SO_RCVBUFFORCE");
	inet = socket_in(namespace, AF_INET, SOCK_DGRAM, 0);
	while ((name = strsep(&rest, ","))) {
		if (port_count == MAX_PORTS)
			bad(text);
		ports[port_count++].device = queue_device_index(name, inet);
	}
	close(inet);
	queue_dump();
	for (int i = 0; i < port_count; i++) {
		if (!ports[i].count)
			bad(text);
		ports[i].begin = queue_port_state(&ports[i]);
		queue_add_leaf_requests(&ports[i]);
	}
	kernel_sample_queues(netlink, leaf_requests, leaf_count * sizeof(*leaf_requests));
}

void queues_forget(void)
{
	port_count = leaf_count = read_leaves = unread_samples = 0;
	netlink = -1;
}
