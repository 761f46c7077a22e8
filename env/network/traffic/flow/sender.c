// SPDX-License-Identifier: GPL-2.0
/* The sending ends of flows: bulk data, writes of a fixed size, requests. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "flow.h"
#include "histogram.h"
#include "lab_traffic.h"
#include "web.h"

#define CHUNK (1 << 18)
#define PIECE (1 << 16)		/* bytes; requests and writes repeat this one piece of memory */
#define PIECES 1024		/* IOV_MAX */
#define CROWD 100		/* flows; more of them share the memory of so many: CROWD_ROOM bytes that wait to be sent */
#define CROWD_ROOM (200 << 20)

enum state { WAITING, RUNNING, DELIVERING, OVER };

struct sender {
	struct watcher watcher, resuming;
	int flow, fd;
	char scheme[16];	/* TCP_CA_NAME_MAX */
	char namespace[64];
	struct in_addr address;
	enum kind kind;
	size_t size;		/* of a write or request, bytes */
	int64_t start_ns, end_ns;
	enum state state;
	int in_kernel;		/* the kernel writes */
	size_t left;		/* to write of this write or request, bytes */
	int expects_reply;
	int64_t began_ns;	/* of this write or request: when the previous one was over */
	struct histogram *latency;
	int64_t pause_ns;	/* after each reply; web: the mean */
	int timer, pausing;
	/* of web traffic */
	size_t mean;		/* of the requests' sizes, bytes */
	uint64_t sizes, pauses;	/* states of the random sequences of sizes and pauses */
};

static struct sender senders[MAX_FLOWS];
static int count;
static char chunk[CHUNK];

/*
 * The minimum RTT that the congestion control itself keeps, us; 0 where it reports none. TCP_INFO has the kernel's, a
 * minimum over five minutes; NV's covers seconds.
 */
static double sender_cc_min_rtt_us(const struct sender *s, const union tcp_cc_info *info, size_t length)
{
	/* BBRv3's information begins with BBR's */
	if (length >= sizeof(info->bbr))
		return info->bbr.bbr_min_rtt;
	/* DCTCP's information has the length of Vegas's, which other schemes use */
	if (length == sizeof(info->vegas) && strcmp(s->scheme, "dctcp"))
		return info->vegas.tcpv_minrtt < INT32_MAX ? info->vegas.tcpv_minrtt : 0;
	return 0;
}

static struct tcp_info sender_tcp_info(const struct sender *s)
{
	struct tcp_info info;
	socklen_t length = sizeof(info);

	if (getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &length))
		die("TCP_INFO");
	return info;
}

static void sender_record_sample(const struct sender *s, int64_t at_ns, const struct tcp_info *info, double cc_min_rtt_us)
{
	const struct sender_row row = {
		.flow = s->flow,
		.t_s = at_ns / 1e9,
		.cwnd = info->tcpi_snd_cwnd,
		.srtt_us = info->tcpi_rtt,
		.rttvar_us = info->tcpi_rttvar,
		.min_rtt_us = info->tcpi_min_rtt,
		.retransmits = info->tcpi_total_retrans,
		.bytes_acked = info->tcpi_bytes_acked,
		.unacked = info->tcpi_unacked,
		.lost = info->tcpi_lost,
		.ssthresh = info->tcpi_snd_ssthresh,
		.pacing_rate = info->tcpi_pacing_rate,
		.delivery_rate = info->tcpi_delivery_rate,
		.spurious = info->tcpi_dsack_dups,
		.sent_bytes = info->tcpi_bytes_sent - info->tcpi_bytes_retrans,
		.segments_sent = info->tcpi_data_segs_out,
		.cc_min_rtt_us = cc_min_rtt_us,
	};

	record(SENDER, &row, sizeof(row));
}

static void sender_sample(struct sender *s, int64_t now)
{
	struct tcp_info info = sender_tcp_info(s);
	union tcp_cc_info cc;
	socklen_t length = sizeof(cc);

	if (getsockopt(s->fd, IPPROTO_TCP, TCP_CC_INFO, &cc, &length))
		die("TCP_CC_INFO");
	sender_record_sample(s, now, &info, sender_cc_min_rtt_us(s, &cc, length));
}

void sender_sampled(int sender, int64_t at_ns, const struct lab_tcp *sample)
{
	const struct sender *s = &senders[sender];
	struct tcp_info info = {};

	/* the kernel's structure is longer or shorter than ours */
	memcpy(&info, sample->info, sample->length < sizeof(info) ? sample->length : sizeof(info));
	sender_record_sample(s, at_ns, &info,
			     sender_cc_min_rtt_us(s, (const union tcp_cc_info *)sample->cc, sample->cc_length));
}

void senders_sample(int64_t now)
{
	for (int i = 0; i < count; i++)
		if (senders[i].state == RUNNING)
			sender_sample(&senders[i], now);
}

/* End the program because of errno, unless the socket would block or the receiver, which may end first, has reset it. */
static void sender_check_errno(const char *what)
{
	if (errno && errno != EAGAIN && errno != EINTR && errno != EPIPE && errno != ECONNRESET)
		die(what);
}

/* Take the socket back from the kernel. */
static void sender_stop_kernel(struct sender *s)
{
	if (s->in_kernel) {
		s->in_kernel = 0;
		errno = kernel_stop(s->fd).error;
		sender_check_errno("send");
	}
}

static void sender_close(struct sender *s)
{
	sender_stop_kernel(s);
	close(s->fd);
	s->state = OVER;
	wake();
}

/* Record that the receiver has read everything and closed with a reset. */
static void sender_record_delivered(struct sender *s)
{
	struct tcp_info info = sender_tcp_info(s);
	const struct sent_row row = {
		.flow = s->flow,
		.sent_bytes = info.tcpi_bytes_sent - info.tcpi_bytes_retrans,
		.acked_bytes = info.tcpi_bytes_acked,
	};

	record(SENT, &row, sizeof(row));
	sender_close(s);
}

static void sender_write_bulk(struct sender *s)
{
	while (send(s->fd, chunk, sizeof(chunk), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	sender_check_errno("send");
}

/* Continue to write; return 1 when the write or request is complete. One system call fills the socket. */
static int sender_continue_write(struct sender *s)
{
	struct iovec pieces[PIECES];
	struct msghdr message = { .msg_iov = pieces };
	size_t length = 0;

	if (!s->left)
		s->left = s->size;
	while (length < s->left && message.msg_iovlen < PIECES) {
		size_t piece = s->left - length < PIECE ? s->left - length : PIECE;

		pieces[message.msg_iovlen++] = (struct iovec){ chunk, piece };
		length += piece;
	}

	ssize_t n = sendmsg(s->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		sender_check_errno("sendmsg");
	else
		s->left -= n;
	return !s->left;
}

/* Record the latency of a write or request that is over; the next one begins now. */
static void sender_record_latency(struct sender *s)
{
	int64_t now = now_ns();

	if (s->began_ns)
		histogram_add(s->latency, now - s->began_ns);
	s->began_ns = now;
}

void sender_latency(int sender, int64_t latency_ns)
{
	histogram_add(senders[sender].latency, latency_ns);
}

static void sender_write_stream(struct sender *s)
{
	while (sender_continue_write(s))
		sender_record_latency(s);
}

static void sender_begin_pause(struct sender *s)
{
	s->expects_reply = 0;
	s->pausing = 1;
	timer_set(s->timer, now_ns() + s->pause_ns * (s->kind == WEB ? web_exponential(&s->pauses) : 1));
}

static void sender_exchange_requests(struct sender *s)
{
	if (s->pausing)
		return;
	if (s->expects_reply) {
		char reply;
		ssize_t n = recv(s->fd, &reply, 1, MSG_DONTWAIT);

		if (n < 0)
			sender_check_errno("recv");
		if (n != 1)
			return;
		sender_record_latency(s);
		if (s->pause_ns) {
			sender_begin_pause(s);
			return;
		}
	}
	s->expects_reply = sender_continue_write(s);
}

/* End the pause and begin the next request. */
static void sender_end_pause(struct watcher *watcher, uint32_t events)
{
	struct sender *s = (void *)((char *)watcher - offsetof(struct sender, resuming));

	(void)events;
	if (s->state != RUNNING || !s->pausing)
		return;
	s->pausing = 0;
	if (s->kind == WEB)
		s->size = web_size(&s->sizes, s->mean);
	s->began_ns = now_ns();
	sender_exchange_requests(s);
}

static void sender_ready(struct watcher *watcher, uint32_t events)
{
	struct sender *s = (struct sender *)watcher;

	if (s->in_kernel) {
		sender_stop_kernel(s);	/* only a connection that is over has events here */
		return;
	}
	/* the connection is established */
	if (s->state == RUNNING && s->kind != BULK && !s->began_ns)
		sender_record_latency(s);
	if (s->state == RUNNING && s->kind == BULK)
		sender_write_bulk(s);
	else if (s->state == RUNNING && s->kind == STREAM)
		sender_write_stream(s);
	else if (s->state == RUNNING && (events & EPOLLIN || !s->expects_reply))
		sender_exchange_requests(s);
	else if (s->state == DELIVERING && events & (EPOLLHUP | EPOLLERR))
		sender_record_delivered(s);
}

static void sender_open(struct sender *s)
{
	struct sockaddr_in source = { .sin_family = AF_INET, .sin_port = htons(FIRST_SOURCE_PORT + s->flow) };
	struct sockaddr_in target = {
		.sin_family = AF_INET, .sin_port = htons(FIRST_PORT + s->flow), .sin_addr = s->address,
	};
	struct linger reset = { .l_onoff = 1 };
	uint32_t events = EPOLLET;
	int room = CROWD_ROOM / count;

	s->fd = tcp_socket_in(s->namespace);
	if (setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) ||
	    bind(s->fd, (void *)&source, sizeof(source)))
		die("bind");
	if (count > CROWD && setsockopt(s->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &room, sizeof(room)))
		die("TCP_NOTSENT_LOWAT");
	if (setsockopt(s->fd, IPPROTO_TCP, TCP_CONGESTION, s->scheme, strlen(s->scheme)))
		die(s->scheme);
	if (connect(s->fd, (void *)&target, sizeof(target)) && errno != EINPROGRESS)
		die("connect");
	s->state = RUNNING;
	s->in_kernel = !s->pause_ns && kernel_send(s->fd, s->kind, s - senders, s->size);
	kernel_sample_sender(s - senders, s->fd);
	if (!s->in_kernel)
		events |= EPOLLOUT | (s->kind == REQUEST || s->kind == WEB ? EPOLLIN : 0);
	watch(s->fd, events, &s->watcher);
}

/* The kernel repeats a SYN after 1 s and after 3 s. */
#define CONNECT_NS (3 * NS_PER_S)

/* End a flow whose SYNs were all lost. It has sent nothing, so its receiver has nothing to wait for. */
static void sender_end_unconnected(struct sender *s)
{
	const struct sent_row row = { .flow = s->flow };

	if (s->end_ns - s->start_ns > CONNECT_NS)
		fail("flow %d did not get a connection", s->flow);
	record(SENT, &row, sizeof(row));
	receiver_unconnected(s->flow);
	sender_close(s);
}

#define SYN_SENT 2		/* tcpi_state: TCP_SYN_SENT of the kernel */

static int sender_is_connected(const struct sender *s)
{
	return sender_tcp_info(s).tcpi_state != SYN_SENT;
}

static void sender_end(struct sender *s, int64_t now)
{
	kernel_drop_sender(s - senders);
	sender_sample(s, now);
	if (ends_with_reset) {
		sender_close(s);
		return;
	}
	if (!sender_is_connected(s)) {
		sender_end_unconnected(s);
		return;
	}
	s->state = DELIVERING;
	sender_stop_kernel(s);
	if (shutdown(s->fd, SHUT_WR))
		die("shutdown");
}

int senders_step(int64_t now)
{
	int going = 0;

	for (int i = 0; i < count; i++) {
		struct sender *s = &senders[i];

		if (s->state == WAITING && now >= s->start_ns)
			sender_open(s);
		if (s->state == RUNNING && now >= s->end_ns)
			sender_end(s, now);
		going |= s->state != OVER;
	}
	return going;
}

void senders_report(void)
{
	for (int i = 0; i < count; i++) {
		struct histogram *h = senders[i].latency;

		if (!h)
			continue;

		const struct latency_row row = {
			.flow = senders[i].flow,
			.count = h->count,
			.mean_us = h->count ? h->sum_ns / 1e3 / h->count : 0,
			.max_us = h->max_ns / 1e3,
		};

		record(LATENCY, &row, sizeof(row));
		for (unsigned int b = 0; b < HISTOGRAM_BUCKETS; b++) {
			double low = histogram_low(b);
			const struct buckets_row bucket = {
				.flow = senders[i].flow,
				.low_us = low / 1e3,
				.high_us = (low + histogram_width(b)) / 1e3,
				.count = h->buckets[b],
			};

			if (h->buckets[b])
				record(BUCKETS, &bucket, sizeof(bucket));
		}
	}
}

void sender_add(const char *text)
{
	struct sender *s = &senders[count++];
	char address[16], kind[16];
	long long start_us, end_us, pause_us = 0;
	int fields;

	if (count > MAX_FLOWS)
		bad(text);
	*s = (struct sender){};
	fields = sscanf(text, "send,%d,%63[^,],%15[^,],%15[^,],%15[^,],%zu,%lld,%lld,%" SCNu64 ",%lld", &s->flow,
			s->namespace, address, s->scheme, kind, &s->size, &start_us, &end_us, &s->sizes, &pause_us);
	if (fields < 8 || !inet_aton(address, &s->address))
		bad(text);
	s->watcher.ready = sender_ready;
	s->kind = parse_kind(kind);
	if (fields != 8 && (fields != 10 || (s->kind != WEB && s->kind != REQUEST) || pause_us <= 0))
		bad(text);
	if (s->kind == WEB && fields != 10)
		bad(text);
	if (fields == 10) {
		s->resuming.ready = sender_end_pause;
		s->timer = timer_add(&s->resuming);
		s->pause_ns = pause_us * NS_PER_US;
	}
	if (s->kind == WEB) {
		s->pauses = ~s->sizes;
		s->mean = s->size;
		s->size = s->mean ? web_size(&s->sizes, s->mean) : 0;
	}
	s->start_ns = start_us * NS_PER_US;
	s->end_ns = end_us * NS_PER_US;
	if (s->kind != BULK) {
		s->latency = calloc(1, sizeof(*s->latency));
		if (!s->latency || !s->size)
			bad(text);
	}
	wake_at(s->start_ns);
	wake_at(s->end_ns);
}

void senders_forget(void)
{
	while (count)
		free(senders[--count].latency);
}
