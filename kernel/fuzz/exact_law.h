/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control law's stateless functions again, exactly: 128 bits, long double, and products
 * where ndm_window.h, ndm_slow_start.h, ndm_drain.h, ndm_contest.h and ndm_bound.h have shifts
 * and quotients.
 */
#ifndef NDM_FUZZ_EXACT_LAW_H
#define NDM_FUZZ_EXACT_LAW_H

#include <math.h>
#include <stdlib.h>

#include "ndm/ndm_bound.h"
#include "ndm/ndm_contest.h"
#include "ndm/ndm_drain.h"
#include "ndm/ndm_slow_start.h"
#include "exact_features.h"
#include "require.h"

#define CWND_FP_MIN (NDM_CWND_MIN << NDM_CWND_FRAC)
#define CWND_FP_MAX (NDM_CWND_MAX << NDM_CWND_FRAC)

/* -- ndm_window.h ------------------------------------------------------------- */

/* The queue over the RTT without it. The root of a larger ratio would not fit. */
static void check_queue_ratio(u32 queue_us, u32 explained_us)
{
	u64 explained = explained_us ? explained_us : 1, largest = 0xffffdfff;
	u64 ratio = ndm_queue_ratio(queue_us, explained_us);

	REQUIRE(ratio <= largest && ratio * explained <= 65536ULL * queue_us);
	REQUIRE(ratio == largest || (ratio + 1) * explained > 65536ULL * queue_us);
}

static void check_next_cwnd(u32 cwnd_fp, u32 queue_us, u32 explained_us, s16 growth)
{
	long double explained = explained_us ? explained_us : 1, u = queue_us / explained;
	long double factor = powl(2, fmaxl(-1, fminl(growth / 16384.0L, 1)));
	long double added_fp = 256 * 12 * factor * sqrtl(fminl(u, 65535.875L) + 1 / 16.0L);
	/* ndm_exp2() is exact at -1, 0 and 1. */
	long double inexact = growth % 16384 && abs(growth) < 16384 ? 6e-5L * added_fp : 0;
	/* The root is rounded down after 8 bits, that of a ratio rounded down after 16. */
	long double rounded = 12 * factor * (1 + 1 / 128.0L) + 1;
	long double empty_fp = u < 1 / 32.0L ? cwnd_fp * (1 / 32.0L - u) : 0;
	long double exact = (cwnd_fp + added_fp) / (1 + u) + empty_fp;
	u64 next = ndm_next_cwnd(cwnd_fp, queue_us, explained_us, growth);

	check_queue_ratio(queue_us, explained_us);
	REQUIRE(next < 1ULL << 32);
	REQUIRE(next <= exact + inexact + cwnd_fp / 65536.0L + 1e-6L);
	REQUIRE(next + 2 >= exact - (inexact + rounded) / (1 + u));
	/* On an empty path the window grows, and with a queue it does not grow past its own. */
	REQUIRE(u > 1 / 64.0L || next > cwnd_fp);
	REQUIRE(u < 1 / 32.0L || cwnd_fp * u < added_fp + inexact || next <= cwnd_fp);
	REQUIRE(ndm_next_cwnd(cwnd_fp - 1, queue_us, explained_us, growth) <= next);
	if (growth > -32768)
		REQUIRE(ndm_next_cwnd(cwnd_fp, queue_us, explained_us, growth - 1) <= next);
}

/* -- ndm_slow_start.h --------------------------------------------------------- */

static bool exact_queue(s64 low_rtt_us, s64 min_rtt_us)
{
	s64 queue_us = low_rtt_us - min_rtt_us;

	return min_rtt_us && queue_us >= 250 && exact_is_queue(queue_us, min_rtt_us);
}

static void check_grow(u32 cwnd_fp, u32 acked, u32 bdp_fp)
{
	u64 grown_fp = cwnd_fp + ((u64)acked << NDM_CWND_FRAC);
	u32 next_fp = ndm_slow_start_grow(cwnd_fp, acked, bdp_fp);

	REQUIRE(next_fp >= cwnd_fp && next_fp <= grown_fp);
	if (next_fp == grown_fp || acked >= NDM_CWND_MAX)
		return;
	/* It stops three sixteenths above what the path holds; a sixteenth is rounded down. */
	REQUIRE(bdp_fp != NDM_TRAIN_UNKNOWN);
	REQUIRE(next_fp == cwnd_fp || 16ULL * next_fp <= 19ULL * bdp_fp);
	REQUIRE(16ULL * next_fp + 48 > 19ULL * bdp_fp);
}

static void check_hold(u32 cwnd_fp, u32 first_fp, u32 bdp_fp)
{
	u32 next_fp = ndm_slow_start_hold(cwnd_fp, first_fp, bdp_fp);
	u64 most_fp = bdp_fp == NDM_TRAIN_UNKNOWN ? 0 : 19ULL * bdp_fp;	/* sixteenths */

	REQUIRE(next_fp <= cwnd_fp && next_fp >= cwnd_fp / 2);
	REQUIRE(next_fp == cwnd_fp || (next_fp >= first_fp && 16ULL * next_fp + 48 > most_fp));
	REQUIRE(next_fp == cwnd_fp / 2 || next_fp <= first_fp || 16ULL * next_fp <= most_fp);
}

static void check_end(u32 cwnd_fp, const struct ndm_measure *m, bool grows)
{
	u32 next_fp = ndm_slow_start_end(cwnd_fp, m, grows);
	u64 most_fp = grows ? 2ULL * cwnd_fp : cwnd_fp;
	/* 17 sixteenths of a BDP with 24 fraction bits. */
	__int128 bdp_fp = (__int128)m->max_rate * ((u64)m->min_rtt_us + m->wait_us) * 17 >> 20;

	REQUIRE(next_fp >= cwnd_fp / 2 && next_fp <= most_fp);
	REQUIRE(next_fp == cwnd_fp / 2 || next_fp <= bdp_fp);
	REQUIRE(next_fp == min_t(u64, most_fp, U32_MAX) || next_fp + 4 > bdp_fp);
}

/* -- ndm_drain.h -------------------------------------------------------------- */

/* How far @rtt_us is above @explained_us. */
static s64 exact_queue_us(s64 rtt_us, s64 explained_us)
{
	return rtt_us > explained_us ? rtt_us - explained_us : 0;
}

/* The queue for the window. One of a thirty-second in the interval before has been answered. */
static void check_window_queue(s64 mean_us, s64 least_us, s64 last_us, s64 variation,
			       s64 explained_us)
{
	s64 low_us = least_us < mean_us ? least_us : mean_us, rtt_us = (mean_us + low_us + 1) / 2;
	s64 last_queue_us = exact_queue_us(last_us, explained_us);
	/* Twice the deviation, where it is more than a quarter. */
	s64 noise_us = 4 * variation > 4096 ? 2 * mean_us * variation / 4096 : 0;
	s64 queue_us;

	if (last_queue_us && 32 * last_queue_us >= explained_us && last_us < rtt_us)
		rtt_us = last_us;
	queue_us = exact_queue_us(rtt_us, explained_us + noise_us);
	REQUIRE(ndm_window_queue_us(mean_us, least_us, last_us, variation, explained_us) ==
		queue_us);
	/* At most the queue of the mean RTT. */
	REQUIRE(queue_us <= exact_queue_us(mean_us, explained_us));
}

/* Whether the RTT has fallen as where another flow drains. @wait: of the drains; may begin */
static bool exact_joined(const struct ndm_drain *d, const struct ndm_drain_view *v, u8 *wait)
{
	/* What the flow's own smaller window explains is no other flow's drain. */
	s64 fall_us = exact_queue_us(v->before_us, (s64)v->rtt_us + v->shrunk_us);
	s64 queue_us = exact_queue_us(v->before_us, v->explained_us);
	bool confirms = *wait;

	if (!exact_is_queue(fall_us, v->min_rtt_us))
		return false;
	/* A competing flow may have given way: once the queue has grown again. */
	if (v->contest && !confirms && 8 * fall_us + 7 >= queue_us)
		*wait = 8;
	if (v->contest)
		return d->decisions >= 8 && 2 * fall_us + 1 >= queue_us;
	if (confirms)
		return d->decisions >= 4 && 8 * fall_us + 7 >= queue_us;
	return d->decisions >= 8 && 4 * fall_us + 3 >= queue_us;
}

/* Returns whether a drain is due, as from here on. */
static bool check_drain_due(struct ndm_drain *d, const struct ndm_drain_view *v)
{
	const struct ndm_drain before = *d;
	s64 queue_us = exact_queue_us(v->rtt_us, v->explained_us);
	/* Once it is due, it stays so where it cannot begin. */
	bool waited = before.wait == 1, confirms = before.wait, slower, joined, due = false;
	u8 wait = before.wait >= 2 ? before.wait - 1 : before.wait;

	slower = before.decisions >= 4 && !v->contest && queue_us >= (s64)v->explained_us;
	if (v->cwnd_fp >= 4 << 8 && v->rtt_us && v->decision >= 8 && v->variation <= 1024) {
		joined = !slower && exact_joined(&before, v, &wait);
		due = slower || waited || (confirms && joined);
		if (v->variation <= 512)
			due |= joined || v->now_us - before.us >= 10000000 ||
			       (!before.before_us && before.decisions >= 8) ||
			       (before.before_us &&
				(before.decisions >= 64 || before.decisions >= v->decision / 2) &&
				(v->decision < 64 || exact_is_queue(queue_us, v->min_rtt_us)));
	}
	REQUIRE(ndm_drain_due(d, v) == due);
	REQUIRE(d->wait == wait && wait <= 8);
	REQUIRE(d->us == before.us && d->decisions == before.decisions && d->cwnd == before.cwnd);
	return due;
}

/* The two intervals after slow start have too few decisions for a drain to be joined. */
static void check_drain_settled(struct ndm_drain *d)
{
	const struct ndm_drain before = *d;

	ndm_drain_settled(d);
	REQUIRE(d->decisions == before.decisions || before.decisions + 2 >= 8);
	REQUIRE(d->decisions <= before.decisions && d->decisions + 2 < 8);
	REQUIRE(d->decisions == before.decisions || d->decisions + 3 == 8);
	REQUIRE(d->us == before.us && d->before_us == before.before_us && d->wait == before.wait);
}

/* The window in a drain is three quarters of what the path holds, rounded up, and a packet. */
static void check_drain_begin(struct ndm_drain *d, const struct ndm_drain_view *v, u32 rate)
{
	/* 26 fraction bits. */
	unsigned __int128 kept = (unsigned __int128)3 * v->explained_us * rate;
	unsigned __int128 packet = 1 << 26, cwnd;

	ndm_drain_begin(d, v, rate);
	cwnd = d->cwnd * packet;
	REQUIRE(d->us == v->now_us && d->before_us == v->rtt_us);
	REQUIRE(!d->decisions && !d->wait);
	REQUIRE(d->cwnd >= NDM_CWND_MIN && d->cwnd <= NDM_CWND_MAX);
	REQUIRE(d->cwnd == NDM_CWND_MAX || cwnd + 12 >= kept + packet);
	REQUIRE(cwnd <= kept + 2 * packet);
}

/* A quarter of what the path holds stays beside it. */
static void check_drain_kept(const struct ndm_drain *d, u32 rtt_us)
{
	u16 kept = ndm_drain_kept(d, rtt_us);
	/* 5/4 of the RTT, Q12; a quarter is rounded down to whole microseconds. */
	__int128 wide = (__int128)rtt_us * 5 << 10, before = d->before_us ? d->before_us : 1;

	REQUIRE(kept >= 1 && kept <= 4096);
	REQUIRE(kept == 1 || kept * before <= wide);
	REQUIRE(kept == 4096 || (kept + 1) * before > wide - 4096);
}

/* -- ndm_contest.h ------------------------------------------------------------ */

/* What the drains of a connection have found. */
struct exact_contest {
	u64 entry_fp, first_us, queue_us;
	u32 findings;
	bool on;
};

/* Whether a drain speaks for competing flows (1), against them (-1) or neither. */
static int exact_finding(const struct exact_contest *c, const struct ndm_contest_view *v)
{
	u64 queue_us = v->queue_us;

	if (4 * queue_us > v->min_rtt_us && 8 * (u64)v->left_us > queue_us)
		return 8 * queue_us >= 7 * c->queue_us;
	return v->losses & 127 ? 0 : -1;
}

static void exact_mode(struct exact_contest *c, bool on)
{
	c->on = on;
	c->findings = 0;
}

static void exact_judge(struct exact_contest *c, const struct ndm_contest_view *v)
{
	int finding = exact_finding(c, v);

	if (!c->on && !c->findings) {
		c->entry_fp = v->cwnd_fp;
		c->first_us = v->queue_us;
	}
	c->queue_us = v->queue_us;
	if (c->on)
		finding = -finding;
	if (finding > 0)
		c->findings++;
	else if (finding < 0 && c->findings)
		c->findings--;
	/* A queue that has not grown since is no competing flow's. */
	if (!c->on && c->findings == 4 &&
	    c->queue_us < c->first_us + c->first_us / 8)
		c->findings = 0;
	if (c->findings == 4)
		exact_mode(c, !c->on);
}

static void check_contest(const struct ndm_contest *c, const struct exact_contest *exact)
{
	REQUIRE(c->on == exact->on);
	REQUIRE(c->findings == exact->findings && c->findings < 4);
	REQUIRE(c->queue_us == exact->queue_us && c->entry_fp == exact->entry_fp);
	REQUIRE(c->first_us == exact->first_us);
}

/* -- ndm_bound.h -------------------------------------------------------------- */

/* A cut leaves 0.7, of which 179 / 256 is 0.1 % less, but not less than the smallest window. */
static void check_cut(u32 limit_fp, u64 carried_fp)
{
	REQUIRE(limit_fp >= CWND_FP_MIN);
	REQUIRE(limit_fp == CWND_FP_MIN || 10ULL * limit_fp <= 7 * carried_fp);
	REQUIRE(1000ULL * limit_fp + 1000 >= 699 * carried_fp);
}

/* A bound that grows: by length / RTT + 1.2 t^2 length packets, in seconds, from @before_fp. */
static void check_growth(u32 before_fp, u32 limit_fp, u32 t_us, u32 length_us, u32 rtt_us)
{
	const __int128 second3 = 10000000000000000000ULL;	/* us^3, and a decimal */
	__int128 length = min_t(u32, length_us, (1 << 24) - 1);
	__int128 linear = rtt_us ? 256 * length / rtt_us : 256;
	/* The clock has steps of 1.024 ms, and the factor is 0.62 % less. */
	__int128 late_us = max_t(s64, (s64)t_us - 1023, 0);
	__int128 most = before_fp + linear + 3072 * (__int128)t_us * t_us * length / second3;
	__int128 least = before_fp + linear - 1 + 3052 * late_us * late_us * length / second3;

	if (t_us > NDM_BOUND_US) {
		REQUIRE(!limit_fp);
		return;
	}
	REQUIRE(limit_fp <= most && limit_fp <= CWND_FP_MAX);
	REQUIRE(limit_fp >= least || limit_fp == CWND_FP_MAX);
}

/* At most two losses, and one of @packets of as many. */
static bool exact_few(u64 lost, u64 delivered, u32 packets)
{
	return packets * lost <= 2 * packets + lost + delivered;
}

/* Whether a round trip loses packets at a queue that has been four times as long. */
static bool exact_own(u64 longest_us, const struct ndm_bound_round *r, u64 lost)
{
	if (r->starting)
		return r->unfilled && exact_few(lost, r->carried, 8);
	return exact_few(lost, r->carried, 32) && exact_is_queue(longest_us, r->min_rtt_us) &&
	       4 * (r->queue_us + 1ULL) <= longest_us;
}

/* The own share, Q16, goes an eighth of the way to a round trip's, at most a thirty-second. */
static void check_own(s64 before, s64 own, u64 lost, u64 delivered)
{
	u64 sent = lost + delivered ? lost + delivered : 1;
	s64 share = 16 * min_t(u64, lost * 4096 / sent, 128);

	REQUIRE(8 * (own - before) <= share - before);
	REQUIRE(8 * (own - before) + 7 >= share - before);
}

/* Without a queue it fades by a sixty-fourth, rounded up. */
static void check_own_fades(s64 before, s64 own)
{
	REQUIRE(64 * own <= 63 * before && 64 * own + 63 >= 63 * before);
}

#endif /* NDM_FUZZ_EXACT_LAW_H */
