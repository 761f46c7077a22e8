// SPDX-License-Identifier: GPL-2.0
/* ndmctl watch: each second, what NDM's congestion controls and their connections do. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

#define MOST 65536	/* connections */
#define SHOWN 20	/* of them, on a terminal */

struct moment {
	struct slot slots[SLOTS];
	int slot_count;
	struct connection *list;
	int count;
	double time_s;
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static int by_cookie(const void *a, const void *b)
{
	const struct connection *one = a, *other = b;

	return (one->cookie > other->cookie) - (one->cookie < other->cookie);
}

static int by_rate(const void *a, const void *b)
{
	const struct connection *one = a, *other = b;

	return (one->mbps < other->mbps) - (one->mbps > other->mbps);
}

static const struct slot *slot_of(const struct moment *moment, const char *control)
{
	int i;

	for (i = 0; i < moment->slot_count; i++)
		if (!strcmp(moment->slots[i].name, control))
			return &moment->slots[i];
	return NULL;
}

/* Keeps NDM's connections, by cookie. */
static void look(struct moment *moment, const struct way *way)
{
	struct timespec now;
	int all, i;

	moment->slot_count = way->slots(moment->slots, SLOTS);
	all = connections(moment->list, MOST);
	clock_gettime(CLOCK_MONOTONIC, &now);
	moment->time_s = now.tv_sec + now.tv_nsec / 1e9;
	moment->count = 0;
	for (i = 0; i < all; i++)
		if (slot_of(moment, moment->list[i].control))
			moment->list[moment->count++] = moment->list[i];
	qsort(moment->list, moment->count, sizeof(*moment->list), by_cookie);
}

/* What each connection has got acknowledged since the moment before. */
static void compute_rates(struct moment *now, const struct moment *before)
{
	const struct connection *earlier;
	int i;

	for (i = 0; i < now->count; i++) {
		earlier = bsearch(&now->list[i], before->list, before->count,
				  sizeof(*before->list), by_cookie);
		now->list[i].mbps = (now->list[i].acked - (earlier ? earlier->acked : 0)) * 8e-6 /
				    (now->time_s - before->time_s);
	}
}

/* Decisions a second, and the sums over a slot's connections. */
struct sums {
	double decisions_s;
	double mbps;
	double rtt_ms;	/* mean */
	int connections;
};

static struct sums sum(const struct moment *now, const struct moment *before, int slot)
{
	const struct slot *earlier = slot_of(before, now->slots[slot].name);
	struct sums sums = {};
	int i;

	if (earlier)
		sums.decisions_s = (now->slots[slot].counters.decisions -
				    earlier->counters.decisions) /
				   (now->time_s - before->time_s);
	for (i = 0; i < now->count; i++)
		if (!strcmp(now->list[i].control, now->slots[slot].name)) {
			sums.connections++;
			sums.mbps += now->list[i].mbps;
			sums.rtt_ms += now->list[i].rtt_us / 1e3;
		}
	if (sums.connections)
		sums.rtt_ms /= sums.connections;
	return sums;
}

static void print_table(struct moment *now, const struct moment *before)
{
	struct sums sums;
	int i;

	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	printf("%-15s  %-20s  %11s  %11s  %8s  %8s\n", "name", "model", "connections",
	       "decisions/s", "Mbit/s", "RTT, ms");
	for (i = 0; i < now->slot_count; i++) {
		sums = sum(now, before, i);
		printf("%-15s  %-20s  %11d  %11.0f  %8.1f  %8.1f\n", now->slots[i].name,
		       now->slots[i].model, sums.connections, sums.decisions_s, sums.mbps,
		       sums.rtt_ms);
	}
	qsort(now->list, now->count, sizeof(*now->list), by_rate);
	printf("\n%-48s  %-15s  %8s  %8s  %8s  %6s  %s\n", "connection", "name", "Mbit/s", "RTT, ms",
	       "min, ms", "cwnd", "retransmits");
	for (i = 0; i < now->count && i < SHOWN; i++)
		printf("%-48s  %-15s  %8.2f  %8.1f  %8.1f  %6u  %u\n", now->list[i].peer,
		       now->list[i].control, now->list[i].mbps, now->list[i].rtt_us / 1e3,
		       now->list[i].min_rtt_us / 1e3, now->list[i].cwnd,
		       now->list[i].retransmits);
	if (now->count > SHOWN)
		printf("and %d more\n", now->count - SHOWN);
	qsort(now->list, now->count, sizeof(*now->list), by_cookie);
}

static void print_line(const struct moment *now, const struct moment *before)
{
	struct sums sums;
	int i;

	printf("{\"controls\": [");
	for (i = 0; i < now->slot_count; i++) {
		sums = sum(now, before, i);
		printf("%s{\"name\": \"%s\", \"model\": ", i ? ", " : "", now->slots[i].name);
		print_json_text(now->slots[i].model);
		printf(", \"connections\": %d, \"decisions_per_s\": %.1f, \"mbps\": %.3f, \"rtt_ms\": %.3f}",
		       sums.connections, sums.decisions_s, sums.mbps, sums.rtt_ms);
	}
	printf("], \"connections\": [");
	for (i = 0; i < now->count; i++)
		printf("%s{\"peer\": \"%s\", \"name\": \"%s\", \"mbps\": %.3f, \"rtt_ms\": %.3f, \"min_rtt_ms\": %.3f, \"cwnd\": %u, \"retransmits\": %u}",
		       i ? ", " : "", now->list[i].peer, now->list[i].control, now->list[i].mbps,
		       now->list[i].rtt_us / 1e3, now->list[i].min_rtt_us / 1e3,
		       now->list[i].cwnd, now->list[i].retransmits);
	printf("]}\n");
}

void watch(const struct way *way, bool json)
{
	struct sigaction action = { .sa_handler = stop };
	struct moment moments[2] = {};
	int which = 0;

	moments[0].list = calloc(MOST, sizeof(struct connection));
	moments[1].list = calloc(MOST, sizeof(struct connection));
	if (!moments[0].list || !moments[1].list)
		fail("there is no memory for %d connections", MOST);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	look(&moments[which], way);
	while (sleep(1), !stopped) {
		if (!way->loaded())
			fail("NDM has been unloaded");
		which = !which;
		look(&moments[which], way);
		compute_rates(&moments[which], &moments[!which]);
		if (json)
			print_line(&moments[which], &moments[!which]);
		else
			print_table(&moments[which], &moments[!which]);
		fflush(stdout);
	}
}
