// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on the inputs, with ASan and UBSan: `make fuzz`.
 *
 * The input is a connection's first clock and counters, then its events: RTT
 * samples, time-outs, marks, undone recoveries, idle times and ends of intervals,
 * inside and outside drains, which judge the route, with any readings or with likely
 * ones. Each interval's results are compared with exact_features.h, with the limits of
 * the schema, and with the same events on a state in other memory.
 */
#include <string.h>

#include "exact_features.h"
#include "input.h"

/* A new kind changes the meaning of the corpus: merge it again (kernel/fuzz/Makefile). */
enum event_kind {
	RTT, RTTS, TIMEOUT, UNDO, IDLE, CLOSE_LIKELY, CLOSE_ANY, OVER, MARK,
	EVENT_KINDS
};

/* Flags: limited by the application, the remaining intervals of a drain, and the path's own losses. */
#define APP_LIMITED 1
#define DRAIN(flags) ((flags) >> 1 & 3)
#define OWN(flags) (((flags) >> 3) * 64)

/* Packed like the fuzzer's bytes. */
struct likely {
	u16 length_100us, delivered, srtt_100us, mdev_100us;
	u8 lost, inflight, flags;
} __attribute__((packed));

struct any {
	u32 now_us, delivered, lost, inflight, srtt_us, mdev_us;
	u8 flags;
} __attribute__((packed));

struct connection {
	struct ndm_measure *m, *again;
	struct ndm_drain drain;
	struct exact_connection exact;
	struct ndm_reading now;
};

/* Judges the route after a drain: the interval before it was the last one without it. */
static void judge_route(struct connection *c, const struct ndm_interval *interval)
{
	struct ndm_drain drain;
	bool longer;

	c->drain.before_us = interval->before_us;
	c->drain.wait = 0;
	drain = c->drain;
	longer = exact_route(&c->exact, c->now.now_us, interval->before_us, interval->rtt_us,
			     interval->least_rtt_us, c->m->min_rtt_us);
	REQUIRE(ndm_drain_route(&c->drain, c->m, c->now.now_us, interval->rtt_us,
				interval->least_rtt_us) == longer);
	REQUIRE(ndm_drain_route(&drain, c->again, c->now.now_us, interval->rtt_us,
				interval->least_rtt_us) == longer);
	REQUIRE(c->drain.flat_us == c->exact.flat_us);
	/* The next one follows soon, to find the same RTT. */
	REQUIRE(c->drain.wait == (c->exact.flat_us ? NDM_DRAIN_SOON : 0));
}

static void end_interval(struct connection *c, u8 flags)
{
	static const s16 limits[NDM_INPUTS][2] = NDM_INPUT_LIMITS;
	struct ndm_interval interval, again;
	int i;

	c->m->drain = c->again->drain = c->exact.drain = DRAIN(flags);
	c->m->app_limited = c->again->app_limited = flags & APP_LIMITED;
	c->exact.app_limited = flags & APP_LIMITED;

	/* Make the padding equal for memcmp(). */
	memset(&interval, 0x11, sizeof(interval));
	memset(&again, 0x11, sizeof(again));
	/* Make an input that is not computed differ. */
	memset(again.x, 0x22, sizeof(again.x));
	ndm_interval_close(c->m, &c->now, &interval);
	ndm_interval_close(c->again, &c->now, &again);
	REQUIRE(!memcmp(&interval, &again, sizeof(interval)));
	for (i = 0; i < NDM_INPUTS; i++)
		REQUIRE(interval.x[i] >= limits[i][0] &&
			interval.x[i] <= limits[i][1]);
	check_close(&c->exact, &c->now, &interval);
	REQUIRE(c->m->decisions == c->exact.decisions);
	if (c->m->drain == 1 && interval.rtt_us)
		judge_route(c, &interval);
}

static bool close_likely(struct connection *c, struct input *in)
{
	struct likely l;

	if (!take(in, &l, sizeof(l)))
		return false;
	c->now.now_us += 100 * l.length_100us;
	c->now.delivered += l.delivered;
	c->now.lost += (s8)l.lost;
	c->now.inflight = l.inflight;
	c->now.srtt_us = 100 * l.srtt_100us;
	c->now.mdev_us = 100 * l.mdev_100us;
	/* None, as long as the interval, or longer. */
	c->now.sending_us = l.inflight % 4 * 100 * l.length_100us;
	c->now.own = OWN(l.flags);
	end_interval(c, l.flags);
	return true;
}

static bool close_any(struct connection *c, struct input *in)
{
	struct any any;

	if (!take(in, &any, sizeof(any)))
		return false;
	c->now = (struct ndm_reading) {
		.now_us = any.now_us,
		.delivered = any.delivered,
		.lost = any.lost,
		.inflight = any.inflight,
		.srtt_us = any.srtt_us,
		.mdev_us = any.mdev_us,
		.sending_us = any.mdev_us,
		.own = OWN(any.flags),
	};
	end_interval(c, any.flags);
	return true;
}

static void sample_rtt(struct connection *c, u32 rtt_us, u32 count)
{
	while (count--) {
		ndm_measure_rtt(c->m, rtt_us);
		ndm_measure_rtt(c->again, rtt_us);
		exact_rtt(&c->exact, rtt_us);
	}
}

static void undo(struct connection *c, u32 lost)
{
	ndm_measure_undo(c->m, lost);
	ndm_measure_undo(c->again, lost);
	exact_undo(&c->exact, lost);
}

static void idle(struct connection *c, u32 passed_us, u32 idle_us)
{
	c->now.now_us += passed_us;
	ndm_measure_idle(c->m, c->now.now_us, idle_us);
	ndm_measure_idle(c->again, c->now.now_us, idle_us);
	exact_idle(&c->exact, c->now.now_us, idle_us);
}

static void check_over(const struct connection *c, u32 now_us, u32 prior)
{
	u32 length_us = now_us - c->exact.begin.now_us;
	u32 since = prior - c->exact.begin.delivered;

	REQUIRE(ndm_interval_over(c->m, now_us, prior) ==
		(since < 2147483648 && length_us >= 1000));
}

/* Processes an event; false at the end of the input. */
static bool next_event(struct connection *c, struct input *in)
{
	u32 a = 0, b = 0;
	u8 kind;

	if (!take(in, &kind, sizeof(kind)))
		return false;
	switch (kind % EVENT_KINDS) {
	case RTT:
		if (!take(in, &a, sizeof(a)))
			return false;
		sample_rtt(c, a, 1);
		return true;
	case RTTS:
		/* Filling the counter takes too long here; features_kunit.c does. */
		if (!take(in, &a, sizeof(a)) || !take(in, &b, 1))
			return false;
		sample_rtt(c, a, b);
		return true;
	case TIMEOUT:
		ndm_measure_timeout(c->m);
		ndm_measure_timeout(c->again);
		c->exact.timed_out = true;
		return true;
	case MARK:
		ndm_measure_mark(c->m);
		ndm_measure_mark(c->again);
		c->exact.marked = true;
		return true;
	case UNDO:
		if (!take(in, &a, 1))
			return false;
		c->now.lost -= a;
		undo(c, c->now.lost);
		return true;
	case IDLE:
		if (!take(in, &a, sizeof(a)) || !take(in, &b, sizeof(b)))
			return false;
		idle(c, a, b);
		return true;
	case CLOSE_LIKELY:
		return close_likely(c, in);
	case CLOSE_ANY:
		return close_any(c, in);
	case OVER:
		if (!take(in, &a, sizeof(a)) || !take(in, &b, sizeof(b)))
			return false;
		check_over(c, a, b);
		/* Also at both limits, which few inputs meet. */
		check_over(c, c->exact.begin.now_us + 999 + a % 2,
			   c->exact.begin.delivered - b % 2);
		return true;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct ndm_measure m, again;
	struct connection c = { .m = &m, .again = &again };
	u32 begin[3];

	if (!take(&in, begin, sizeof(begin)))
		return 0;
	memset(&m, 0x5a, sizeof(m));
	memset(&again, 0xa5, sizeof(again));
	c.now.now_us = begin[0];
	c.now.delivered = begin[1];
	c.now.lost = begin[2];
	ndm_measure_init(&m, &c.now);
	ndm_measure_init(&again, &c.now);
	exact_init(&c.exact, &c.now);
	while (next_event(&c, &in))
		;
	return 0;
}
