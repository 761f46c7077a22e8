// SPDX-License-Identifier: GPL-2.0
/*
 * flow: TCP traffic for virtual time.
 *
 * It stays, because starting a program costs the lab more than many a run: every line of its standard input, a pipe, is
 * a run,
 *
 *	ORIGIN_NS SAMPLE_MS reset|deliver ENDPOINT...
 *
 * with the endpoints
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
 * written is delivered, and both ends count how much that was. A run whose flows end with a reset is over when either
 * its senders or its receivers are, the other run when all are.
 *
 * Of the ports of `queue` (once at most) it records what their qdiscs count, with every sample and at the end.
 *
 * The program prints "ready\n" when it listens, and its record (record.c) when the run is over, or when a line comes
 * while it goes on: "stop", which is ignored when it comes too late. Nothing is left of a run for the next one. What goes
 * wrong ends the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "flow.h"

#define WORDS (2 * MAX_FLOWS + 4)	/* of a run: both ends of every flow */

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

static void usage(void)
{
	fprintf(stderr, "usage: echo 'ORIGIN_NS SAMPLE_MS reset|deliver ENDPOINT...' | flow\n");
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

/* A sample comes after all else of its instant: which of two timers is first, no seed says. */
#define SAMPLE_AFTER_NS 10000

static void sample(void)
{
	int64_t now = now_ns();

	senders_sample(now);
	receivers_sample(now);
	queues_sample(now);
}

static void stopped(struct watcher *watcher, uint32_t events)
{
	char line[16];

	(void)watcher;
	(void)events;
	/* nobody is there any more: the run goes on to its end */
	if (read(STDIN_FILENO, line, sizeof(line)) > 0)
		loop_end();
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
	/* both, always */
	int sending = senders_step(), receiving = receivers_step();

	return ends_with_reset ? sending && receiving : sending || receiving;
}

static void add(const char *endpoint)
{
	if (!strncmp(endpoint, "receive,", 8))
		receiver_add(endpoint);
	else if (!strncmp(endpoint, "send,", 5))
		sender_add(endpoint);
	else if (!strncmp(endpoint, "queue,", 6))
		queues_add(endpoint);
	else
		bad(endpoint);
}

static void forget(void)
{
	senders_forget();
	receivers_forget();
	queues_forget();
	record_forget();
	/* all that a run opens, its sockets first of all */
	if (close_range(STDERR_FILENO + 1, ~0U, 0))
		die("close_range");
}

static void run(char **words, int count)
{
	static struct watcher stopping = { stopped }, ticking = { tick };
	int64_t sample_ns;

	if (count < 3 || (strcmp(words[2], "reset") && strcmp(words[2], "deliver")))
		usage();
	loop_start(atoll(words[0]));
	sample_ns = atoll(words[1]) * NS_PER_MS;
	ends_with_reset = !strcmp(words[2], "reset");
	watch(STDIN_FILENO, EPOLLIN | EPOLLET, &stopping);
	if (sample_ns)
		ticker = watch_every(sample_ns, SAMPLE_AFTER_NS, &ticking);
	for (int w = 3; w < count; w++)
		add(words[w]);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		die("write");
	loop_run(step);
	/* the flows that are over have recorded their ends themselves */
	sample();
	queues_report();
	senders_report();
	record_print();
	forget();
}

static int split(char *line, char **words)
{
	int count = 0;

	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
		if (count == WORDS)
			bad(word);
		words[count++] = word;
	}
	return count;
}

int main(int argc, char **argv)
{
	static char *words[WORDS];
	struct rlimit files;
	char *line = NULL;
	size_t room = 0;

	(void)argv;
	if (argc > 1)
		usage();
	/* some descriptors a flow; the guest's soft limit is low on purpose */
	if (getrlimit(RLIMIT_NOFILE, &files))
		die("getrlimit");
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit");
	while (getline(&line, &room, stdin) > 0)
		if (strcmp(line, "stop\n"))
			run(words, split(line, words));
	return 0;
}
