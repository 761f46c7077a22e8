// SPDX-License-Identifier: GPL-2.0
/* The run's clock and the event loop. Everything waits in epoll: polling the lab's clock would never end (main.c). */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "flow.h"

#define EVENTS 64

static int poller;
static int64_t origin;
static int due, ended;

void loop_start(int64_t origin_ns)
{
	origin = origin_ns;
	due = ended = 0;
	poller = epoll_create1(0);
	if (poller < 0)
		die("epoll_create1");
}

int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec - origin;
}

void watch(int fd, uint32_t events, struct watcher *watcher)
{
	struct epoll_event event = { .events = events, .data.ptr = watcher };

	if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void loop_set_timer(int timer, int64_t at_ns, int64_t interval_ns)
{
	int64_t at = origin + at_ns;
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

static void loop_wake_ready(struct watcher *watcher, uint32_t events)
{
	(void)watcher;
	(void)events;
	due = 1;
}

void wake_at(int64_t at_ns)
{
	static struct watcher waker = { loop_wake_ready };

	timer_set(timer_add(&waker), at_ns);
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

void loop_run(int (*step)(void))
{
	struct epoll_event events[EVENTS];

	for (;;) {
		int n = epoll_wait(poller, events, EVENTS, -1);

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
			if (!step())
				return;
		}
	}
}
