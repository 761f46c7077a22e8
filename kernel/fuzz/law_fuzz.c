// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on the control law's pure headers, with ASan and UBSan: `make fuzz`.
 *
 * The input is a flow's events: decisions, round trips under the bound, marks, undone
 * losses, intervals under the guard, packet trains, the signs of slow start, drains. All
 * numbers are arbitrary, within the limits that the headers state. Windows follow each other
 * as in ndm_control.h. exact_law.h checks the stateless functions; the state of bound, guard,
 * trains and phases is compared with what follows from the flow's history.
 */
#include "exact_law.h"
#include "input.h"

/* A new kind changes the meaning of the corpus: merge it again (kernel/fuzz/Makefile). */
enum event_kind {
	DECISION, WINDOW, ROUND, FOLLOW, MARK, UNDO, GUARD, ACK, INTERVAL, DRAIN, CLOCK,
	EVENT_KINDS
};

/* Packed like the fuzzer's bytes. */
struct event {
	u8 kind, again, flags;
	u32 a, b, c, d;
} __attribute__((packed));

#define FLAG(n) (event->flags >> (n) & 1)

/* What the guard has been shown since its horizon began, and since the policy decides. */
struct exact_guard {
	struct ndm_guard_view first;
	u32 best_rate, largest_rate;
	u32 decisions, empty, strikes, pause, interventions;
	u32 policy;	/* decisions of the policy in a row */
};

/* The trains of an interval. */
struct exact_trains {
	u64 rate;
	bool spread;
};

struct flow {
	u32 now_us, sent_us, lost, delivered, cwnd_fp;
	struct ndm_bound bound;
	u64 carried_fp;	/* the largest carried window of the sample */
	u32 before_fp;	/* the window before the cuts that are being tested; 0: none */
	struct ndm_guard guard;
	struct exact_guard exact;
	struct ndm_train train;
	struct exact_trains trains, last_trains;
	u32 acked[3];	/* the end of the last train: now_us, sent_us, delivered */
	enum ndm_phase phase;
	bool queue, last_queue;	/* this interval and the last one have shown a queue */
};

/* Any number, of any magnitude. */
static u32 any(u32 bits)
{
	return bits >> (bits & 31);
}

static void pass(struct flow *f, u32 us, u32 delivered, u32 lost)
{
	f->now_us += us;
	f->delivered += delivered;
	f->lost += lost;
}

/* As ndm_set_cwnd(). */
static void set_cwnd(struct flow *f, u64 cwnd_fp)
{
	cwnd_fp = ndm_bounded(&f->bound, min_t(u64, cwnd_fp, U32_MAX));
	f->cwnd_fp = clamp_t(u32, cwnd_fp, CWND_FP_MIN, CWND_FP_MAX);
	REQUIRE(!f->bound.limit_fp || f->cwnd_fp <= f->bound.limit_fp);
}

/* -- the bound ---------------------------------------------------------------- */

static void check_bound(const struct flow *f)
{
	const struct ndm_bound *b = &f->bound;

	REQUIRE(!b->limit_fp || (b->limit_fp >= CWND_FP_MIN && b->limit_fp <= CWND_FP_MAX));
	REQUIRE(b->own <= b->proved && b->proved <= NDM_BOUND_REORDERED_MAX);
	REQUIRE(!b->own || (b->known && b->known <= NDM_BOUND_KNOWN << NDM_BOUND_KNOWN_LONGEST));
	REQUIRE(b->confirmed <= NDM_BOUND_KNOWN_LONGEST);
	REQUIRE(b->tested <= NDM_ONE && (!b->tested || b->limit_fp));
	REQUIRE(b->tested ? b->tested_fp == f->before_fp : !f->before_fp);
	REQUIRE(b->lossy_rounds <= b->rounds && b->overshoot <= NDM_BOUND_OVERSHOOT);
	REQUIRE(ndm_bound_tolerated(b) <= 2 * NDM_BOUND_REORDERED_MAX + NDM_BOUND_SHARE);
}

/* A window of which so much has been carried counts, but at least half of it. */
static u64 carried_fp(u32 cwnd_fp, u32 carried)
{
	u64 all_fp = (u64)carried << NDM_CWND_FRAC;

	return min_t(u64, cwnd_fp, max_t(u64, all_fp, cwnd_fp / 2));
}

/* A cut from @before_fp, 0: none, which a mark may have cut since the window was carried. */
static void check_lowered(u32 before_fp, u32 limit_fp, u64 carried_fp)
{
	if (limit_fp != before_fp)
		check_cut(limit_fp, carried_fp);
	else
		REQUIRE(limit_fp == CWND_FP_MIN || 10ULL * limit_fp <= 7 * carried_fp);
	REQUIRE(!before_fp || limit_fp <= before_fp);
}

static void pass_round(struct flow *f, const struct event *event)
{
	const struct ndm_bound before = f->bound, *b = &f->bound;
	u32 length_us = any(event->a), delivered = any(event->b), rtt_us = any(event->d);
	bool starting = FLAG(0), overshoot = starting || before.overshoot > 1;
	u32 cwnd_fp;
	u64 lost, sent;

	pass(f, length_us, delivered, FLAG(1) ? -(any(event->c) >> 1) : any(event->c));
	lost = max_t(s32, f->lost - before.lost, 0);
	sent = lost + (f->delivered - before.delivered);
	f->carried_fp = max_t(u64, f->carried_fp, carried_fp(f->cwnd_fp, delivered));
	cwnd_fp = ndm_bound_update(&f->bound, starting, f->now_us, length_us, rtt_us,
				   f->lost, f->delivered, f->cwnd_fp, delivered, FLAG(2));
	/* A larger share than a thirty-second is never taken for the path's own. */
	REQUIRE(b->own <= max_t(u16, before.proved, NDM_BOUND_OWN_MAX));
	if (b->skip) {
		/* More than 0.05 %, in two round trips, and not of packets sent before the cut. */
		REQUIRE(!before.skip && 2048 * lost > sent);
		REQUIRE(before.tested ? 32 * lost > sent : before.lossy_rounds >= 1);
		REQUIRE(!FLAG(2) || before.rounds >= NDM_BOUND_ROUNDS - 1);
		if (overshoot)
			REQUIRE(b->limit_fp == ndm_bounded(&before, max_t(u64, f->carried_fp,
									  CWND_FP_MIN)));
		else
			check_lowered(before.limit_fp, b->limit_fp, f->carried_fp);
		REQUIRE(cwnd_fp == min(f->cwnd_fp, b->limit_fp));
		if (!before.tested)
			f->before_fp = f->cwnd_fp;
	} else if (before.tested && !b->limit_fp) {
		/* The path's own losses: the window from before the first cut. */
		REQUIRE(cwnd_fp == max(f->cwnd_fp, f->before_fp) ||
			(cwnd_fp == f->cwnd_fp && f->now_us - before.cut_us > NDM_BOUND_US));
		f->before_fp = 0;
	} else {
		REQUIRE(cwnd_fp == f->cwnd_fp);
		if (!b->tested && before.limit_fp)
			check_growth(before.limit_fp, b->limit_fp, f->now_us - before.cut_us,
				     length_us, rtt_us);
		else
			REQUIRE(b->limit_fp == before.limit_fp);
		if (before.tested && !b->tested)
			f->before_fp = 0;
	}
	if (!b->rounds)
		f->carried_fp = 0;
	set_cwnd(f, cwnd_fp);
}

static void follow(struct flow *f, const struct event *event)
{
	const struct ndm_bound before = f->bound;
	u32 length_us = any(event->a), delivered = any(event->b), rtt_us = any(event->d);
	u32 limit_fp;

	pass(f, length_us, delivered, FLAG(0));
	ndm_bound_follow(&f->bound, f->now_us, length_us, rtt_us, FLAG(0),
			 f->cwnd_fp, delivered);
	f->before_fp = 0;
	limit_fp = f->bound.limit_fp;
	if (FLAG(0))
		check_lowered(before.limit_fp, limit_fp, carried_fp(f->cwnd_fp, delivered));
	else if (before.limit_fp && f->now_us - before.cut_us <= NDM_BOUND_US)
		check_growth(before.limit_fp, limit_fp, f->now_us - before.cut_us, length_us,
			     rtt_us);
	else
		REQUIRE(limit_fp == f->cwnd_fp);
	set_cwnd(f, f->cwnd_fp);
}

/* A mark is always congestion: the window before it is never restored. */
static void mark(struct flow *f)
{
	u32 before_fp = f->bound.limit_fp;

	ndm_bound_cut(&f->bound, f->now_us, f->cwnd_fp);
	check_lowered(before_fp, f->bound.limit_fp, f->cwnd_fp);
	f->before_fp = 0;
	set_cwnd(f, f->cwnd_fp);
}

static void undo(struct flow *f, const struct event *event)
{
	const struct ndm_bound before = f->bound;
	u32 before_fp;

	f->lost -= any(event->a);
	before_fp = ndm_bound_undo(&f->bound, f->lost, f->delivered);
	REQUIRE(before_fp == f->before_fp);
	REQUIRE(!before_fp || !f->bound.limit_fp);
	REQUIRE(f->bound.own >= before.own && !f->bound.tested);
	f->before_fp = 0;
	set_cwnd(f, max(f->cwnd_fp, before_fp));
}

/* -- the guard ---------------------------------------------------------------- */

static void begin_horizon(struct exact_guard *g, const struct ndm_guard_view *view)
{
	g->first = *view;
	g->decisions = 0;
	g->empty = 0;
}

static void exact_carried(struct exact_guard *g, const struct ndm_guard_view *view)
{
	__int128 rtt_us = min_t(u64, view->explained_us, NDM_RTT_MAX_US);
	bool slower = view->rtt_us > 2 * view->explained_us &&
		      ((view->cwnd_fp + (__int128)1) << 17) > rtt_us * g->best_rate;

	g->largest_rate = max(g->largest_rate, view->rate);
	if (view->rate > g->best_rate || slower)
		g->best_rate = view->rate;
}

static bool exact_check(struct exact_guard *g, const struct ndm_guard_view *view)
{
	u32 lost, delivered, us;
	u64 longest_us;
	bool starving;

	g->policy++;
	if (!g->first.cwnd_fp)
		begin_horizon(g, view);
	longest_us = view->explained_us;
	if (4 * view->standing_us < 3 * view->explained_us)
		longest_us -= view->standing_us;
	g->empty += view->used && view->rtt_us && 16ULL * view->rtt_us <= 17 * longest_us;
	if (++g->decisions < NDM_GUARD_HORIZON)
		return false;
	lost = view->lost - g->first.lost;
	delivered = view->delivered - g->first.delivered;
	us = view->now_us - g->first.now_us;
	starving = (!lost || lost >> 31) && g->empty >= NDM_GUARD_MOST &&
		   4ULL * view->cwnd_fp <= 5ULL * g->first.cwnd_fp &&
		   (__int128)delivered << NDM_RATE_FRAC <
			(__int128)(g->best_rate / 4) * (us ? us : 1);
	g->strikes = starving ? g->strikes + 1 : 0;
	g->best_rate = (15ULL * g->best_rate + 15) / 16;
	begin_horizon(g, view);
	if (g->strikes < NDM_GUARD_STRIKES)
		return false;
	/* Two horizons of 32 decisions. */
	REQUIRE(g->policy >= 64);
	g->strikes = 0;
	g->policy = 0;
	g->pause = NDM_GUARD_PAUSE * (1 << min(g->interventions, NDM_GUARD_PAUSE_LONGEST));
	g->interventions++;
	return true;
}

static void judge(struct flow *f, const struct event *event)
{
	u64 path_us = (u64)any(event->d) << FLAG(0);
	u64 standing_us = FLAG(6) && path_us ? 3 * path_us - FLAG(7) : 0;
	u64 explained_us = path_us + standing_us;
	/* At the longest RTT without a queue, which few inputs meet. */
	u64 longest_us = FLAG(7) ? path_us : explained_us;
	u64 rtt_us = longest_us + longest_us / 16 + FLAG(1);
	struct ndm_guard_view view = {
		.cwnd_fp = f->cwnd_fp,
		.rate = any(event->c),
		.rtt_us = FLAG(2) ? any(event->b) : min_t(u64, rtt_us, U32_MAX),
		.explained_us = explained_us,
		.standing_us = standing_us,
		.used = !FLAG(3),
	};
	u32 waits;

	pass(f, any(event->a), any(event->b), FLAG(4) - FLAG(5));
	view.now_us = f->now_us;
	view.lost = f->lost;
	view.delivered = f->delivered;
	ndm_guard_carried(&f->guard, &view);
	exact_carried(&f->exact, &view);
	if (f->guard.pause) {
		/* Many, as the longest pause is. */
		for (waits = 64; waits && f->exact.pause; waits--)
			REQUIRE(ndm_guard_wait(&f->guard) == !--f->exact.pause);
		if (!f->exact.pause)
			f->exact.first.cwnd_fp = 0;
	} else {
		REQUIRE(ndm_guard_check(&f->guard, &view) == exact_check(&f->exact, &view));
	}
	REQUIRE(f->guard.pause == f->exact.pause);
	REQUIRE(f->guard.pause <= NDM_GUARD_PAUSE << NDM_GUARD_PAUSE_LONGEST);
	REQUIRE(f->guard.interventions <= NDM_GUARD_PAUSE_LONGEST);
	REQUIRE(f->guard.best_rate == f->exact.best_rate);
	REQUIRE(f->guard.best_rate <= f->exact.largest_rate);
}

/* -- slow start --------------------------------------------------------------- */

static void exact_train(struct flow *f, u32 min_rtt_us)
{
	u64 packets = f->delivered - f->acked[2];
	u64 acking_us = f->now_us - f->acked[0], sending_us = f->sent_us - f->acked[1];

	if (f->train.begun) {
		if (packets < NDM_TRAIN_PACKETS || !acking_us || acking_us < min_rtt_us / 8)
			return;
		f->trains.rate = max_t(u64, f->trains.rate, (packets << 24) / acking_us);
		f->trains.spread |= 8 * acking_us > 9 * sending_us;
	}
	f->acked[0] = f->now_us;
	f->acked[1] = f->sent_us;
	f->acked[2] = f->delivered;
}

/* What the path holds, at the rate of the fastest train of two intervals. */
static u32 check_trains(const struct flow *f, u64 rtt_us)
{
	u64 rate = min_t(u64, max_t(u64, f->trains.rate, f->last_trains.rate), U32_MAX);
	u32 bdp_fp = ndm_train_bdp(&f->train, rtt_us);
	__int128 exact_fp = (__int128)rate * rtt_us >> 16;

	if (!f->trains.spread && !f->last_trains.spread) {
		REQUIRE(bdp_fp == NDM_TRAIN_UNKNOWN);
		return bdp_fp;
	}
	REQUIRE(bdp_fp <= CWND_FP_MAX && bdp_fp <= exact_fp);
	/* The last 3 bits of the rate do not count. */
	REQUIRE(bdp_fp == CWND_FP_MAX || bdp_fp + 1 + (__int128)7 * rtt_us / 65536 >= exact_fp);
	return bdp_fp;
}

/* One sign is no queue: it has to show in two intervals. */
static void check_phase(const struct flow *f)
{
	static const enum ndm_phase phases[2][2] = {
		{ NDM_STARTING, NDM_SUSPECTING },
		{ NDM_CONFIRMING, NDM_CONFIRMED },
	};

	REQUIRE(f->phase == NDM_SETTLING || f->phase == phases[f->last_queue][f->queue]);
	REQUIRE(ndm_in_slow_start(f->phase));
}

static void acknowledge(struct flow *f, const struct event *event)
{
	u32 min_rtt_us = min_t(u32, any(event->d), NDM_RTT_MAX_US);
	struct ndm_measure m = {
		.rtt_count = event->a >> 16,
		.low_rtt_us = min_t(u32, any(event->c), NDM_RTT_MAX_US),
		.min_rtt_us = min_rtt_us,
		.max_rate = any(event->b),
		.standing = event->c >> 24,
		.wait = event->d >> 24,
	};
	u32 delivered = any(event->b), bdp_fp;

	pass(f, any(event->a), delivered, 0);
	f->sent_us += FLAG(0) ? any(event->a) / 2 : any(event->c);
	exact_train(f, min_rtt_us);
	ndm_train_ack(&f->train, f->now_us, f->sent_us, f->delivered, min_rtt_us);
	bdp_fp = check_trains(f, 16ULL * min_rtt_us + 15);

	if (m.rtt_count && m.rtt_count % 8 == 0 && f->phase != NDM_SETTLING)
		f->queue |= exact_queue(m.low_rtt_us, min_rtt_us);
	f->phase = ndm_slow_start_ack(f->phase, &m);
	check_phase(f);

	check_grow(f->cwnd_fp, delivered, bdp_fp);
	check_hold(f->cwnd_fp, 10 << NDM_CWND_FRAC, bdp_fp);
	check_end(f->cwnd_fp, &m, FLAG(1));
	if (FLAG(2))
		set_cwnd(f, ndm_slow_start_grow(f->cwnd_fp, delivered, bdp_fp));
	else if (FLAG(3))
		set_cwnd(f, ndm_slow_start_end(f->cwnd_fp, &m, FLAG(1)));
}

static void end_interval(struct flow *f, const struct event *event)
{
	struct ndm_interval interval = {
		.rtt_count = event->a >> 16,
		.low_rtt_us = min_t(u32, any(event->c), NDM_RTT_MAX_US),
		.grew = FLAG(0),
		.x[NDM_IN_LOSS_RATE] = FLAG(1),
	};
	u32 min_rtt_us = min_t(u32, any(event->d), NDM_RTT_MAX_US);
	enum ndm_phase next = ndm_slow_start_close(f->phase, &interval, min_rtt_us);

	ndm_train_close(&f->train);
	f->last_trains = f->trains;
	f->trains = (struct exact_trains) {};
	check_trains(f, 16ULL * min_rtt_us + 15);

	if (interval.rtt_count % 8 >= 2 && f->phase != NDM_SETTLING)
		f->queue |= exact_queue(interval.low_rtt_us, min_rtt_us);
	if (FLAG(1) || f->phase == NDM_SETTLING) {
		REQUIRE(next == NDM_STEADY);
		next = NDM_STARTING;
		f->queue = false;
	} else if (f->queue && f->last_queue) {
		REQUIRE(next == (FLAG(0) ? NDM_STARTING : NDM_SETTLING));
		f->queue = false;
	}
	f->phase = next;
	f->last_queue = f->queue;
	f->queue = false;
	check_phase(f);
}

/* -- all of them -------------------------------------------------------------- */

static void decide(struct flow *f, const struct event *event)
{
	s16 action = (s16)event->a;

	/* Also the actions at which the window is known exactly. */
	if (FLAG(0))
		action &= ~8191;
	check_next_cwnd(f->cwnd_fp, action);
	set_cwnd(f, ndm_next_cwnd(f->cwnd_fp, action));
}

static void drain(const struct flow *f, const struct event *event)
{
	struct ndm_drain_clock clock = {
		.decision = any(event->a),
		.decisions = any(event->b),
		.us = any(event->c),
		.again = FLAG(0),
	};
	s16 x[NDM_INPUTS] = {
		[NDM_IN_RTT_RATIO] = (event->d & 32767) >> (event->d >> 28),
		[NDM_IN_RTT_VARIATION] = (event->a & 32767) >> (event->a >> 28),
	};
	u8 standing = (event->d >> 16 & 255) >> (event->d >> 24 & 7);

	check_drain_due(&clock, f->cwnd_fp, x, standing);
	check_scale_queue(f->cwnd_fp, x[NDM_IN_RTT_RATIO], event->b & 32767);
	check_drain_cwnd(f->cwnd_fp >> NDM_CWND_FRAC, x, standing, FLAG(1));
	check_drain_rtts(any(event->a), any(event->b), any(event->c),
			 min_t(u32, any(event->d), NDM_RTT_MAX_US));
	/* RTTs that are nearly the same. */
	check_drain_rtts(any(event->a), any(event->a) / 32 * 31 + (event->b & 1),
			 any(event->a), any(event->a) / 33 * 32);
}

static void happen(struct flow *f, const struct event *event)
{
	switch (event->kind % EVENT_KINDS) {
	case DECISION:
		decide(f, event);
		break;
	case WINDOW:
		set_cwnd(f, any(event->a));
		break;
	case ROUND:
		pass_round(f, event);
		break;
	case FOLLOW:
		follow(f, event);
		break;
	case MARK:
		mark(f);
		break;
	case UNDO:
		undo(f, event);
		break;
	case GUARD:
		judge(f, event);
		break;
	case ACK:
		acknowledge(f, event);
		break;
	case INTERVAL:
		end_interval(f, event);
		break;
	case DRAIN:
		drain(f, event);
		break;
	case CLOCK:
		pass(f, event->a, event->b, event->c);
		break;
	}
	check_bound(f);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct flow f = { .cwnd_fp = 10 << NDM_CWND_FRAC, .phase = NDM_STARTING };
	struct input in = { data, size };
	struct event event;
	int times;

	while (take(&in, &event, sizeof(event)))
		for (times = 1 + (event.again >> (event.again & 7)); times; times--)
			happen(&f, &event);
	return 0;
}
