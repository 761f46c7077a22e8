// SPDX-License-Identifier: GPL-2.0
/* The receiving ends of flows. They count bytes and reply to requests. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"
#include "web.h"

#define DELIVERY_NS (60 * NS_PER_S)	/* a connection that cannot deliver in this time is dead */
#define SINK (1 << 26)		/* bytes, more than a socket holds: one system call reads everything */

struct receiver {
	struct watcher listening, receiving;
	int flow, listener, fd;	/* -1: not open */
	enum kind kind;
	int in_kernel;		/* the kernel reads */
	size_t size;		/* of a request, bytes */
	size_t mean;		/* web: of all requests */
	uint64_t sizes;		/* web: state of the random sequence of sizes */
	size_t pending;		/* received of this request, bytes */
	int parts;		/* this request is being received in parts */
	double bytes;		/* received by the application */
	int64_t end_ns;
	int ended, over;
	int broken;		/* the kernel's reads have ended with an error */
};

static struct receiver receivers[MAX_FLOWS];
static int count;
static char sink[SINK];		/* never written: with MSG_TRUNC the kernel counts the bytes and drops them */

static void receiver_close(struct receiver *r)
{
	close(r->fd);
	r->fd = -1;
	r->over = 1;
	wake();
}

/* Record that the sender has closed and everything has been read. */
static void receiver_record_delivered(struct receiver *r)
{
	const struct received_row row = { .flow = r->flow, .bytes = r->bytes };

	record(RECEIVED, &row, sizeof(row));
}

/* Have the kernel wake the receiver only when so many bytes have arrived. */
static void receiver_set_low_water(struct receiver *r, int bytes)
{
	if (setsockopt(r->fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)))
		die("SO_RCVLOWAT");
}

static int receiver_replies(const struct receiver *r)
{
	return r->kind == REQUEST || r->kind == WEB;
}

static void receiver_count_request(struct receiver *r, size_t bytes)
{
	r->pending += bytes;
	if (r->pending < r->size) {
		/* the kernel wakes the receiver early when its buffer runs short */
		receiver_set_low_water(r, r->size - r->pending);
		r->parts = 1;
		return;
	}
	/* the next request comes after the reply, so the whole request has been read and nothing else */
	r->pending = 0;
	if (r->kind == WEB)
		r->size = web_size(&r->sizes, r->mean);
	if (r->parts || r->kind == WEB)
		receiver_set_low_water(r, r->size);
	r->parts = 0;
	if (send(r->fd, sink, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
		die("reply");
}

/* Take the socket back from the kernel. */
static void receiver_stop_kernel(struct receiver *r)
{
	struct served served = kernel_stop(r->fd);

	r->in_kernel = 0;
	r->bytes = served.bytes;
	r->broken = served.error;
	r->pending = served.left ? r->size - served.left : 0;
	r->parts = r->pending != 0;
}

static void receiver_read(struct receiver *r)
{
	ssize_t n = r->broken ? -1 : recv(r->fd, sink, sizeof(sink), MSG_TRUNC | MSG_DONTWAIT);

	if (n < 0 && !r->broken && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		r->bytes += n;
		if (receiver_replies(r))
			receiver_count_request(r, n);
		return;
	}
	if (!n && !ends_with_reset)
		receiver_record_delivered(r);
	receiver_close(r);
}

static void receiver_ready(struct watcher *watcher, uint32_t events)
{
	struct receiver *r = (void *)((char *)watcher - offsetof(struct receiver, receiving));

	(void)events;
	if (r->in_kernel)
		receiver_stop_kernel(r);	/* only a connection that ends has events here */
	if (r->fd >= 0)
		receiver_read(r);
	if (r->fd < 0 && !r->ended)
		kernel_sample_receiver(r - receivers, -1, r->bytes);
}

static void receiver_accept(struct watcher *watcher, uint32_t events)
{
	struct receiver *r = (void *)((char *)watcher - offsetof(struct receiver, listening));
	struct linger reset = { .l_onoff = 1 };

	(void)events;
	r->fd = accept4(r->listener, NULL, NULL, SOCK_NONBLOCK);
	if (r->fd < 0)
		return;
	/* a reset leaves no connection behind that would repeat its FIN during the next run */
	if (setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)))
		die("SO_LINGER");
	if (r->kind == WEB)
		receiver_set_low_water(r, r->size);
	r->in_kernel = kernel_receive(r->fd, r->kind, r->size);
	if (!r->ended)
		kernel_sample_receiver(r - receivers, r->fd, 0);
	watch(r->fd, r->in_kernel ? EPOLLRDHUP : EPOLLIN, &r->receiving);
}

static void receiver_record_sample(const struct receiver *r, int64_t at_ns, double bytes)
{
	const struct receiver_row row = { .flow = r->flow, .t_s = at_ns / 1e9, .bytes = bytes };

	record(RECEIVER, &row, sizeof(row));
}

void receiver_sampled(int receiver, int64_t at_ns, uint64_t bytes)
{
	receiver_record_sample(&receivers[receiver], at_ns, bytes);
}

static void receiver_sample(struct receiver *r, int64_t now)
{
	int unread = 0;

	/* bytes below the low-water mark count as arrived; a request is read when it is whole */
	if (r->fd >= 0 && receiver_replies(r) && ioctl(r->fd, FIONREAD, &unread))
		die("FIONREAD");
	if (r->in_kernel)
		r->bytes = kernel_count(r->fd).bytes;
	else if (r->fd >= 0 && !receiver_replies(r))
		receiver_read(r);
	receiver_record_sample(r, now, r->bytes + unread);
}

void receivers_sample(int64_t now)
{
	for (int i = 0; i < count; i++)
		if (!receivers[i].ended)
			receiver_sample(&receivers[i], now);
}

void receiver_unconnected(int flow)
{
	const struct received_row row = { .flow = flow };

	for (int i = 0; i < count; i++)
		if (receivers[i].flow == flow)
			receivers[i].over = 1;
	record(RECEIVED, &row, sizeof(row));
	wake();
}

int receivers_step(int64_t now)
{
	int going = 0;

	for (int i = 0; i < count; i++) {
		struct receiver *r = &receivers[i];

		if (!r->ended && now >= r->end_ns) {
			kernel_drop_receiver(r - receivers);
			receiver_sample(r, now);
			r->ended = 1;
		}
		if (!ends_with_reset && !r->over && now >= r->end_ns + DELIVERY_NS)
			fail("flow %d did not deliver what it had sent", r->flow);
		going |= ends_with_reset ? !r->ended : !r->over;
	}
	return going;
}

void receiver_add(const char *text)
{
	struct receiver *r = &receivers[count++];
	struct sockaddr_in address = { .sin_family = AF_INET };
	char kind[16], namespace[64];
	long long end_us;
	int low_water, buffer, fields;

	if (count > MAX_FLOWS)
		bad(text);
	*r = (struct receiver){};
	fields = sscanf(text, "receive,%d,%63[^,],%15[^,],%zu,%d,%d,%lld,%" SCNu64, &r->flow, namespace, kind, &r->size,
			&low_water, &buffer, &end_us, &r->sizes);
	if (fields < 7)
		bad(text);
	r->kind = parse_kind(kind);
	if (fields != (r->kind == WEB ? 8 : 7))
		bad(text);
	if (r->kind == WEB) {
		r->mean = r->size;
		r->size = web_size(&r->sizes, r->mean);
	}
	r->end_ns = end_us * NS_PER_US;
	r->fd = -1;
	r->listening.ready = receiver_accept;
	r->receiving.ready = receiver_ready;
	address.sin_port = htons(FIRST_PORT + r->flow);
	r->listener = tcp_socket_in(namespace);
	if ((low_water && setsockopt(r->listener, SOL_SOCKET, SO_RCVLOWAT, &low_water, sizeof(low_water))) ||
	    (buffer && setsockopt(r->listener, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer))) ||
	    bind(r->listener, (void *)&address, sizeof(address)) || listen(r->listener, 4))
		die("listen");
	watch(r->listener, EPOLLIN, &r->listening);
	kernel_sample_receiver(r - receivers, -1, 0);
	wake_at(r->end_ns);
	if (!ends_with_reset)
		wake_at(r->end_ns + DELIVERY_NS);
}

void receivers_forget(void)
{
	count = 0;
}
