/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP-NV, the rules: sections 2 and 3 of "TCP-NV: An Update to TCP-Vegas"
 * (L. Brakmo, 2015) on plain numbers.
 *
 * Pure, without struct sock, so that the same lines run in tcp_nv.ko, in KUnit,
 * and in user space under the sanitizers and a fuzzer. tcp_nv.c tells the
 * algorithm as a whole and binds it to a socket.
 *
 * A window (win) counts packets, in flight counts bytes, as the kernel does.
 * Clocks are the low 32 bits of a microsecond clock and sequence numbers are
 * u32: both wrap, and only their differences are used.
 */
#ifndef NV_H
#define NV_H

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/types.h>

/*
 * The parameters of section 3 with its defaults. The ranges are this
 * implementation's: whatever lies inside is safe, if not wise.
 *
 * X(name, default, least, most, description and unit)
 */
#define NV_PARAMETERS(X)						\
	X(pad, 10, 1, 1024,						\
	  "extra packets to keep in the network (packets)")		\
	X(pad_buffer, 2, 0, 1024,					\
	  "no growth from nv_pad less this many extra packets on (packets)")	\
	X(reset_period, 5, 1, 3600,					\
	  "min RTT is taken anew this often (seconds)")			\
	X(min_cwnd, 10, 2, 65535,					\
	  "congestion avoidance leaves at least this cwnd (packets)")	\
	X(dec_eval_min_calls, 60, 1, 65535,				\
	  "measurements before a decrease (count)")			\
	X(ssthresh_eval_min_calls, 30, 1, 65535,			\
	  "measurements before a decrease in slow start (count)")	\
	X(rtt_min_cnt, 2, 1, 255,					\
	  "measurement periods before a decrease (RTTs)")		\
	X(cong_decrease_mult, 38, 1, 128,				\
	  "part of the excess cwnd a decrease takes (1/128)")		\
	X(ssthresh_factor, 8, 1, 255,					\
	  "ssthresh after a decrease, of the target window (1/8)")	\
	X(rtt_factor, 128, 1, 256,					\
	  "weight of a new RTT in their average, 256: alone (1/256)")	\
	X(rtt_cnt_inc_delta, 0, 0, 255,					\
	  "length of a temporary cwnd decrease, 0: none (RTTs)")	\
	X(dec_factor, 8, 1, 8,						\
	  "cwnd during a temporary decrease, 8: none (1/8)")		\
	X(loss_dec_factor, 512, 1, 1023,				\
	  "cwnd left by a loss (1/1024)")				\
	X(cwnd_growth_factor, 0, 0, 2,					\
	  "growth: 0 linear, 1 doubled every 2 RTTs, 2 every 3 (mode)")

struct nv_params {
#define NV_MEMBER(name, ...) u32 name;
	NV_PARAMETERS(NV_MEMBER)
#undef NV_MEMBER
};

#define NV_DEFAULT(name, value, ...) .name = value,
#define NV_PARAMS_DEFAULT { NV_PARAMETERS(NV_DEFAULT) }

/* Between two temporary decreases lie 1 to 511 round trips: 256 on average. */
#define NV_PROBE_WAIT_RANGE 511

/* A doubled growth step beyond 2^16 packets a round trip is slow start again. */
#define NV_GROWTH_SHIFT_MAX 16

/* The kernel's least and "infinite" ssthresh (TCP_INFINITE_SSTHRESH). */
#define NV_SSTHRESH_MIN 2
#define NV_SSTHRESH_MAX 0x7fffffffU

/*
 * A rate as what it was measured from: comparing two and scaling one need no
 * division per ACK and lose no bit. No rate yet: bytes = 0, rtt_us = 0.
 */
struct nv_rate {
	u32 bytes;		/* in flight when the acknowledged packet left */
	u32 rtt_us;		/* averaged RTT when it was acknowledged */
};

/* State of one connection: 48 bytes of the 104 there are. */
struct nv_state {
	u32 avg_rtt_us;		/* moving average; 0: no sample yet */
	u32 min_rtt_us;		/* the least avg_rtt_us; 0: none yet */
	u32 next_min_rtt_us;	/* that since min_rtt_stamp_us; 0: none yet */
	u32 min_rtt_stamp_us;
	struct nv_rate max_rate;	/* since the last verdict */
	u32 round_end_seq;	/* snd_nxt when the round trip began */
	u32 probe_cwnd;		/* the cwnd a temporary decrease has set */
	u32 probe_full_cwnd;	/* the cwnd before it */
	u16 probe_wait;		/* rounds until the next one; 0: not drawn yet */
	u8 probe_rounds;	/* remaining rounds of the decrease; 0: none */
	u8 rounds;		/* since the last verdict, saturates */
	u16 calls;		/* measurements since then, saturates */
	u16 acks;		/* of this round, saturates */
	u8 growth;		/* cwnd may grow */
	u8 growth_shift;	/* by 1 << this packets a round trip */
	u8 growth_rounds;	/* round trips by that so far */
};

/* What a verdict may change, both in packets. */
struct nv_window {
	u32 cwnd;
	u32 ssthresh;
};

/* Forgets what the last verdict was made from. */
static inline void nv_measure_afresh(struct nv_state *nv)
{
	nv->max_rate = (struct nv_rate) {};
	nv->calls = 0;
	nv->rounds = 0;
}

static inline void nv_round_begin(struct nv_state *nv, u32 snd_nxt)
{
	nv->round_end_seq = snd_nxt;
	nv->acks = 0;
}

static inline void nv_init(struct nv_state *nv, u32 now_us, u32 snd_nxt)
{
	*nv = (struct nv_state) {
		.min_rtt_stamp_us = now_us,
		.growth = 1,
	};
	nv_round_begin(nv, snd_nxt);
}

/*
 * The kernel takes the window over (fast recovery, a time-out, ECN) or hands it
 * back. What was measured before says nothing about the window after it.
 * The paper says nothing of growth here: as after any loss, cwnd grows from its
 * new value until a verdict, and linearly, for congestion has been detected. A
 * temporary decrease is over: the cwnd before it is no longer anybody's.
 */
static inline void nv_window_taken(struct nv_state *nv, u32 snd_nxt)
{
	nv_measure_afresh(nv);
	nv_round_begin(nv, snd_nxt);
	nv->growth = 1;
	nv->growth_shift = 0;
	nv->growth_rounds = 0;
	nv->probe_rounds = 0;
}

/*
 * avgRTT = (newRTT f + avgRTT (256 - f)) >> 8. A mean of numbers from 1 on,
 * rounded down, is at least 1: no later division is by zero. @rtt_us is at
 * most 2^31 and so is the average: both products are below 2^40.
 */
static inline u32 nv_average_rtt(u32 avg_rtt_us, u32 rtt_us, u32 factor)
{
	if (!avg_rtt_us)
		return rtt_us;
	return ((u64)rtt_us * factor + (u64)avg_rtt_us * (256 - factor)) >> 8;
}

static inline u32 nv_lesser_rtt(u32 min_rtt_us, u32 rtt_us)
{
	return min_rtt_us && min_rtt_us < rtt_us ? min_rtt_us : rtt_us;
}

/*
 * The minimum is of averaged RTTs: one that is rare is noise. The warm reset:
 * beside the current minimum, one is collected since the last reset, and at
 * the next it takes its place, so that the minimum is always that of one to two
 * periods. The paper leaves open when the collection starts: at once, for a
 * minimum of a whole period holds less of the flow's own queue than one of a
 * part.
 *
 * A period is at most 3.6e9 us, below 2^32. An idle time beyond 2^32 us (71
 * minutes) can look shorter than it was and so put a reset off by one period.
 */
static inline void nv_update_min_rtt(struct nv_state *nv,
				     const struct nv_params *p, u32 now_us)
{
	u32 period_us = READ_ONCE(p->reset_period) * 1000000U;

	if (now_us - nv->min_rtt_stamp_us >= period_us) {
		/* Nothing was measured while the flow was idle. */
		if (nv->next_min_rtt_us)
			nv->min_rtt_us = nv->next_min_rtt_us;
		nv->next_min_rtt_us = 0;
		nv->min_rtt_stamp_us = now_us;
	}
	nv->min_rtt_us = nv_lesser_rtt(nv->min_rtt_us, nv->avg_rtt_us);
	nv->next_min_rtt_us = nv_lesser_rtt(nv->next_min_rtt_us,
					    nv->avg_rtt_us);
}

/* bytes / rtt_us against bytes / rtt_us: products of two u32, below 2^64. */
static inline bool nv_rate_is_more(struct nv_rate a, struct nv_rate b)
{
	return (u64)a.bytes * b.rtt_us > (u64)b.bytes * a.rtt_us;
}

/*
 * One ACK. @rtt_us: of the packet acknowledged; 0 is a clock too coarse for the
 * path and a negative one a packet that was retransmitted: neither is a
 * measurement. @in_flight: bytes when that packet was sent.
 */
static inline void nv_measure(struct nv_state *nv, const struct nv_params *p,
			      u32 now_us, s32 rtt_us, u32 in_flight)
{
	struct nv_rate rate;

	if (nv->acks < U16_MAX)
		nv->acks++;
	if (rtt_us <= 0)
		return;
	nv->avg_rtt_us = nv_average_rtt(nv->avg_rtt_us, rtt_us,
					READ_ONCE(p->rtt_factor));
	nv_update_min_rtt(nv, p, now_us);
	if (!in_flight)
		return;
	rate = (struct nv_rate) { in_flight, nv->avg_rtt_us };
	if (!nv->max_rate.bytes || nv_rate_is_more(rate, nv->max_rate))
		nv->max_rate = rate;
	if (nv->calls < U16_MAX)
		nv->calls++;
}

/* A packet that was sent after the round trip began is acknowledged. */
static inline bool nv_round_is_over(const struct nv_state *nv, u32 snd_una)
{
	return (s32)(snd_una - nv->round_end_seq) > 0;
}

/*
 * max_win = maxRate minRTT / mss + pad, in packets, rounded up: what is not a
 * whole packet needs one. 0 without a measurement.
 */
static inline u32 nv_max_win(const struct nv_state *nv, u32 mss, u32 pad)
{
	/* Each a product of two u32, below 2^64. */
	u64 bytes_us = (u64)nv->max_rate.bytes * nv->min_rtt_us;
	u64 packet_us = (u64)mss * nv->max_rate.rtt_us;

	if (!bytes_us || !packet_us)
		return 0;
	/* The quotient is below 2^64, and 1 is subtracted for the 1 added. */
	return min_t(u64, div64_u64(bytes_us - 1, packet_us) + 1,
		     U32_MAX - pad) + pad;
}

/* Enough was measured to call it congestion. */
static inline bool nv_may_decrease(const struct nv_state *nv,
				   const struct nv_params *p, bool slow_start)
{
	u32 calls = slow_start ? READ_ONCE(p->ssthresh_eval_min_calls) :
				 READ_ONCE(p->dec_eval_min_calls);

	return nv->calls >= calls && nv->rounds >= READ_ONCE(p->rtt_min_cnt);
}

/* @cwnd less @cut, but not below @floor, and not above @cwnd when it is lower. */
static inline u32 nv_cut(u32 cwnd, u32 cut, u32 floor)
{
	return cwnd > floor ? cwnd - min_t(u32, cut, cwnd - floor) : cwnd;
}

/* cwnd -= max(2, ((cwnd - max_win) mult) >> 7); @cwnd is above @max_win. */
static inline u32 nv_decreased_cwnd(u32 cwnd, u32 max_win, u32 mult, u32 floor)
{
	/* 2^32 * 2^7 at most, and not above cwnd - max_win after the shift. */
	u32 cut = (u64)(cwnd - max_win) * mult >> 7;

	return nv_cut(cwnd, max_t(u32, 2, cut), floor);
}

/*
 * ssthresh = (factor max_win) >> 3. The paper's words, "set to updated cwnd" for
 * factor 8, differ from its formula; the formula holds here. cwnd has just been
 * decreased towards max_win, so that with 8 neither starts slow start again.
 */
static inline u32 nv_congestion_ssthresh(u32 max_win, u32 factor)
{
	/* 2^32 * 2^8 at most */
	return clamp_t(u64, (u64)max_win * factor >> 3,
		       NV_SSTHRESH_MIN, NV_SSTHRESH_MAX);
}

/* cwnd = (cwnd factor) >> 10 after a loss, at least 2. */
static inline u32 nv_loss_ssthresh(u32 cwnd, const struct nv_params *p)
{
	/* 2^32 * 2^10 at most */
	return max_t(u32, (u64)cwnd * READ_ONCE(p->loss_dec_factor) >> 10,
		     NV_SSTHRESH_MIN);
}

/*
 * cwnd may grow during the next round trip. Growth factor g lets it grow by the
 * same step for g + 1 round trips, then by twice that; 0: always by 1. Slow
 * start has its own growth and does not count.
 */
static inline void nv_allow_growth(struct nv_state *nv,
				   const struct nv_params *p, bool slow_start)
{
	u32 factor = READ_ONCE(p->cwnd_growth_factor);

	nv->growth = 1;
	if (slow_start)
		return;
	if (!factor) {
		nv->growth_shift = 0;
		nv->growth_rounds = 0;
		return;
	}
	if (nv->growth_rounds > factor) {
		nv->growth_rounds = 0;
		if (nv->growth_shift < NV_GROWTH_SHIFT_MAX)
			nv->growth_shift++;
	}
	nv->growth_rounds++;
}

/* In congestion avoidance, so many acknowledged packets add one: at least 1. */
static inline u32 nv_growth_acks(const struct nv_state *nv, u32 cwnd)
{
	return max_t(u32, cwnd >> nv->growth_shift, 1);
}

/*
 * The temporary decrease: cwnd = (cwnd dec_factor) >> 3 for rtt_cnt_inc_delta
 * round trips, every 256 on average. Drawn at random, or flows that started
 * together would all decrease at once and none would see the others' queue. Not
 * in slow start, which has no queue of its own yet, and not below min_cwnd.
 * Returns true while it lasts and when it ends: such a round trip is no ground
 * for a verdict.
 *
 * Afterwards cwnd is what it was, unless it is no longer what was set here: then
 * the kernel has changed it (idle restart), and that stays.
 *
 * @random: all 32 bits.
 */
static inline bool nv_probe(struct nv_state *nv, const struct nv_params *p,
			    struct nv_window *win, u32 random)
{
	u32 rounds = READ_ONCE(p->rtt_cnt_inc_delta);
	u32 factor = READ_ONCE(p->dec_factor);
	u32 floor = READ_ONCE(p->min_cwnd);

	if (nv->probe_rounds) {
		if (--nv->probe_rounds)
			return true;
		if (win->cwnd == nv->probe_cwnd)
			win->cwnd = nv->probe_full_cwnd;
		nv->growth = 0;
		return true;
	}
	if (!rounds || factor >= 8) {
		nv->probe_wait = 0;
		return false;
	}
	if (!nv->probe_wait)
		/* 2^32 * 2^9 at most */
		nv->probe_wait = 1 + ((u64)random * NV_PROBE_WAIT_RANGE >> 32);
	if (--nv->probe_wait)
		return false;
	if (win->cwnd < win->ssthresh || win->cwnd <= floor)
		return false;
	nv->probe_full_cwnd = win->cwnd;
	/* 2^32 * 2^3 at most */
	nv->probe_cwnd = max_t(u32, (u64)win->cwnd * factor >> 3, floor);
	nv->probe_rounds = rounds;
	nv->growth = 0;
	win->cwnd = nv->probe_cwnd;
	return true;
}

/*
 * The verdict on the target window @max_win. Returns false while more must be
 * measured before it can be called congestion.
 */
static inline bool nv_verdict(struct nv_state *nv, const struct nv_params *p,
			      struct nv_window *win, u32 max_win)
{
	bool slow_start = win->cwnd < win->ssthresh;
	/* Without overflow: cwnd < max_win - pad_buffer */
	u64 padded = (u64)win->cwnd + READ_ONCE(p->pad_buffer);

	if (win->cwnd > max_win) {
		if (!nv_may_decrease(nv, p, slow_start))
			return false;
		win->cwnd = nv_decreased_cwnd(win->cwnd, max_win,
					      READ_ONCE(p->cong_decrease_mult),
					      READ_ONCE(p->min_cwnd));
		win->ssthresh =
			nv_congestion_ssthresh(max_win,
					       READ_ONCE(p->ssthresh_factor));
		nv->growth = 0;
		nv->growth_shift = 0;
		nv->growth_rounds = 0;
	} else if (padded < max_win) {
		nv_allow_growth(nv, p, slow_start);
	} else {
		nv->growth = 0;
	}
	return true;
}

/*
 * The end of a round trip: "every RTT we do the core work". Changes @win where
 * it must; the caller begins the next round.
 *
 * A round trip with one ACK ends without a verdict, which the paper leaves open:
 * a burst that TSO sent and GRO acknowledged as one is a single measurement of
 * its own length, and with it goes on what was measured so far. Every verdict,
 * congestion too, starts the measurement afresh: maxRate is the one "since the
 * last congestion determination".
 */
static inline void nv_round_end(struct nv_state *nv, const struct nv_params *p,
				struct nv_window *win, u32 mss, u32 random)
{
	bool slow_start = win->cwnd < win->ssthresh;
	u32 max_win;

	if (nv->rounds < U8_MAX)
		nv->rounds++;
	if (nv_probe(nv, p, win, random)) {
		nv_measure_afresh(nv);
		return;
	}
	if (nv->acks <= 1) {
		nv_allow_growth(nv, p, slow_start);
		return;
	}
	max_win = nv_max_win(nv, mss, READ_ONCE(p->pad));
	if (!max_win)
		return;
	if (nv_verdict(nv, p, win, max_win))
		nv_measure_afresh(nv);
}

#endif /* NV_H */
