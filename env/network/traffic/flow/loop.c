// SPDX-License-Identifier: GPL-2.0
/* The run's clock and the event loop. Everything waits in epoll: polling the lab's clock would never end (main.c). */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "flow.h"

#define EVENTS 64
#define NOT_ARMED (-1)
#define WAKES (4 * MAX_FLOWS)	/* times to wake at: start and end of both ends of every flow, at most */

static int poller, waker;
static int64_t origin;
static int due, ended;
static int64_t wakes_ns[WAKES];		/* in descending order */
static int wake_count;
static int64_t armed_ns;		/* what the waker is set to */

static void loop_wake_ready(struct watcher *watcher, uint32_t events)
{
	(void)watcher;
	(void)events;
	due = 1;
	armed_ns = NOT_ARMED;
}

/* Forget the times that have passed; return the time, which costs the lab a system call. */
static int64_t loop_pass_wakes(void)
{
	int64_t now = now_ns();

	while (wake_count && wakes_ns[wake_count - 1] <= now)
		wake_count--;
	return now;
}

void loop_open(void)
{
	static struct watcher watcher = { loop_wake_ready };

	poller = epoll_create1(0);
	if (poller < 0)
		die("epoll_create1");
	waker = timer_add(&watcher);
}

void loop_start(int64_t origin_ns)
{
	origin = origin_ns;
	due = ended = wake_count = 0;
	armed_ns = NOT_ARMED;
}

int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return run_ns(t.tv_sec * NS_PER_S + t.tv_nsec);
}

int64_t run_ns(int64_t clock_ns)
{
	return clock_ns - origin;
}

int64_t clock_ns(int64_t run_ns)
{
	return origin + run_ns;
}

void watch(int fd, uint32_t events, struct watcher *watcher)
{
	struct epoll_event event = { .events = events, .data.ptr = watcher };

	if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void loop_set_timer(int timer, int64_t at_ns, int64_t interval_ns)
{
	int64_t clock = clock_ns(at_ns), at = clock > 0 ? clock : 1;	/* 0 would stop the timer */
	struct itimerspec spec = {
		.it_value = { at / NS_PER_S, at % NS_PER_S },
		.it_interval = { interval_ns / NS_PER_S, interval_ns % NS_PER_S },
	};

	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL))
		die("timerfd");
}

int timer_add(struct watcher *watcher)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	if (timer < 0)
		die("timerfd");
	watch(timer, EPOLLIN | EPOLLET, watcher);
	return timer;
}

void timer_set(int timer, int64_t at_ns)
{
	loop_set_timer(timer, at_ns, 0);
}

void wake_at(int64_t at_ns)
{
	int place = wake_count++;

	if (wake_count > WAKES)
		fail("more than %d times to wake at", WAKES);
	for (; place && wakes_ns[place - 1] < at_ns; place--)
		wakes_ns[place] = wakes_ns[place - 1];
	wakes_ns[place] = at_ns;
}

static void loop_arm(void)
{
	if (wake_count && wakes_ns[wake_count - 1] != armed_ns) {
		armed_ns = wakes_ns[wake_count - 1];
		timer_set(waker, armed_ns);
	}
}

void wake(void)
{
	due = 1;
}

int watch_every(int64_t interval_ns, int64_t after_ns, struct watcher *watcher)
{
	int timer = timer_add(watcher);

	loop_set_timer(timer, interval_ns + after_ns, interval_ns);
	return timer;
}

void loop_end(void)
{
	ended = 1;
}

void loop_run(int (*step)(int64_t now))
{
	struct epoll_event events[EVENTS];

	for (;;) {
		int n;

		loop_arm();
		n = epoll_wait(poller, events, EVENTS, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (int e = 0; e < n; e++) {
			struct watcher *watcher = events[e].data.ptr;

			watcher->ready(watcher, events[e].events);
			if (ended)
				return;
		}
		if (due) {
			due = 0;
			if (!step(loop_pass_wakes()))
				return;
		}
	}
}
