// SPDX-License-Identifier: GPL-2.0
/*
 * flow: TCP traffic for virtual time.
 *
 *	flow ORIGIN_NS SAMPLE_MS reset|deliver ENDPOINT...
 *
 *	receive,FLOW,NETNS,KIND,SIZE,LOW_WATER,END_US[,SEED]
 *	send,FLOW,NETNS,ADDRESS,SCHEME,KIND,SIZE,START_US,END_US[,SEED,PAUSE_US]
 *	queue,NETNS,DEVICE[,DEVICE...]
 *
 * In the lab the CPU never runs out and the clock moves only when nothing is left to compute, so a program that
 * spins on the clock spins for ever: everything here waits in epoll. One process carries all endpoints it is given, in
 * whichever network namespaces they are. Flow i goes from port 40000 + i to port 5000 + i, so a run's addresses are
 * the same every time. Times count from ORIGIN_NS of CLOCK_MONOTONIC, the same for all processes of a run.
 *
 * KIND and SIZE (bytes; 0 for bulk, the mean for web) are explained in flow.h; web needs SEED, the same at both ends, and
 * PAUSE_US, the mean. LOW_WATER is the receiver's SO_RCVLOWAT, 0 the default.
 * A flow ends with a reset, and the ports are free at once; or (deliver) the sender stops at END_US, what it has
 * written is delivered, and both ends count how much that was.
 *
 * Of the ports of `queue` (once at most) it records what their qdiscs count, with every sample and at the end.
 *
 * The program prints "ready\n" when it listens, and its record (record.c) when it ends: when all its flows are over,
 * or on SIGTERM.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "flow.h"

int ends_with_reset;
static int ticker;

void die(const char *what)
{
	fprintf(stderr, "flow: %s: %s\n", what, strerror(errno));
	exit(1);
}

void bad(const char *text)
{
	fprintf(stderr, "flow: bad argument %s\n", text);
	exit(2);
}

enum kind parse_kind(const char *name)
{
	static const char *const names[] = { [BULK] = "bulk", [STREAM] = "stream", [REQUEST] = "request", [WEB] = "web" };

	for (int kind = BULK; kind <= WEB; kind++)
		if (!strcmp(name, names[kind]))
			return kind;
	bad(name);
}

static void sample(void)
{
	int64_t now = now_ns();

	senders_sample(now);
	receivers_sample(now);
	queues_sample(now);
}

/* The flows have recorded their ends themselves. */
static void finish(void)
{
	queues_sample(now_ns());
	queues_report();
	senders_report();
	record_print();
	exit(0);
}

static void stopped(struct watcher *watcher, uint32_t events)
{
	(void)watcher;
	(void)events;
	senders_sample(now_ns());
	receivers_sample(now_ns());
	finish();
}

static void tick(struct watcher *watcher, uint32_t events)
{
	uint64_t ticks;

	(void)watcher;
	(void)events;
	if (read(ticker, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	sample();
}

static int step(void)
{
	/* both, always: | and not || */
	return senders_step() | receivers_step();
}

int main(int argc, char **argv)
{
	static struct watcher stopping = { stopped }, ticking = { tick };
	struct rlimit files;
	int64_t sample_ns;
	sigset_t signals;

	if (argc < 4 || (strcmp(argv[3], "reset") && strcmp(argv[3], "deliver"))) {
		fprintf(stderr, "usage: flow ORIGIN_NS SAMPLE_MS reset|deliver ENDPOINT...\n");
		return 2;
	}
	/* some descriptors a flow; the guest's soft limit is low on purpose */
	if (getrlimit(RLIMIT_NOFILE, &files))
		die("getrlimit");
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit");
	loop_start(atoll(argv[1]));
	sample_ns = atoll(argv[2]) * NS_PER_MS;
	ends_with_reset = !strcmp(argv[3], "reset");
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	watch(signalfd(-1, &signals, 0), EPOLLIN, &stopping);
	if (sample_ns)
		ticker = watch_every(sample_ns, &ticking);
	for (int a = 4; a < argc; a++) {
		if (!strncmp(argv[a], "receive,", 8))
			receiver_add(argv[a]);
		else if (!strncmp(argv[a], "send,", 5))
			sender_add(argv[a]);
		else if (!strncmp(argv[a], "queue,", 6))
			queues_add(argv[a]);
		else
			bad(argv[a]);
	}
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		die("write");
	loop_run(step);
	finish();
}
