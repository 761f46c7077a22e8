/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rules of TCP-NV on plain numbers: sections 2 and 3 of "TCP-NV: An Update to
 * TCP-Vegas" (L. Brakmo, 2015).
 *
 * Pure, without struct sock, so that the same code runs in tcp_nv.ko, in KUnit, and
 * in user space under the sanitizers and a fuzzer. tcp_nv.c explains the whole
 * algorithm and applies it to a socket.
 *
 * As in the kernel, a window (win) is in packets and in_flight in bytes. Clocks are
 * the low 32 bits of a microsecond clock and sequence numbers are u32: both wrap,
 * and only their differences are used.
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
 * implementation's; every value within them is safe.
 *
 * X(name, default, min, max, description and unit)
 */
#define NV_PARAMETERS(X)						\
	X(pad, 10, 1, 1024,						\
	  "extra packets to keep in the network (packets)")		\
	X(pad_buffer, 2, 0, 1024,					\
	  "cwnd stops growing this far below its target (packets)")	\
	X(reset_period, 5, 1, 3600,					\
	  "time after which the min RTT is renewed (seconds)")		\
	X(min_cwnd, 10, 2, 65535,					\
	  "smallest cwnd in congestion avoidance (packets)")		\
	X(dec_eval_min_calls, 60, 1, 65535,				\
	  "measurements before a decrease (count)")			\
	X(ssthresh_eval_min_calls, 30, 1, 65535,			\
	  "measurements before a decrease in slow start (count)")	\
	X(rtt_min_cnt, 2, 1, 255,					\
	  "measurement periods before a decrease (RTTs)")		\
	X(cong_decrease_mult, 38, 1, 128,				\
	  "fraction of the excess cwnd that a decrease removes (1/128)")	\
	X(ssthresh_factor, 8, 1, 255,					\
	  "ssthresh after a decrease, as a fraction of the target window (1/8)")	\
	X(rtt_factor, 128, 1, 256,					\
	  "weight of a new RTT in the average, 256: no averaging (1/256)")	\
	X(rtt_cnt_inc_delta, 0, 0, 255,					\
	  "length of a temporary cwnd decrease, 0: none (RTTs)")	\
	X(dec_factor, 8, 1, 8,						\
	  "fraction of cwnd during a temporary decrease, 8: none (1/8)")	\
	X(loss_dec_factor, 512, 1, 1023,				\
	  "fraction of cwnd after a loss (1/1024)")			\
	X(cwnd_growth_factor, 0, 0, 2,					\
	  "growth: 0 linear, 1 doubled every 2 RTTs, 2 every 3 (mode)")

struct nv_params {
#define NV_MEMBER(name, ...) u32 name;
	NV_PARAMETERS(NV_MEMBER)
#undef NV_MEMBER
};

#define NV_DEFAULT(name, value, ...) .name = value,
#define NV_PARAMS_DEFAULT { NV_PARAMETERS(NV_DEFAULT) }

/* There are 1 to 511 round trips between two temporary decreases, 256 on average. */
#define NV_PROBE_WAIT_RANGE 511

/* The growth step is doubled up to 2^16 packets a round trip. */
#define NV_GROWTH_SHIFT_MAX 16

/* The kernel's smallest and "infinite" ssthresh (TCP_INFINITE_SSTHRESH). */
#define NV_SSTHRESH_MIN 2
#define NV_SSTHRESH_MAX 0x7fffffffU

/*
 * A rate, kept as a fraction: comparing and scaling need no division per ACK and
 * are exact. No rate yet: bytes = 0, rtt_us = 0.
 */
struct nv_rate {
	u32 bytes;		/* in flight when the acknowledged packet was sent */
	u32 rtt_us;		/* averaged RTT when it was acknowledged */
};

/* State of one connection: 48 of the 104 available bytes. */
struct nv_state {
	u32 avg_rtt_us;		/* moving average; 0: no sample yet */
	u32 min_rtt_us;		/* smallest avg_rtt_us; 0: none yet */
	u32 next_min_rtt_us;	/* smallest since min_rtt_stamp_us; 0: none yet */
	u32 min_rtt_stamp_us;
	struct nv_rate max_rate;	/* since the last verdict */
	u32 round_end_seq;	/* snd_nxt when the round trip began */
	u32 probe_cwnd;		/* cwnd set by a temporary decrease */
	u32 probe_full_cwnd;	/* cwnd before it */
	u16 probe_wait;		/* rounds until the next one; 0: not drawn yet */
	u8 probe_rounds;	/* remaining rounds of the decrease; 0: none */
	u8 rounds;		/* since the last verdict, saturates */
	u16 calls;		/* measurements since then, saturates */
	u16 acks;		/* in this round, saturates */
	u8 growth;		/* whether cwnd may grow */
	u8 growth_shift;	/* growth step: 2^growth_shift packets a round trip */
	u8 growth_rounds;	/* round trips with this step so far */
};

/* The variables that a verdict may change, in packets. */
struct nv_window {
	u32 cwnd;
	u32 ssthresh;
};

/* Discards the measurements of the last verdict. */
static inline void nv_restart_measurement(struct nv_state *nv)
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
 * The kernel takes the window over (fast recovery, time-out, ECN) or returns it.
 * Earlier measurements do not apply to the new window. The paper does not define
 * growth here: as after any loss, cwnd grows from its new value until a verdict,
 * linearly because congestion was detected. A temporary decrease ends without
 * restoring the cwnd before it.
 */
static inline void nv_change_owner(struct nv_state *nv, u32 snd_nxt)
{
	nv_restart_measurement(nv);
	nv_round_begin(nv, snd_nxt);
	nv->growth = 1;
	nv->growth_shift = 0;
	nv->growth_rounds = 0;
	nv->probe_rounds = 0;
}

/*
 * avgRTT = (newRTT f + avgRTT (256 - f)) >> 8. Both RTTs are at least 1, so the
 * average is too, and no later division is by zero. Both are at most 2^31, so the
 * products are below 2^40.
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
 * The minimum is taken from averaged RTTs, because a rare small RTT is noise. Warm
 * reset: at the end of a period the minimum collected during it replaces the current
 * one, so that the minimum always covers one to two periods. The paper does not say
 * when collecting begins. Here it covers the whole period, as its minimum then
 * contains less of the flow's own queue.
 *
 * A period is at most 3.6e9 us, below 2^32. An idle time beyond 2^32 us (71 minutes)
 * can appear shorter and delay a reset by one period.
 */
static inline void nv_update_min_rtt(struct nv_state *nv,
				     const struct nv_params *p, u32 now_us)
{
	u32 period_us = READ_ONCE(p->reset_period) * 1000000U;

	if (now_us - nv->min_rtt_stamp_us >= period_us) {
		/* An idle period has no measurement. */
		if (nv->next_min_rtt_us)
			nv->min_rtt_us = nv->next_min_rtt_us;
		nv->next_min_rtt_us = 0;
		nv->min_rtt_stamp_us = now_us;
	}
	nv->min_rtt_us = nv_lesser_rtt(nv->min_rtt_us, nv->avg_rtt_us);
	nv->next_min_rtt_us = nv_lesser_rtt(nv->next_min_rtt_us,
					    nv->avg_rtt_us);
}

/* a > b; the products of two u32 are below 2^64. */
static inline bool nv_rate_exceeds(struct nv_rate a, struct nv_rate b)
{
	return (u64)a.bytes * b.rtt_us > (u64)b.bytes * a.rtt_us;
}

/*
 * Measures one ACK. @rtt_us: RTT of the acknowledged packet. 0 (the clock is too
 * coarse) and negative values (it was retransmitted) are no measurement.
 * @in_flight: bytes in flight when that packet was sent.
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
	if (!nv->max_rate.bytes || nv_rate_exceeds(rate, nv->max_rate))
		nv->max_rate = rate;
	if (nv->calls < U16_MAX)
		nv->calls++;
}

/* Whether a packet sent after the round trip began is acknowledged. */
static inline bool nv_round_is_over(const struct nv_state *nv, u32 snd_una)
{
	return (s32)(snd_una - nv->round_end_seq) > 0;
}

/* max_win = maxRate minRTT / mss + pad, packets, rounded up; 0 without a measurement. */
static inline u32 nv_max_win(const struct nv_state *nv, u32 mss, u32 pad)
{
	/* Products of two u32, below 2^64. */
	u64 bytes_us = (u64)nv->max_rate.bytes * nv->min_rtt_us;
	u64 packet_us = (u64)mss * nv->max_rate.rtt_us;

	if (!bytes_us || !packet_us)
		return 0;
	/* Rounds up without an overflow: the 1 is subtracted before it is added. */
	return min_t(u64, div64_u64(bytes_us - 1, packet_us) + 1,
		     U32_MAX - pad) + pad;
}

/* Whether there are enough measurements to conclude congestion. */
static inline bool nv_may_decrease(const struct nv_state *nv,
				   const struct nv_params *p, bool slow_start)
{
	u32 calls = slow_start ? READ_ONCE(p->ssthresh_eval_min_calls) :
				 READ_ONCE(p->dec_eval_min_calls);

	return nv->calls >= calls && nv->rounds >= READ_ONCE(p->rtt_min_cnt);
}

/* @cwnd minus @cut, at least @floor; a cwnd at or below @floor stays. */
static inline u32 nv_cut(u32 cwnd, u32 cut, u32 floor)
{
	return cwnd > floor ? cwnd - min_t(u32, cut, cwnd - floor) : cwnd;
}

/* cwnd -= max(2, ((cwnd - max_win) mult) >> 7); @cwnd is above @max_win. */
static inline u32 nv_decreased_cwnd(u32 cwnd, u32 max_win, u32 mult, u32 floor)
{
	/* At most 2^32 * 2^7, and at most cwnd - max_win after the shift. */
	u32 cut = (u64)(cwnd - max_win) * mult >> 7;

	return nv_cut(cwnd, max_t(u32, 2, cut), floor);
}

/*
 * ssthresh = (factor max_win) >> 3. The paper's text, "set to updated cwnd" for
 * factor 8, differs from its formula; this is the formula. cwnd has just been
 * decreased towards max_win, so neither restarts slow start with factor 8.
 */
static inline u32 nv_congestion_ssthresh(u32 max_win, u32 factor)
{
	/* At most 2^32 * 2^8. */
	return clamp_t(u64, (u64)max_win * factor >> 3,
		       NV_SSTHRESH_MIN, NV_SSTHRESH_MAX);
}

/* cwnd = (cwnd factor) >> 10 after a loss, at least 2. */
static inline u32 nv_loss_ssthresh(u32 cwnd, const struct nv_params *p)
{
	/* At most 2^32 * 2^10. */
	return max_t(u32, (u64)cwnd * READ_ONCE(p->loss_dec_factor) >> 10,
		     NV_SSTHRESH_MIN);
}

/*
 * Lets cwnd grow during the next round trip. With growth factor g the step stays for
 * g + 1 round trips and then doubles; 0: always 1 packet. Round trips in slow start,
 * which has its own growth, do not count.
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

/* The acknowledged packets that let cwnd grow by one in congestion avoidance. */
static inline u32 nv_growth_acks(const struct nv_state *nv, u32 cwnd)
{
	return max_t(u32, cwnd >> nv->growth_shift, 1);
}

/*
 * The temporary decrease: cwnd = (cwnd dec_factor) >> 3 for rtt_cnt_inc_delta
 * round trips, every 256 round trips on average. The interval is random, because
 * flows that decrease at the same time would not see each other's queue. There is
 * none in slow start, where the flow has no queue yet, nor below min_cwnd. Afterwards
 * cwnd is restored, unless the kernel has changed it meanwhile (idle restart).
 *
 * @random: 32 random bits.
 *
 * Return: true during the decrease and in its last round trip: there is no verdict.
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
		/* At most 2^32 * 2^9. */
		nv->probe_wait = 1 + ((u64)random * NV_PROBE_WAIT_RANGE >> 32);
	if (--nv->probe_wait)
		return false;
	if (win->cwnd < win->ssthresh || win->cwnd <= floor)
		return false;
	nv->probe_full_cwnd = win->cwnd;
	/* At most 2^32 * 2^3. */
	nv->probe_cwnd = max_t(u32, (u64)win->cwnd * factor >> 3, floor);
	nv->probe_rounds = rounds;
	nv->growth = 0;
	win->cwnd = nv->probe_cwnd;
	return true;
}

/*
 * Compares cwnd with the target window @max_win. Returns false without a verdict:
 * cwnd is too large, but there are too few measurements.
 */
static inline bool nv_verdict(struct nv_state *nv, const struct nv_params *p,
			      struct nv_window *win, u32 max_win)
{
	bool slow_start = win->cwnd < win->ssthresh;
	/* For cwnd < max_win - pad_buffer without an overflow. */
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
 * Ends a round trip ("every RTT we do the core work") and may change @win. The
 * caller begins the next round.
 *
 * The paper does not define a round trip with one ACK. It is a burst that TSO sent
 * and GRO acknowledged as one: a single measurement of its own length. It gets no
 * verdict, and measuring continues. Every verdict restarts the measurement, as
 * maxRate is the one "since the last congestion determination".
 */
static inline void nv_round_end(struct nv_state *nv, const struct nv_params *p,
				struct nv_window *win, u32 mss, u32 random)
{
	bool slow_start = win->cwnd < win->ssthresh;
	u32 max_win;

	if (nv->rounds < U8_MAX)
		nv->rounds++;
	if (nv_probe(nv, p, win, random)) {
		nv_restart_measurement(nv);
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
		nv_restart_measurement(nv);
}

#endif /* NV_H */
