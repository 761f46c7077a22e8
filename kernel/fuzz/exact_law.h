/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control law's stateless functions again, exactly: 128 bits, long double, and products
 * where ndm_window.h, ndm_company.h, ndm_slow_start.h, ndm_drain.h and ndm_bound.h have shifts
 * and quotients.
 */
#ifndef NDM_FUZZ_EXACT_LAW_H
#define NDM_FUZZ_EXACT_LAW_H

#include <math.h>

#include "ndm/ndm_bound.h"
#include "ndm/ndm_company.h"
#include "ndm/ndm_guard.h"
#include "ndm/ndm_slow_start.h"
#include "require.h"

#define CWND_FP_MIN (NDM_CWND_MIN << NDM_CWND_FRAC)
#define CWND_FP_MAX (NDM_CWND_MAX << NDM_CWND_FRAC)

/* -- ndm_window.h ------------------------------------------------------------- */

static void check_next_cwnd(u32 cwnd_fp, s16 action)
{
	u64 scaled = ndm_scaled_cwnd(cwnd_fp, action);
	u64 next = ndm_next_cwnd(cwnd_fp, action);
	u64 root = (next - scaled - NDM_CWND_ONE) / 4;
	long double log2 = fmaxl(-1, fminl(action / 16384.0L, 1));
	long double exact;

	if (log2 < -0.5L)
		log2 = 7 * log2 + 3;
	exact = cwnd_fp * exp2l(log2);
	/* The error of ndm_exp2(), and what the shift drops. */
	REQUIRE(fabsl(scaled - exact) <= 3.1e-5L * exact + 1);
	if (log2 == floorl(log2))
		REQUIRE(scaled == (u64)exact);
	REQUIRE(next == scaled + 4 * root + NDM_CWND_ONE);
	REQUIRE(root * root <= cwnd_fp && (root + 1) * (root + 1) > cwnd_fp);
	REQUIRE(next <= (1ULL << 32) + (1 << 18) + (1 << 8));
	REQUIRE(ndm_next_cwnd(cwnd_fp - 1, action) <= next);
	if (action > -32768)
		REQUIRE(ndm_scaled_cwnd(cwnd_fp, action - 1) <= scaled);
}

/* -- ndm_company.h ------------------------------------------------------------ */

/* @queue, @scaled: Q12. @cwnd_fp / (64 * 256) is the factor, between 1/2 and 2. */
static void check_scaled_queue(u32 cwnd_fp, s64 queue, s64 scaled)
{
	s64 factor = cwnd_fp < 32 << 8 ? 32 << 8 : cwnd_fp > 128 << 8 ? 128 << 8 : cwnd_fp;

	REQUIRE(scaled << 14 <= factor * queue);
	/* A window's last quarter of a packet of 64 is rounded down, and then the product. */
	REQUIRE((scaled + 1) << 14 > (factor - 3) * queue);
}

static void check_scale_queue(u32 cwnd_fp, s16 rtt_ratio, s16 inflight_ratio)
{
	s16 x[NDM_INPUTS] = {
		[NDM_IN_RTT_RATIO] = rtt_ratio,
		[NDM_IN_INFLIGHT_RATIO] = inflight_ratio,
	};

	ndm_scale_queue(x, cwnd_fp);
	if (x[NDM_IN_RTT_RATIO] < 32767)
		check_scaled_queue(cwnd_fp, rtt_ratio, x[NDM_IN_RTT_RATIO]);
	else
		REQUIRE(2 * rtt_ratio >= 32767);
	if (inflight_ratio <= 4096)
		REQUIRE(x[NDM_IN_INFLIGHT_RATIO] == inflight_ratio);
	else if (x[NDM_IN_INFLIGHT_RATIO] < 32767)
		check_scaled_queue(cwnd_fp, inflight_ratio - 4096, x[NDM_IN_INFLIGHT_RATIO] - 4096);
	else
		REQUIRE(2 * (inflight_ratio - 4096) >= 32767 - 4096);
}

/* -- ndm_slow_start.h --------------------------------------------------------- */

static bool exact_queue(s64 low_rtt_us, s64 min_rtt_us)
{
	s64 queue_us = low_rtt_us - min_rtt_us;

	return min_rtt_us && queue_us >= 250 &&
	       (8 * queue_us > min_rtt_us - 8 || queue_us >= 16000);
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
	/* 17 sixteenths of a BDP with 24 + 5 fraction bits. */
	__int128 bdp_fp = (__int128)m->max_rate * m->min_rtt_us *
			  (32 + m->standing + m->wait) * 17 >> 25;

	REQUIRE(next_fp >= cwnd_fp / 2 && next_fp <= most_fp);
	REQUIRE(next_fp == cwnd_fp / 2 || next_fp <= bdp_fp);
	REQUIRE(next_fp == min_t(u64, most_fp, U32_MAX) || next_fp + 4 > bdp_fp);
}

/* -- ndm_drain.h -------------------------------------------------------------- */

/* @x: (NDM_INPUTS) Q12. A queue of an eighth of min_rtt is one of 512. */
static void check_drain_due(const struct ndm_drain_clock *clock, u32 cwnd_fp, const s16 *x,
			    u8 standing)
{
	s32 unexplained = x[NDM_IN_RTT_RATIO] - 128 * standing;
	bool queue = unexplained >= 512;
	bool regular = clock->decision == 8 || (clock->decision == 16 && queue) ||
		       (clock->again && clock->decisions >= 8) || clock->us >= 20000000 ||
		       clock->decisions >= (queue ? 64 : 256);
	bool early = unexplained >= 4096 + 128 * standing;
	bool due = clock->decision >= 8 && clock->decisions >= 4 && cwnd_fp >= 1024 &&
		   ((regular && x[NDM_IN_RTT_VARIATION] <= 512) ||
		    (early && x[NDM_IN_RTT_VARIATION] <= 1024));

	REQUIRE(ndm_drain_due(clock, cwnd_fp, x, standing) == due);
}

static void check_drain_cwnd(u32 cwnd, const s16 *x, u8 standing, bool first)
{
	u64 rtt = 4096 + x[NDM_IN_RTT_RATIO], explained = 4096 + 128 * standing;
	u8 eighths = ndm_drain_eighths(x, standing, first);
	u32 kept = ndm_drain_cwnd(cwnd, eighths);

	/* What stays is a window: smaller than the whole one, and no single packet. */
	REQUIRE(kept >= NDM_CWND_MIN && kept <= cwnd);
	REQUIRE(kept < cwnd || cwnd < NDM_DRAIN_CWND_MIN);
	REQUIRE(kept >= 4 || cwnd < 8);
	REQUIRE(kept >= cwnd / 16);
	if (cwnd >= 64)
		REQUIRE(kept == (eighths ? (u64)cwnd * eighths / 8 : cwnd / 16));
	if (first) {
		/* An eighth of what the path holds is removed with the queue. */
		REQUIRE(eighths >= 1 && eighths <= 7);
		REQUIRE(eighths == 1 || eighths * rtt <= 7 * explained);
		REQUIRE(eighths == 7 || (eighths + 1) * rtt > 7 * explained);
	} else if (rtt < explained + 512) {
		REQUIRE(eighths == 6);
	} else {
		REQUIRE(eighths <= 4 && eighths != 3);
		/* A quarter of the path stays empty, and no more halvings than that needs. */
		REQUIRE(eighths * rtt <= 6 * explained);
		REQUIRE(eighths == 4 || (eighths ? 2 * eighths : 1) * rtt > 6 * explained);
	}
}

static void check_drain_rtts(u32 a_us, u32 b_us, u32 c_us, u32 d_us)
{
	s64 a = a_us, b = b_us, c = c_us, d = d_us, least = a < b ? a : b;
	u64 explained_us = 8ULL * a_us + 7;
	/* 5/4 of it, Q12; a quarter is rounded down to whole microseconds. */
	__int128 wide = (__int128)explained_us * 5 << 10;
	u16 kept = ndm_drain_kept(b_us, explained_us);
	__int128 excess;

	REQUIRE(kept >= 1 && kept <= 4096);
	REQUIRE(kept == 1 || (__int128)kept * b <= wide);
	REQUIRE(kept == 4096 || (kept + (__int128)1) * (b ? b : 1) > wide - 4096);
	REQUIRE(ndm_drains_agree(a_us, b_us) == (16 * llabs(a - b) <= least));
	REQUIRE(ndm_drain_flat(a_us, b_us, c_us, d_us) ==
		(32 * (a - b) <= a && 32 * (c - d) > d));
	excess = a > b ? (__int128)(a - b) * 32 / (c ? c : 1) : 0;
	REQUIRE(ndm_rtt_excess(a_us, b_us, c_us) == (excess < 255 ? (u8)excess : 255));
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

#endif /* NDM_FUZZ_EXACT_LAW_H */
