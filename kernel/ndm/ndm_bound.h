/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bound: what the window may be at most after congestion, whatever the policy wants,
 * and the test that tells a path's own losses from those of congestion.
 *
 *	limit += 1 + 0.4 (t^3)' packets in a round trip; t: seconds since the cut
 *
 * The policy may choose any smaller window. docs/explanation/control-law.md tells the law.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_BOUND_H
#define NDM_BOUND_H

#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "ndm_schema.h"
#include "ndm_window.h"

/* A cut leaves 0.7 of the window, as CUBIC's: Q8. */
#define NDM_BOUND_CUT 179

/* Losses of which at least so many, and so large a share (Q12) count as congestion. */
#define NDM_BOUND_LOSSES 2
#define NDM_BOUND_SHARE (1 << (NDM_FEATURE_FRAC - 11))	/* 0.05 % */

/* Round trips in which they are counted, and those of them that have losses at least. */
#define NDM_BOUND_LOSSY 2
#define NDM_BOUND_ROUNDS 8

/*
 * A test compares the losses with those at the share that led to the cut. Each loss counts
 * 2, each expected one -1. The result is known at 3 or -3: a sequential test of the share
 * against a quarter of the share, with errors of some 10 %.
 */
#define NDM_BOUND_EVIDENCE (3 << NDM_FEATURE_FRAC)

/*
 * A larger share is always congestion, and never taken for the path's own: where many flows
 * test at different times, each finds that no smaller window of its own helps. Reordering is
 * proved by DSACKs.
 */
#define NDM_BOUND_OWN_MAX (1 << (NDM_FEATURE_FRAC - 5))	/* a thirty-second */
#define NDM_BOUND_REORDERED_MAX (1 << (NDM_FEATURE_FRAC - 3))	/* an eighth */

/* Round trips for which the own share is known, doubled with each test that confirms it. */
#define NDM_BOUND_KNOWN 256
#define NDM_BOUND_KNOWN_LONGEST 3	/* times doubled */

/* The losses of slow start end so many round trips after it. */
#define NDM_BOUND_OVERSHOOT 3

/* Later than so long after a cut there is no bound. */
#define NDM_BOUND_US (60 * 1000 * 1000)

struct ndm_bound {
	u32 limit_fp;	/* the bound, NDM_CWND_FRAC fraction bits; 0: none */
	u32 tested_fp;	/* the window before the first of the cuts that are being tested */
	u32 cut_us;	/* the time of the last cut */
	u32 lost;	/* the counters at the beginning of the sample */
	u32 delivered;
	u32 last_lost;	/* the counter one round trip ago */
	u32 most_fp;	/* the largest window of the sample that the path has carried */
	u16 own;	/* share of packets that the path loses at any window, Q12 */
	u16 proved;	/* the share that the last test has found: own is at most that */
	u16 known;	/* round trips for which it is still known */
	u16 tested;	/* share that has led to the last of these cuts; 0: no test */
	u8 confirmed;	/* tests in a row that have found an own share */
	u8 rounds;	/* round trips of the sample */
	u8 lossy_rounds;	/* those of them with losses */
	u8 overshoot;	/* round trips in which a loss may be that of slow start */
	bool skip;	/* this round trip's packets were sent before the cut */
};

static inline void ndm_bound_sample(struct ndm_bound *b, u32 lost, u32 delivered)
{
	b->lost = lost;
	b->delivered = delivered;
	b->last_lost = lost;
	b->most_fp = 0;
	b->rounds = 0;
	b->lossy_rounds = 0;
}

/* What the path has carried of a window, in a round trip that delivered @carried packets. */
static inline u32 ndm_bound_carried(u32 cwnd_fp, u32 carried)
{
	u32 carried_fp = min(carried, NDM_CWND_MAX) << NDM_CWND_FRAC;

	/* At least half, as the round trip may have begun with a smaller window. */
	return min(cwnd_fp, max(carried_fp, cwnd_fp / 2));
}

/* The window within the bound. */
static inline u32 ndm_bounded(const struct ndm_bound *b, u32 cwnd_fp)
{
	return b->limit_fp ? min(cwnd_fp, b->limit_fp) : cwnd_fp;
}

/**
 * ndm_bound_cut - congestion: cut the bound, and end the test of an earlier cut
 * @b: the bound
 * @now_us: the time
 * @carried_fp: the window that the path has carried, NDM_CWND_FRAC fraction bits
 *
 * Never raises the bound: a mark may have cut it since the path has carried the window.
 */
static inline void ndm_bound_cut(struct ndm_bound *b, u32 now_us, u32 carried_fp)
{
	u32 limit_fp = max_t(u32, (u64)carried_fp * NDM_BOUND_CUT >> 8,
			     NDM_CWND_MIN << NDM_CWND_FRAC);

	b->limit_fp = ndm_bounded(b, limit_fp);
	b->cut_us = now_us;
	b->tested = 0;
}

/* The bound's growth after an interval of @length_us. @rtt_us: the RTT; 0: none yet */
static inline void ndm_bound_grow(struct ndm_bound *b, u32 now_us, u32 length_us,
				  u32 rtt_us)
{
	u32 t = (now_us - b->cut_us) >> 10;	/* 1.024 ms */
	u32 bounded_us = min_t(u32, length_us, (1 << 24) - 1);
	u64 next_fp;

	if (!b->limit_fp)
		return;
	if (now_us - b->cut_us > NDM_BOUND_US) {
		b->limit_fp = 0;
		return;
	}
	/*
	 * 3 * 0.4 t^2 packets per second^3, in these units 3.22e-10 = 11 / 2^35. t is
	 * below 2^16 and the length below 2^24, so the product is below 2^60.
	 */
	next_fp = b->limit_fp + ((u64)t * t * 11 * bounded_us >> 35) +
		  (rtt_us ? (bounded_us << NDM_CWND_FRAC) / rtt_us : NDM_CWND_ONE);
	b->limit_fp = min_t(u64, next_fp, NDM_CWND_MAX << NDM_CWND_FRAC);
}

/* A test has found that the path loses this share at any window. */
static inline void ndm_bound_keep_own(struct ndm_bound *b, u16 share)
{
	b->own = share;
	b->proved = share;
	if (share > NDM_BOUND_OWN_MAX)
		b->confirmed = 0;
	b->known = NDM_BOUND_KNOWN << b->confirmed;
	b->confirmed = min(b->confirmed + 1, NDM_BOUND_KNOWN_LONGEST);
	b->limit_fp = 0;
	b->tested = 0;
}

/* The last losses were no sign of congestion. @lost: the counter now */
static inline void ndm_bound_forget(struct ndm_bound *b, u32 lost)
{
	b->lost = lost;
	b->last_lost = lost;
}

/* The packets of a sample. */
struct ndm_bound_seen {
	u32 lost;
	u64 sent;
	u32 share;	/* lost of sent, Q12, at most 1 */
};

/* The sample. @lost, @delivered: the counters now */
static inline struct ndm_bound_seen ndm_bound_see(const struct ndm_bound *b, u32 lost,
						  u32 delivered)
{
	struct ndm_bound_seen seen = { .lost = max_t(s32, lost - b->lost, 0) };

	seen.sent = (u64)seen.lost + (delivered - b->delivered);
	if (seen.lost)
		seen.share = div64_u64((u64)seen.lost << NDM_FEATURE_FRAC, seen.sent);
	return seen;
}

/*
 * The last losses were none: segments had only changed their order, and will again. @lost,
 * @delivered: the counters now. Returns the window before a cut that they have caused, 0
 * without one.
 */
static inline u32 ndm_bound_undo(struct ndm_bound *b, u32 lost, u32 delivered)
{
	u32 before_fp = b->tested ? b->tested_fp : 0;
	u32 share = ndm_bound_see(b, lost, delivered).share;

	share = min_t(u32, max_t(u32, share, b->tested), NDM_BOUND_REORDERED_MAX);
	ndm_bound_forget(b, lost);
	if (before_fp || share > b->own)
		ndm_bound_keep_own(b, max_t(u32, share, b->own));
	return before_fp;
}

/* What a sample of losses means. */
enum ndm_bound_finding {
	NDM_BOUND_UNKNOWN,	/* it is too short */
	NDM_BOUND_HARMLESS,
	NDM_BOUND_CONGESTION,
};

/* Compares the losses after a cut with the share that has led to it. */
static inline enum ndm_bound_finding ndm_bound_test(struct ndm_bound *b,
						    const struct ndm_bound_seen *seen)
{
	s64 evidence = ((s64)seen->lost << (NDM_FEATURE_FRAC + 1)) -
		       (s64)seen->sent * b->tested / 2;

	if (evidence >= NDM_BOUND_EVIDENCE) {
		if (seen->share > NDM_BOUND_OWN_MAX)
			return NDM_BOUND_CONGESTION;
		ndm_bound_keep_own(b, seen->share);
		return NDM_BOUND_HARMLESS;
	}
	if (evidence > -NDM_BOUND_EVIDENCE)
		return NDM_BOUND_UNKNOWN;
	b->tested = 0;
	b->confirmed = 0;
	return NDM_BOUND_HARMLESS;
}

/* The largest share that is no congestion, Q12. */
static inline u32 ndm_bound_tolerated(const struct ndm_bound *b)
{
	u32 share = 2 * b->own + NDM_BOUND_SHARE;

	return b->proved > NDM_BOUND_OWN_MAX ? share : min_t(u32, share, NDM_BOUND_OWN_MAX);
}

/* A quarter, rounded towards 0. BPF has no signed division. */
static inline s32 ndm_bound_quarter(s32 x)
{
	return (x + (x < 0 ? 3 : 0)) >> 2;
}

/* Compares the losses with the path's own share, which follows a sample of full length. */
static inline enum ndm_bound_finding ndm_bound_watch(struct ndm_bound *b,
						     const struct ndm_bound_seen *seen)
{
	if (b->own && !--b->known)
		b->own = 0;
	if (b->lossy_rounds >= NDM_BOUND_LOSSY &&
	    (u64)seen->lost << NDM_FEATURE_FRAC >
	    (NDM_BOUND_LOSSES << NDM_FEATURE_FRAC) +
	    seen->sent * ndm_bound_tolerated(b))
		return NDM_BOUND_CONGESTION;
	if (b->rounds < NDM_BOUND_ROUNDS)
		return NDM_BOUND_UNKNOWN;
	if (b->own)
		b->own = min(b->own + ndm_bound_quarter((s32)seen->share - b->own),
			     (s32)b->proved);
	return NDM_BOUND_HARMLESS;
}

/**
 * ndm_bound_losses - judge the losses after a round trip
 * @b: the bound
 * @lost: packets that the connection has lost so far, without undone losses
 * @delivered: packets delivered so far
 * @reorders: packets have been seen to change their order
 * Return: the share that is congestion and asks for a cut, Q12; 0: none
 */
static inline u16 ndm_bound_losses(struct ndm_bound *b, u32 lost, u32 delivered,
				   bool reorders)
{
	struct ndm_bound_seen seen = ndm_bound_see(b, lost, delivered);
	enum ndm_bound_finding finding;

	if (b->skip) {
		b->skip = false;
		ndm_bound_sample(b, lost, delivered);
		return 0;
	}
	b->rounds = min(b->rounds + 1, U8_MAX);
	if ((s32)(lost - b->last_lost) > 0)
		b->lossy_rounds = min(b->lossy_rounds + 1, U8_MAX);
	b->last_lost = lost;
	/* Late packets are taken back in the following round trips. */
	if (reorders && b->rounds < NDM_BOUND_ROUNDS)
		return 0;
	finding = b->tested ? ndm_bound_test(b, &seen) : ndm_bound_watch(b, &seen);
	if (finding != NDM_BOUND_UNKNOWN)
		ndm_bound_sample(b, lost, delivered);
	return finding == NDM_BOUND_CONGESTION ? seen.share : 0;
}

/**
 * ndm_bound_follow - the bound after a round trip of a flow that follows it
 * @b: the bound
 * @now_us: the time
 * @length_us: the round trip's length
 * @rtt_us: the RTT; the length is that of several where an interval has several
 * @loss: whether the round trip had a loss
 * @cwnd_fp: the window, NDM_CWND_FRAC fraction bits
 * @carried: packets that were delivered in the round trip
 *
 * Without the policy, each loss cuts the bound (RFC 5681, section 3.2), and no cut is tested.
 */
static inline void ndm_bound_follow(struct ndm_bound *b, u32 now_us, u32 length_us,
				    u32 rtt_us, bool loss, u32 cwnd_fp, u32 carried)
{
	b->tested = 0;
	if (loss)
		ndm_bound_cut(b, now_us, ndm_bound_carried(cwnd_fp, carried));
	else if (b->limit_fp)
		ndm_bound_grow(b, now_us, length_us, rtt_us);
	/* None yet, or outgrown. */
	if (!b->limit_fp) {
		b->limit_fp = cwnd_fp;
		b->cut_us = now_us;
	}
}

/**
 * ndm_bound_update - the bound after a round trip
 * @b: the bound
 * @starting: the flow is in slow start
 * @now_us: the time
 * @length_us: the round trip's length
 * @rtt_us: the RTT; the length is that of several where an interval has several
 * @lost: packets that the connection has lost so far, without undone losses
 * @delivered: packets delivered so far
 * @cwnd_fp: the window, NDM_CWND_FRAC fraction bits
 * @carried: packets that were delivered in the round trip
 * @reorders: packets have been seen to change their order
 * Return: the window, cut, or as before the cut if the losses are the path's own
 */
static inline u32 ndm_bound_update(struct ndm_bound *b, bool starting, u32 now_us,
				   u32 length_us, u32 rtt_us, u32 lost, u32 delivered,
				   u32 cwnd_fp, u32 carried, bool reorders)
{
	u32 most_fp = max(b->most_fp, ndm_bound_carried(cwnd_fp, carried));
	bool testing = b->tested;
	u32 kept_fp;
	u16 share;

	if (starting)
		b->overshoot = NDM_BOUND_OVERSHOOT;
	else if (b->overshoot)
		b->overshoot--;
	/* The policy may have reduced the window since the first loss. */
	b->most_fp = most_fp;
	share = ndm_bound_losses(b, lost, delivered, reorders);
	if (share) {
		/* After a cut without effect: the window before the first one. */
		if (!testing)
			b->tested_fp = cwnd_fp;
		kept_fp = ndm_bounded(b, most_fp);
		ndm_bound_cut(b, now_us, most_fp);
		/* No smaller than what the path has carried after slow start. */
		if (b->overshoot)
			b->limit_fp = max(b->limit_fp, kept_fp);
		b->overshoot = 0;
		b->tested = share;
		b->skip = true;
	} else if (testing && !b->limit_fp) {
		cwnd_fp = max(cwnd_fp, b->tested_fp);
	} else if (!b->tested) {
		ndm_bound_grow(b, now_us, length_us, rtt_us);
	}
	return ndm_bounded(b, cwnd_fp);
}

#endif /* NDM_BOUND_H */
