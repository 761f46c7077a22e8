/* SPDX-License-Identifier: GPL-2.0 */
/*
 * flow: bulk TCP flows for virtual time.
 *
 *	flow receive ORIGIN_NS SAMPLE_MS LOW_WATER DURATION_MS FLOWS
 *	flow send ADDRESS ORIGIN_NS SAMPLE_MS FLOW...	FLOW: SCHEME,START_MS,DURATION_MS
 *
 * In the lab the CPU never runs out and the clock moves only when nothing is left to compute, so a program that
 * spins on the clock spins for ever: everything here waits in epoll. One process carries all flows of a side. Flow i
 * goes from port 40000 + i to port 5000 + i, so a run's addresses are the same every time. Times count from
 * ORIGIN_NS of CLOCK_MONOTONIC, the same for both sides.
 *
 * The receiver prints "ready\n" when it listens. Each side prints its samples when it ends (at the end of its last
 * flow, or on SIGTERM): records of doubles in native order, the flow's index first; see the column lists below and
 * in env/network/traffic.py. A sender's flow ends with a reset, so the ports are free at once.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MAX_FLOWS 256
#define CHUNK (1 << 18)
#define FIRST_PORT 5000
#define FIRST_SOURCE_PORT 40000
#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL

/* epoll tags below MAX_FLOWS are flows */
enum { TAG_LISTENER = MAX_FLOWS, TAG_TICK = 2 * MAX_FLOWS, TAG_SIGNAL, TAG_START };

struct flow {
	char scheme[16];	/* TCP_CA_NAME_MAX */
	int64_t start_ns, end_ns;
	int listener;
	int fd;			/* -1: not open yet, or closed */
	int done;
	double bytes;		/* received by the application */
};

static struct flow flows[MAX_FLOWS];
static int flow_count, poller, ticker;
static int64_t origin_ns;
static char chunk[CHUNK];
static double *samples;
static size_t sample_count, sample_room;

static void die(const char *what)
{
	fprintf(stderr, "flow: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec - origin_ns;
}

static void watch(int fd, uint32_t events, uint32_t tag)
{
	struct epoll_event event = { .events = events, .data.u32 = tag };

	if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

/* A timer on the run's clock; interval_ns 0: once. Returns its descriptor. */
static int watch_timer(int64_t at_ns, int64_t interval_ns, uint32_t tag)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	int64_t at = origin_ns + at_ns;
	struct itimerspec spec = {
		.it_value = { at / NS_PER_S, at % NS_PER_S },
		.it_interval = { interval_ns / NS_PER_S, interval_ns % NS_PER_S },
	};

	if (timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL))
		die("timerfd");
	watch(timer, EPOLLIN | EPOLLET, tag);
	return timer;
}

static void record(const double *row, size_t columns)
{
	if (sample_count + columns > sample_room) {
		sample_room = sample_room ? 2 * sample_room : 1 << 16;
		samples = realloc(samples, sample_room * sizeof(*samples));
		if (!samples)
			die("samples");
	}
	memcpy(samples + sample_count, row, columns * sizeof(*row));
	sample_count += columns;
}

static void finish(void)
{
	const char *at = (const char *)samples;
	size_t left = sample_count * sizeof(*samples);

	while (left) {
		ssize_t n = write(STDOUT_FILENO, at, left);

		if (n < 0)
			die("write");
		at += n;
		left -= n;
	}
	exit(0);
}

static void receive_from(int i)
{
	ssize_t n;

	while ((n = recv(flows[i].fd, chunk, sizeof(chunk), MSG_TRUNC | MSG_DONTWAIT)) > 0)
		flows[i].bytes += n;
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(flows[i].fd);
		flows[i].fd = -1;
	}
}

/* columns: flow t_s bytes */
static void sample_receiver(int i, int64_t now)
{
	/* what waits below the low-water mark has arrived too */
	if (flows[i].fd >= 0)
		receive_from(i);

	double row[] = { i, now / 1e9, flows[i].bytes };

	record(row, sizeof(row) / sizeof(*row));
}

/* columns: flow t_s cwnd srtt_us rttvar_us min_rtt_us retransmits bytes_acked unacked lost ssthresh pacing_rate
 * delivery_rate spurious
 */
static void sample_sender(int i, int64_t now)
{
	struct tcp_info info;
	socklen_t length = sizeof(info);

	if (flows[i].fd < 0)
		return;
	if (getsockopt(flows[i].fd, IPPROTO_TCP, TCP_INFO, &info, &length))
		die("TCP_INFO");

	double row[] = {
		i, now / 1e9, info.tcpi_snd_cwnd, info.tcpi_rtt, info.tcpi_rttvar, info.tcpi_min_rtt,
		info.tcpi_total_retrans, info.tcpi_bytes_acked, info.tcpi_unacked, info.tcpi_lost,
		info.tcpi_snd_ssthresh, info.tcpi_pacing_rate, info.tcpi_delivery_rate, info.tcpi_dsack_dups,
	};

	record(row, sizeof(row) / sizeof(*row));
}

static void listen_all(int low_water)
{
	int one = 1;

	for (int i = 0; i < flow_count; i++) {
		struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(FIRST_PORT + i) };
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
		    (low_water && setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low_water, sizeof(low_water))) ||
		    bind(fd, (void *)&addr, sizeof(addr)) || listen(fd, 4))
			die("listen");
		flows[i].listener = fd;
		flows[i].fd = -1;
		watch(fd, EPOLLIN, TAG_LISTENER + i);
	}
}

static void open_flow(int i, const char *address)
{
	struct sockaddr_in source = { .sin_family = AF_INET, .sin_port = htons(FIRST_SOURCE_PORT + i) };
	struct sockaddr_in target = { .sin_family = AF_INET, .sin_port = htons(FIRST_PORT + i) };
	struct linger reset = { .l_onoff = 1 };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	target.sin_addr.s_addr = inet_addr(address);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) || bind(fd, (void *)&source, sizeof(source)))
		die("socket");
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, flows[i].scheme, strlen(flows[i].scheme)))
		die(flows[i].scheme);
	if (connect(fd, (void *)&target, sizeof(target)) && errno != EINPROGRESS)
		die("connect");
	flows[i].fd = fd;
	watch(fd, EPOLLOUT | EPOLLET, i);
}

static void send_on(int i)
{
	while (send(flows[i].fd, chunk, sizeof(chunk), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	/* the receiver may end at the same instant, and its reset come first: the flow's clock decides */
	if (errno != EAGAIN && errno != EINTR && errno != EPIPE && errno != ECONNRESET)
		die("send");
}

static void close_flow(int i, int64_t now)
{
	sample_sender(i, now);
	if (flows[i].fd >= 0)
		close(flows[i].fd);
	flows[i].fd = -1;
	flows[i].done = 1;
}

/* Open and close what the clock asks for; true when every flow is over. */
static int start_and_stop(const char *address, int64_t now)
{
	int over = 1;

	for (int i = 0; i < flow_count; i++) {
		if (!flows[i].done && flows[i].fd < 0 && now >= flows[i].start_ns)
			open_flow(i, address);
		if (!flows[i].done && now >= flows[i].end_ns)
			close_flow(i, now);
		over &= flows[i].done;
	}
	return over;
}

static void parse_flow(const char *text)
{
	struct flow *flow = &flows[flow_count++];
	long long start_ms, duration_ms;

	if (flow_count > MAX_FLOWS || sscanf(text, "%15[^,],%lld,%lld", flow->scheme, &start_ms, &duration_ms) != 3) {
		fprintf(stderr, "flow: bad flow %s\n", text);
		exit(2);
	}
	flow->start_ns = start_ms * NS_PER_MS;
	flow->end_ns = flow->start_ns + duration_ms * NS_PER_MS;
	flow->fd = -1;
}

static void run(int sending, const char *address, int64_t end_ns)
{
	struct epoll_event events[64];

	for (;;) {
		int n = epoll_wait(poller, events, 64, -1);
		int64_t now = now_ns();

		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (int e = 0; e < n; e++) {
			uint32_t tag = events[e].data.u32;

			if (tag == TAG_SIGNAL) {
				for (int i = 0; i < flow_count; i++)
					sending ? sample_sender(i, now) : sample_receiver(i, now);
				finish();
			} else if (tag == TAG_TICK) {
				uint64_t ticks;

				/* a periodic timer goes on only when it is read */
				if (read(ticker, &ticks, sizeof(ticks)) != sizeof(ticks))
					continue;
				for (int i = 0; i < flow_count; i++)
					sending ? sample_sender(i, now) : sample_receiver(i, now);
			} else if (tag >= TAG_LISTENER && tag < TAG_LISTENER + MAX_FLOWS) {
				int i = tag - TAG_LISTENER;

				flows[i].fd = accept4(flows[i].listener, NULL, NULL, SOCK_NONBLOCK);
				if (flows[i].fd >= 0)
					watch(flows[i].fd, EPOLLIN, i);
			} else if (tag < MAX_FLOWS && flows[tag].fd >= 0) {
				sending ? send_on(tag) : receive_from(tag);
			}
		}
		if (sending && start_and_stop(address, now))
			finish();
		if (!sending && now >= end_ns) {
			for (int i = 0; i < flow_count; i++)
				sample_receiver(i, now);
			finish();
		}
	}
}

int main(int argc, char **argv)
{
	int sending = argc >= 6 && !strcmp(argv[1], "send"), receiving = argc == 7 && !strcmp(argv[1], "receive");
	int first = sending ? 3 : 2;
	struct rlimit files;
	int64_t sample_ns;
	sigset_t signals;

	if (!sending && !receiving) {
		fprintf(stderr, "usage: flow receive ORIGIN_NS SAMPLE_MS LOW_WATER DURATION_MS FLOWS\n"
				"       flow send ADDRESS ORIGIN_NS SAMPLE_MS SCHEME,START_MS,DURATION_MS...\n");
		return 2;
	}
	/* two descriptors a flow; the guest's soft limit is low on purpose */
	if (getrlimit(RLIMIT_NOFILE, &files))
		die("getrlimit");
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit");
	origin_ns = atoll(argv[first]);
	sample_ns = atoll(argv[first + 1]) * NS_PER_MS;
	poller = epoll_create1(0);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	watch(signalfd(-1, &signals, 0), EPOLLIN, TAG_SIGNAL);
	if (sample_ns)
		ticker = watch_timer(sample_ns, sample_ns, TAG_TICK);
	if (receiving) {
		int64_t end_ns = atoll(argv[5]) * NS_PER_MS;

		flow_count = atoi(argv[6]);
		if (flow_count < 1 || flow_count > MAX_FLOWS)
			return 2;
		listen_all(atoi(argv[4]));
		watch_timer(end_ns, 0, TAG_START);
		if (write(STDOUT_FILENO, "ready\n", 6) != 6)
			die("write");
		run(0, NULL, end_ns);
	}
	for (int a = 5; a < argc; a++)
		parse_flow(argv[a]);
	for (int i = 0; i < flow_count; i++) {
		watch_timer(flows[i].start_ns, 0, TAG_START);
		watch_timer(flows[i].end_ns, 0, TAG_START);
	}
	run(1, argv[2], 0);
}
