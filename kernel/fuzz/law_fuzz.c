// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on the control law's pure headers, with ASan and UBSan: `make fuzz`.
 *
 * The input is a flow's events: decisions, round trips under the bound, marks, undone
 * losses, packet trains, the signs of slow start, drains and what they find. All numbers are
 * arbitrary, within the limits that the headers state. Windows follow each other as in
 * ndm_control.h. exact_law.h checks the stateless functions; the state of bound, contest, trains
 * and phases is compared with what follows from the flow's history.
 */
#include "exact_law.h"
#include "input.h"

/* A new kind changes the meaning of the corpus: merge it again (kernel/fuzz/Makefile). */
enum event_kind {
	DECISION, WINDOW, ROUND, FOLLOW, MARK, UNDO, ACK, INTERVAL, DRAIN, FINDING, CLOCK,
	EVENT_KINDS
};

/* Packed like the fuzzer's bytes. */
struct event {
	u8 kind, again, flags;
	u32 a, b, c, d;
} __attribute__((packed));

#define FLAG(n) (event->flags >> (n) & 1)

/* The trains of an interval. */
struct exact_trains {
	u64 rate;
	bool spread;
};

struct flow {
	u32 now_us, sent_us, lost, delivered, cwnd_fp;
	struct ndm_bound bound;
	u64 carried_fp;	/* the largest carried window of the sample */
	u64 longest_us;	/* the longest queue of a round trip */
	u64 since_cut;	/* round trips since losses have cut the bound */
	u32 before_fp;	/* the window before the first cut of this recovery; 0: none */
	u32 before_limit_fp;	/* and the bound */
	struct ndm_drain drain;
	struct ndm_contest contest;
	struct exact_contest exact_contest;
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
	REQUIRE(b->own <= NDM_BOUND_OWN_MAX << NDM_BOUND_OWN_FRAC);
	REQUIRE(b->uncut_fp == f->before_fp && b->most_us == f->longest_us);
	REQUIRE(!b->uncut_fp || b->uncut_limit_fp == f->before_limit_fp);
	REQUIRE(b->lossy_rounds <= b->rounds && b->rounds < NDM_BOUND_ROUNDS);
	REQUIRE(b->overshoot <= NDM_BOUND_OVERSHOOT);
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

/* A round trip that ends now. */
static struct ndm_bound_round end_round(struct flow *f, const struct event *event)
{
	struct ndm_bound_round round = {
		.length_us = any(event->a),
		.carried = any(event->b),
		.rtt_us = any(event->d),
		.cwnd_fp = f->cwnd_fp,
		.starting = FLAG(0),
		.unfilled = FLAG(2),
		.min_rtt_us = min_t(u32, any(event->d), NDM_RTT_MAX_US) >> FLAG(3),
	};

	/* Around a quarter of the longest queue, that one, as without a sample, or any. */
	round.queue_us = FLAG(4) ? (FLAG(7) ? f->bound.most_us : f->bound.most_us / 4 - FLAG(5)) :
				 min_t(u32, any(event->c ^ event->d), NDM_RTT_MAX_US);
	if (!f->bound.most_us)
		round.queue_us &= NDM_RTT_MAX_US - 1;
	pass(f, round.length_us, round.carried,
	     FLAG(1) ? -(any(event->c) >> 1) : any(event->c) >> (FLAG(6) * 24));
	round.now_us = f->now_us;
	round.lost = f->lost;
	round.delivered = f->delivered;
	f->longest_us = max_t(u64, f->longest_us, round.queue_us);
	return round;
}

static void pass_round(struct flow *f, const struct event *event)
{
	const struct ndm_bound before = f->bound, *b = &f->bound;
	struct ndm_bound_round round = end_round(f, event);
	u32 now = max_t(s32, f->lost - before.last_lost, 0), first = before.lost, lossy, cwnd_fp;
	bool overshoot = round.starting || before.overshoot > 1, own, congested;
	u64 lost, sent;

	f->carried_fp = max_t(u64, f->carried_fp, carried_fp(f->cwnd_fp, round.carried));
	own = exact_own(f->longest_us, &round, now);
	cwnd_fp = ndm_bound_update(&f->bound, &round);
	REQUIRE(cwnd_fp == ndm_bounded(b, f->cwnd_fp));
	/* The path's own losses are no part of the sample, and no others of the share. */
	if (own)
		check_own(before.own, b->own, now, round.carried);
	else if (!round.starting && !exact_is_queue(f->longest_us, round.min_rtt_us))
		check_own_fades(before.own, b->own);
	else
		REQUIRE(b->own == before.own);
	if (own)
		first += now;
	lossy = before.lossy_rounds + (now && !own);
	lost = max_t(s32, f->lost - first, 0);
	sent = lost + (f->delivered - before.delivered);
	/* In two round trips more than two, more than twice the share and 0.05 %, after the cut. */
	congested = !before.skip && lossy >= 2 &&
		    4096 * lost > 8192 + sent * (b->own / 8 + 2);
	REQUIRE(b->skip == congested);
	REQUIRE(b->last_lost == f->lost);
	if (congested) {
		if (overshoot)
			REQUIRE(b->limit_fp == ndm_bounded(&before, max_t(u64, f->carried_fp,
									  CWND_FP_MIN)));
		else
			check_lowered(before.limit_fp, b->limit_fp, f->carried_fp);
		if (!f->before_fp) {
			f->before_fp = f->cwnd_fp;
			f->before_limit_fp = before.limit_fp;
		}
		f->since_cut = 0;
	} else if (f->since_cut++ < 8) {
		/* A lower window may only have lost less. */
		REQUIRE(b->limit_fp == before.limit_fp);
	} else if (before.limit_fp) {
		check_growth(before.limit_fp, b->limit_fp, f->now_us - before.cut_us,
			     round.length_us, round.rtt_us);
	} else {
		REQUIRE(!b->limit_fp);
	}
	/* The next sample begins. */
	if (congested || before.skip || before.rounds == NDM_BOUND_ROUNDS - 1) {
		REQUIRE(!b->rounds && !b->lossy_rounds && b->lost == f->lost);
		f->carried_fp = 0;
	} else {
		REQUIRE(b->rounds == before.rounds + 1 && b->lossy_rounds == lossy);
	}
	set_cwnd(f, cwnd_fp);
}

/* In contest the window is the bound. */
static void follow(struct flow *f, const struct event *event)
{
	struct ndm_bound before;
	struct ndm_bound_round round;
	bool loss = FLAG(0), probing = FLAG(7);
	u32 limit_fp, next_fp;

	if (FLAG(2))
		ndm_bound_lift(&f->bound);
	before = f->bound;
	round = end_round(f, event);
	ndm_bound_follow(&f->bound, &round, loss, probing);
	limit_fp = f->bound.limit_fp;
	REQUIRE(limit_fp && f->bound.last_lost == f->lost && f->bound.own == before.own);
	/* One cut in a round trip: the next one's packets were sent before it. */
	REQUIRE(f->bound.skip == (loss && !before.skip));
	if (f->bound.skip) {
		check_lowered(before.limit_fp, limit_fp, carried_fp(f->cwnd_fp, round.carried));
	} else if (before.limit_fp && f->now_us - before.cut_us <= NDM_BOUND_US) {
		next_fp = f->cwnd_fp / 4;
		if (!probing)
			check_growth(before.limit_fp, limit_fp, f->now_us - before.cut_us,
				     round.length_us, round.rtt_us);
		else if (limit_fp < CWND_FP_MAX)
			check_growth(before.limit_fp, limit_fp - next_fp,
				     f->now_us - before.cut_us, round.length_us, round.rtt_us);
	} else {
		REQUIRE(limit_fp == f->cwnd_fp && f->bound.cut_us == f->now_us);
	}
	/* The losses of the contest are none of a later sample. */
	REQUIRE(f->bound.lost == f->lost && !f->bound.lossy_rounds);
	f->carried_fp = 0;
	set_cwnd(f, CWND_FP_MAX);
	REQUIRE(f->cwnd_fp == limit_fp);
}

/* A mark is always congestion: the window before it is never restored. */
static void mark(struct flow *f)
{
	u32 before_fp = f->bound.limit_fp;

	ndm_bound_mark(&f->bound, f->now_us, f->cwnd_fp);
	check_lowered(before_fp, f->bound.limit_fp, f->cwnd_fp);
	f->before_fp = 0;
	set_cwnd(f, f->cwnd_fp);
}

/* The last losses were none: the window and the bound from before their recovery's first cut. */
static void undo(struct flow *f, const struct event *event)
{
	const struct ndm_bound before = f->bound;
	u32 before_fp;

	if (FLAG(0)) {	/* another recovery begins */
		ndm_bound_recover(&f->bound);
		f->before_fp = 0;
	}
	f->lost -= any(event->a);
	ndm_bound_forget(&f->bound, f->lost);
	REQUIRE(f->bound.last_lost == f->lost && !f->bound.lossy_rounds);
	if (FLAG(1))
		return;
	before_fp = ndm_bound_undo(&f->bound);
	REQUIRE(before_fp == f->before_fp);
	REQUIRE(f->bound.limit_fp == (before_fp ? f->before_limit_fp : before.limit_fp));
	REQUIRE(f->bound.own == before.own);
	if (before_fp)
		f->since_cut = NDM_BOUND_ROUNDS;
	f->before_fp = 0;
	set_cwnd(f, max(f->cwnd_fp, before_fp));
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
		.wait_us = min_t(u32, any(event->c ^ event->b), NDM_RTT_MAX_US),
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
		.lost = any(event->b),
		.delivered = any(event->b ^ event->c),
	};
	u32 min_rtt_us = min_t(u32, any(event->d), NDM_RTT_MAX_US);
	u32 bdp_fp = FLAG(2) ? f->cwnd_fp + FLAG(3) : any(event->c);
	bool few = ndm_slow_start_few(&interval, f->cwnd_fp, bdp_fp);
	enum ndm_phase next = ndm_slow_start_close(f->phase, &interval, min_rtt_us, few);

	ndm_train_close(&f->train);
	f->last_trains = f->trains;
	f->trains = (struct exact_trains) {};
	check_trains(f, 16ULL * min_rtt_us + 15);

	if (interval.rtt_count % 8 >= 2 && f->phase != NDM_SETTLING)
		f->queue |= exact_queue(interval.low_rtt_us, min_rtt_us);
	/* At most two losses, and an eighth below what the path holds. */
	REQUIRE(few == (f->cwnd_fp < bdp_fp ? exact_few(interval.lost, interval.delivered, 8) :
					      interval.lost <= 2));
	if (!few || f->phase == NDM_SETTLING) {
		REQUIRE(next == NDM_STEADY);
		if (f->phase == NDM_SETTLING)
			check_drain_settled(&f->drain);
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
	s16 growth = (s16)event->a;
	u32 explained_us = any(event->b);
	/* Around an empty path's longest queue and half of it, or any. */
	u32 queue_us = FLAG(1) ? (explained_us >> (5 + FLAG(2))) + FLAG(3) : any(event->c);

	/* Also the actions at which the factor is known exactly. */
	if (FLAG(0))
		growth &= ~16383;
	check_next_cwnd(f->cwnd_fp, queue_us, explained_us, growth);
	set_cwnd(f, ndm_next_cwnd(f->cwnd_fp, queue_us, explained_us, growth));
}

/* RTTs of which the later is nearly the one before, or any. */
static u32 next_rtt_us(u32 before_us, const struct event *event)
{
	if (FLAG(4))
		return before_us - (before_us >> (1 + FLAG(5) + 2 * FLAG(6))) + FLAG(7) - 1;
	return any(event->d);
}

/* Of any RTTs, and around the shortest queue that counts and the least variation that does. */
static void check_window_queues(const struct ndm_drain_view *view, const struct event *event)
{
	u32 least_us = view->rtt_us - (view->rtt_us >> (event->d & 7));
	u32 last_us = min_t(u64, view->explained_us + (view->explained_us + 31) / 32 - FLAG(5),
			    NDM_RTT_MAX_US);

	check_window_queue(view->rtt_us, any(event->a ^ event->d), view->before_us,
			   view->variation, view->explained_us);
	check_window_queue(view->rtt_us, least_us, last_us, 1024 + FLAG(6), view->explained_us);
}

static void drain(struct flow *f, const struct event *event)
{
	u32 before_us = min_t(u32, any(event->b), NDM_RTT_MAX_US);
	u32 min_rtt_us = min_t(u32, any(event->c), NDM_RTT_MAX_US);
	struct ndm_drain_view view = {
		.now_us = FLAG(0) ? f->drain.us + 9999999 + FLAG(1) : f->now_us,
		.decision = any(event->a),
		.cwnd_fp = f->cwnd_fp,
		.rtt_us = min_t(u32, next_rtt_us(before_us, event), NDM_RTT_MAX_US),
		.before_us = before_us,
		.min_rtt_us = min_rtt_us,
		.explained_us = (u64)min_rtt_us + (FLAG(2) ? any(event->a) & 0x7fffffff : 0),
		.shrunk_us = event->a >> 31 ? before_us >> (event->a >> 8 & 7) : 0,
		.variation = (event->a & 32767) >> (event->a >> 28),
		.contest = f->contest.on,
	};

	if (f->drain.decisions < U16_MAX)
		f->drain.decisions++;
	if (FLAG(3) && f->drain.decisions < U16_MAX - 64)
		f->drain.decisions += 56;
	if (check_drain_due(&f->drain, &view))
		check_drain_begin(&f->drain, &view, any(event->d));
	check_window_queues(&view, event);
	check_drain_kept(&f->drain, view.rtt_us);
	check_drain_kept(&f->drain, f->drain.before_us / 5 * 4 + FLAG(7));
}

static void find(struct flow *f, const struct event *event)
{
	struct ndm_contest_view view = {
		.min_rtt_us = min_t(u32, any(event->a), NDM_RTT_MAX_US),
		.cwnd_fp = f->cwnd_fp,
		.losses = FLAG(0) ? 0 : 1 << (event->b & 15),
	};

	view.queue_us = min_t(u32, any(event->c), NDM_RTT_MAX_US);
	if (FLAG(1))
		view.queue_us = f->contest.queue_us - f->contest.queue_us / 8 - FLAG(2);
	else if (FLAG(2))
		view.queue_us = view.min_rtt_us / 4 + FLAG(3);
	else if (FLAG(6))
		view.queue_us = min_t(u64, f->contest.first_us + (u64)f->contest.first_us / 8 -
					   FLAG(7), NDM_RTT_MAX_US);
	view.left_us = FLAG(4) ? view.queue_us / 8 + FLAG(5) :
				 min_t(u32, any(event->d), NDM_RTT_MAX_US);
	ndm_contest_judge(&f->contest, &view);
	exact_judge(&f->exact_contest, &view);
	if (f->contest.findings)
		f->drain.wait = NDM_DRAIN_SOON;
}

/* Time passes, on the same route or on one that is twice as long. */
static void wait(struct flow *f, const struct event *event)
{
	pass(f, event->a, event->b, event->c);
	if (FLAG(0))
		f->bound.most_us = f->longest_us = 0;
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
	case ACK:
		acknowledge(f, event);
		break;
	case INTERVAL:
		end_interval(f, event);
		break;
	case DRAIN:
		drain(f, event);
		break;
	case FINDING:
		find(f, event);
		break;
	case CLOCK:
		wait(f, event);
		break;
	}
	check_bound(f);
	check_contest(&f->contest, &f->exact_contest);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct flow f = {
		.cwnd_fp = 10 << NDM_CWND_FRAC,
		.phase = NDM_STARTING,
		.since_cut = NDM_BOUND_ROUNDS,
	};
	struct input in = { data, size };
	struct event event;
	int times;

	while (take(&in, &event, sizeof(event)))
		for (times = 1 + (event.again >> (event.again & 7)); times; times--)
			happen(&f, &event);
	return 0;
}
