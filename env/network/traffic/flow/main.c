// SPDX-License-Identifier: GPL-2.0
/*
 * flow: TCP traffic for virtual time.
 *
 * The program stays between runs, because starting one costs the lab more than a short run. Every line of its standard
 * input, a pipe, is a run,
 *
 *	ORIGIN_NS SAMPLE_MS reset|deliver ENDPOINT...
 *
 * with the endpoints
 *
 *	receive,FLOW,NETNS,KIND,SIZE,LOW_WATER,BUFFER,END_US[,SEED]
 *	send,FLOW,NETNS,ADDRESS,SCHEME,KIND,SIZE,START_US,END_US[,SEED,PAUSE_US]
 *	queue,NETNS,DEVICE[,DEVICE...]
 *
 * In the lab computing takes no time, and the clock advances only when nothing is left to compute. A program that polls
 * the clock would never end, so everything here waits in epoll. One process carries all endpoints in all network
 * namespaces. Flow i goes from port 40000 + i to port 5000 + i, so a run's addresses are always the same. Times count
 * from ORIGIN_NS of CLOCK_MONOTONIC.
 *
 * flow.h explains KIND. SIZE is in bytes: 0 for bulk, the mean for web. web also needs SEED, which is the same at both
 * ends, and PAUSE_US, the mean pause. A request has them where it pauses after each reply, always as long; its SEED is not
 * used. LOW_WATER is the receiver's SO_RCVLOWAT, BUFFER its SO_RCVBUF; 0 leaves the default.
 *
 * With reset, a flow ends with a reset, and its ports are free at once. With deliver, the sender stops at END_US, what
 * it has written is delivered, and both ends record how much that was. A run with reset is over when all senders or all
 * receivers have ended; one with deliver, when both have.
 *
 * `queue` (at most once) names the ports whose qdisc counters are recorded, with every sample and at the end.
 *
 * The program prints "ready\n" when it listens, and its record (record.c) when the run is over. The line "stop" ends the
 * current run; between runs it is ignored. A run leaves nothing behind for the next one. Any error ends the program.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "flow.h"

#define WORDS (2 * MAX_FLOWS + 4)	/* of a run: both ends of every flow */

static int ticker;
static int first_fd;	/* of a run */

static void flow_usage(void)
{
	fprintf(stderr, "usage: echo 'ORIGIN_NS SAMPLE_MS reset|deliver ENDPOINT...' | flow\n");
	exit(2);
}

/* A sample follows all other events of its instant: the order of two timers that expire together is not defined. */
#define SAMPLE_AFTER_NS 10000

static void flow_sample(void)
{
	int64_t now = now_ns();

	senders_sample(now);
	receivers_sample(now);
	queues_sample(now);
}

static void flow_stopped(struct watcher *watcher, uint32_t events)
{
	char line[16];

	(void)watcher;
	(void)events;
	/* the end of the input does not stop the run */
	if (read(STDIN_FILENO, line, sizeof(line)) > 0)
		loop_end();
}

static void flow_tick(struct watcher *watcher, uint32_t events)
{
	uint64_t ticks;

	(void)watcher;
	(void)events;
	if (read(ticker, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	flow_sample();
}

static int flow_step(int64_t now)
{
	/* call both, whatever the first one returns */
	int sending = senders_step(now), receiving = receivers_step(now);

	return ends_with_reset ? sending && receiving : sending || receiving;
}

static void flow_add_endpoint(const char *endpoint)
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

static void flow_forget(void)
{
	senders_forget();
	receivers_forget();
	queues_forget();
	record_forget();
	kernel_forget();
	/* all descriptors that the run has opened */
	if (close_range(first_fd, NAMESPACE_FDS - 1, 0))
		die("close_range");
}

static void flow_start_samples(int64_t sample_ns)
{
	static struct watcher ticking = { flow_tick };

	if (sample_ns && !kernel_sample_every(sample_ns, SAMPLE_AFTER_NS))
		ticker = watch_every(sample_ns, SAMPLE_AFTER_NS, &ticking);
}

static void flow_run(char **words, int count)
{
	if (count < 3 || !parse_ending(words[2]))
		flow_usage();
	loop_start(atoll(words[0]));
	kernel_prepare(count - 3);
	flow_start_samples(atoll(words[1]) * NS_PER_MS);
	for (int w = 3; w < count; w++)
		flow_add_endpoint(words[w]);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		die("write");
	loop_run(flow_step);
	kernel_read();
	/* flows that ended earlier have recorded their last sample themselves */
	flow_sample();
	queues_report();
	senders_report();
	record_print();
	flow_forget();
}

static int flow_split(char *line, char **words)
{
	int count = 0;

	for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
		if (count == WORDS)
			bad(word);
		words[count++] = word;
	}
	return count;
}

static void flow_open(void)
{
	static struct watcher stopping = { flow_stopped };
	static const struct recorded recorded = { sender_sampled, receiver_sampled, queues_sampled, sender_latency };
	struct rlimit files;

	/* each flow needs several descriptors, and the guest's soft limit is low for Mininet's sake */
	if (getrlimit(RLIMIT_NOFILE, &files))
		die("getrlimit");
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit");
	loop_open();
	kernel_open(&recorded);
	watch(STDIN_FILENO, EPOLLIN | EPOLLET, &stopping);
	first_fd = dup(STDIN_FILENO);
	close(first_fd);
}

int main(int argc, char **argv)
{
	static char *words[WORDS];
	char *line = NULL;
	size_t room = 0;

	(void)argv;
	if (argc > 1)
		flow_usage();
	flow_open();
	while (getline(&line, &room, stdin) > 0)
		if (strcmp(line, "stop\n"))
			flow_run(words, flow_split(line, words));
	return 0;
}
