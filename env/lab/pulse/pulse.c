// SPDX-License-Identifier: GPL-2.0
/*
 * pulse: measures whether a guest in real time keeps up.
 *
 *	pulse FROM_NS TO_NS INTERVAL_NS
 *
 * From FROM_NS to TO_NS of CLOCK_MONOTONIC the program sleeps until each multiple of the interval and records how late it
 * wakes. All timers of the guest are equally late, including those of its queueing disciplines. The program has real-time
 * priority over all other programs, so the lateness comes from the machine and not from the traffic. At the end it prints,
 * as JSON, the number of pulses, how late they were (us), and the share of the time in which the guest's CPUs were idle (%).
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

static void pulse_die(const char *what)
{
	fprintf(stderr, "pulse: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t pulse_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void pulse_sleep_until(int64_t at_ns)
{
	struct timespec t = { at_ns / NS_PER_S, at_ns % NS_PER_S };

	if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		pulse_die("clock_nanosleep");
}

/* Return how long the CPUs have been idle since the boot, summed over all, s. */
static double pulse_idle_s(void)
{
	FILE *file = fopen("/proc/stat", "r");
	unsigned long long user, nice, system, idle, iowait;

	if (!file || fscanf(file, "cpu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &iowait) != 5)
		pulse_die("/proc/stat");
	fclose(file);
	return (double)(idle + iowait) / sysconf(_SC_CLK_TCK);
}

static int pulse_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int64_t from_ns, to_ns, interval_ns, *late_ns;
	struct sched_param first = { .sched_priority = 1 };
	size_t pulses = 0, count;
	double idle, span_s;

	if (argc != 4 || (interval_ns = atoll(argv[3])) < 1 ||
	    (to_ns = atoll(argv[2])) < (from_ns = atoll(argv[1])) + interval_ns) {
		fprintf(stderr, "usage: pulse FROM_NS TO_NS INTERVAL_NS\n");
		return 2;
	}
	count = (to_ns - from_ns) / interval_ns;
	late_ns = calloc(count, sizeof(*late_ns));
	if (!late_ns)
		pulse_die("calloc");
	prctl(PR_SET_TIMERSLACK, 1);
	if (sched_setscheduler(0, SCHED_FIFO, &first) || mlockall(MCL_CURRENT))
		pulse_die("real-time priority");
	pulse_sleep_until(from_ns);
	idle = pulse_idle_s();
	while (pulses < count) {
		int64_t at_ns = from_ns + (int64_t)(pulses + 1) * interval_ns;

		pulse_sleep_until(at_ns);
		late_ns[pulses++] = pulse_now_ns() - at_ns;
	}
	span_s = (double)(pulse_now_ns() - from_ns) / NS_PER_S * sysconf(_SC_NPROCESSORS_ONLN);
	idle = pulse_idle_s() - idle;
	qsort(late_ns, pulses, sizeof(*late_ns), pulse_compare);
	printf("{\"pulses\": %zu, \"late_p50_us\": %.1f, \"late_p99_us\": %.1f, \"late_max_us\": %.1f, \"idle_pct\": %.1f}\n",
	       pulses, late_ns[pulses / 2] / 1e3, late_ns[pulses - 1 - pulses / 100] / 1e3, late_ns[pulses - 1] / 1e3,
	       100 * idle / span_s);
	return 0;
}
