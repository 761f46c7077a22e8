/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NDM's state of a connection, its window and its pacing rate.
 *
 * The flow's window is cwnd_fp. The kernel's differs in a drain (ndm_drain.h) and at
 * the beginning of a fast recovery (ndm_recovery.h).
 */
#ifndef NDM_SOCK_H
#define NDM_SOCK_H

#include <net/tcp.h>

#include "compat/socket.h"
#include "ndm/ndm_bound.h"
#include "ndm/ndm_contest.h"
#include "ndm/ndm_drain.h"
#include "ndm/ndm_features.h"
#include "ndm/ndm_slow_start.h"
#include "ndm/ndm_train.h"
#include "ndm/ndm_window.h"

/* The neutral pacing gain 1.25, Q16: enough above cwnd/srtt not to bind. */
#define NDM_PACING_GAIN 81920

/* Bytes per second, 70 TB/s: rate times gain fits into 64 bits. */
#define NDM_PACING_MAX (1ULL << 46)

/* The initial RTT for pacing when the handshake gave no sample. */
#define NDM_RTT_UNKNOWN_US 1000

/* What a connection remembers from decision to decision. ACKs between them do not need it. */
struct ndm_memory {
	struct ndm_bound bound;
	struct ndm_drain drain;
	struct ndm_contest contest;
	u32 collapse_fp;	/* cwnd_fp before the last time-out; 0: see ndm_recovery.h */
	union {
		u32 restart;	/* in NDM_RESTARTING: packets up to which the window slow-starts */
		u32 unheld_fp;	/* in slow start: cwnd_fp before the last sign of a queue */
	};
	u32 lost;	/* that count, at the last decision */
	u32 suspected;	/* ndm_lost() at suspected_us */
	u32 suspected_us;
	u32 spurious;	/* retransmissions that DSACKs have taken back */
	u32 settled;	/* those that no DSACK can take back any more, at the last decision */
	u32 undo_marker;	/* the kernel's there */
	u32 marked;	/* delivered_ce when the last mark was answered */
	u32 sent_us;	/* when the last packet delivered before the interval was sent */
	struct ndm_train train;	/* in slow start */
	u32 last_fp;	/* cwnd_fp at the last decision */
	u32 older_fp;	/* and at the one before */
	u32 flow;	/* number of the connection, on one CPU from 1 in opening order */
	/* used by tcp_ndm only */
	u32 model;	/* number of the model that the recurrent state belongs to */
	bool rerouted;	/* a drain has found the route to be at least twice as long */
	u8 empty;	/* decisions in a row without a queue, at most NDM_FASTER_EMPTY */
	bool overshot;	/* a loss has ended slow start in this interval */
	s16 h[NDM_HIDDEN_MAX];	/* recurrent state of tcp_ndm, Q15 */
};

/* State of one socket. In a module it fills the 104 private bytes that a socket has. */
struct ndm_sock {
	struct ndm_measure measure;
	u32 cwnd_fp;	/* the flow's window, NDM_CWND_FRAC fraction bits */
	u32 given_cwnd : 25;	/* the window that the kernel was given last, packets */
	u32 phase : 3;	/* enum ndm_phase */

	NDM_MEMORY_MEMBER;
};

/*
 * Packets that the connection has lost: those sent again, and those still to be. tp->lost
 * counts more, as a packet that was only late may be acknowledged before it is sent again.
 * A DSACK takes back a retransmission of the recovery that it belongs to, and no more: the
 * network duplicates packets, too, and a receiver may report what it likes.
 */
static inline u32 ndm_lost(const struct tcp_sock *tp, const struct ndm_memory *memory)
{
	u32 pending = tp->lost_out - min(tp->lost_out, tp->retrans_out);

	return tp->total_retrans + pending - (memory ? memory->spurious : 0);
}

/* Counts what DSACKs have taken back since the last decision. */
static inline void ndm_count_spurious(const struct tcp_sock *tp, struct ndm_memory *memory)
{
	u32 settled = tp->total_retrans - max(tp->undo_retrans, 0);

	if (tp->undo_marker && tp->undo_marker == memory->undo_marker)
		memory->spurious += max_t(s32, settled - memory->settled, 0);
	/* A retransmission that is still outstanding belongs to the next recovery as well. */
	memory->spurious = min(memory->spurious, tp->total_retrans);
	memory->undo_marker = tp->undo_marker;
	memory->settled = settled;
}

/*
 * The losses at a decision. Where packets have been seen to change their order, only those
 * count that are still lost a late packet's RTT later. @now: the losses so far
 */
static inline u32 ndm_confirmed_lost(const struct tcp_sock *tp, struct ndm_memory *memory,
				     u32 now)
{
	u32 now_us = tp->tcp_mstamp;

	/* Those that have arrived since are none, whatever has been lost after them. */
	if (!tp->reord_seen || (s32)(now - memory->suspected) < 0)
		memory->suspected = now;
	if (!tp->reord_seen ||
	    now_us - memory->suspected_us >= (tp->srtt_us >> 3) + tp->mdev_us) {
		memory->lost = memory->suspected;
		memory->suspected = now;
		memory->suspected_us = now_us;
	}
	if ((s32)(now - memory->lost) < 0)
		memory->lost = now;
	return memory->lost;
}

/* The losses so far were no sign of congestion. @now: as many */
static inline void ndm_forget_lost(struct ndm_memory *memory, u32 now)
{
	memory->lost = now;
	memory->suspected = now;
	ndm_bound_forget(&memory->bound, now);
}

static inline struct ndm_reading ndm_read(const struct sock *sk, const struct ndm_sock *ndm)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return (struct ndm_reading) {
		.now_us = tp->tcp_mstamp,
		.delivered = tp->delivered,
		.lost = ndm_lost(tp, ndm->memory),
		.inflight = tcp_packets_in_flight(tp),
		.srtt_us = tp->srtt_us >> 3,
		.mdev_us = tp->mdev_us >> 2,
	};
}

/* Sets the pacing rate, bytes/s: @gain * cwnd * mss / srtt. @gain: Q16, below 2^18. */
static inline void ndm_set_pacing_gain(struct sock *sk, u32 gain)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)min(tcp_snd_cwnd(tp), NDM_CWND_MAX) * tp->mss_cache;

	/* cwnd < 2^24, mss < 2^17, 8e6 < 2^23: srtt_us of the kernel is 1/8 us. */
	rate = div_u64(rate * (8 * USEC_PER_SEC),
		       tp->srtt_us ? tp->srtt_us : 8 * NDM_RTT_UNKNOWN_US);
	rate = max_t(u64, min(rate, NDM_PACING_MAX) * gain >> 16, 1);
	/* sch_fq reads it without a lock. */
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/*
 * The highest pacing gain, for a sender that starts with nothing in flight or is in
 * slow start: a window of data leaves within half a round trip instead of nearly a
 * whole one.
 */
static inline void ndm_set_max_pacing(struct sock *sk)
{
	ndm_set_pacing_gain(sk, 2 * NDM_PACING_GAIN);
}

/* The window for the kernel: in a drain less than the flow's. */
static inline u32 ndm_window(const struct ndm_sock *ndm)
{
	u32 cwnd = ndm->cwnd_fp >> NDM_CWND_FRAC;

	return ndm->measure.drain ?
	       min(cwnd, ndm->memory->drain.cwnd) : cwnd;
}

/* Gives the kernel a window without changing the flow's. */
static inline void ndm_give_cwnd(struct sock *sk, struct ndm_sock *ndm, u32 cwnd)
{
	ndm->given_cwnd = cwnd;
	tcp_snd_cwnd_set(tcp_sk(sk), cwnd);
}

static inline void ndm_set_cwnd(struct sock *sk, struct ndm_sock *ndm,
				u32 cwnd_fp)
{
	u32 cwnd_max = min(tcp_sk(sk)->snd_cwnd_clamp, NDM_CWND_MAX);

	if (likely(ndm->memory))
		cwnd_fp = ndm_bounded(&ndm->memory->bound, cwnd_fp);
	cwnd_fp = max_t(u32, cwnd_fp, NDM_CWND_MIN << NDM_CWND_FRAC);
	ndm->cwnd_fp = min(cwnd_fp, cwnd_max << NDM_CWND_FRAC);
	ndm_give_cwnd(sk, ndm, ndm_window(ndm));
}

/*
 * Takes over a window that the kernel has set itself, as after an MTU probe. Where it
 * was given less than the flow's window, the flow's changes by the same factor.
 */
static inline void ndm_take_cwnd(const struct sock *sk, struct ndm_sock *ndm)
{
	u32 cwnd = min(tcp_snd_cwnd(tcp_sk(sk)), NDM_CWND_MAX);
	u64 next_fp = cwnd << NDM_CWND_FRAC;

	if (cwnd == ndm->given_cwnd)
		return;
	/* Below 2^31 * 2^23. */
	if (ndm->given_cwnd && ndm->given_cwnd != ndm->cwnd_fp >> NDM_CWND_FRAC)
		next_fp = div_u64((u64)ndm->cwnd_fp * cwnd, ndm->given_cwnd);
	ndm->cwnd_fp = min_t(u64, next_fp, NDM_CWND_MAX << NDM_CWND_FRAC);
	ndm->given_cwnd = cwnd;
}

/*
 * Whether at least half of the window was used (RFC 7661, section 4.1). The kernel
 * applies this rule in slow start only, but a paced flow seldom has its whole window
 * in flight.
 */
static inline bool ndm_window_used(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcp_is_cwnd_limited(sk) ||
	       tcp_snd_cwnd(tp) < 2 * tp->max_packets_out;
}

static inline u32 ndm_ssthresh(const struct sock *sk, struct ndm_sock *ndm)
{
	ndm_take_cwnd(sk, ndm);
	return max_t(u32, ndm->cwnd_fp >> NDM_CWND_FRAC, NDM_CWND_MIN);
}

/* A connection begins. @ndm: its memory is zeroed, or NULL; @flow: its number */
static inline void ndm_sock_init(struct sock *sk, struct ndm_sock *ndm, u32 flow)
{
	struct ndm_reading now = ndm_read(sk, ndm);

	if (ndm->memory) {
		ndm->memory->flow = flow;
		ndm->memory->marked = tcp_sk(sk)->delivered_ce;
		ndm->memory->sent_us = now.now_us;
		ndm->memory->drain.us = now.now_us;
		ndm->memory->suspected = now.lost;
		ndm_bound_sample(&ndm->memory->bound, now.lost, now.delivered);
	}
	ndm_measure_init(&ndm->measure, &now);
	ndm->cwnd_fp = 0;
	ndm->given_cwnd = 0;
	ndm_take_cwnd(sk, ndm);
	ndm->phase = tcp_in_initial_slowstart(tcp_sk(sk)) ? NDM_STARTING : NDM_STEADY;
	ndm_set_max_pacing(sk);
}

#endif /* NDM_SOCK_H */
