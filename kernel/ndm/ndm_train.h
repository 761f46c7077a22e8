/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet trains: the rate of the link, measured in slow start before its queue is full
 * (the dispersion of packet trains: Dovrolis, Ramanathan and Moore, INFOCOM 2001; HyStart's
 * ACK trains: Ha and Rhee, 2011). Jitter and ACKs that arrive in bursts make some trains seem
 * faster than the link, some slower. So the fastest one of two intervals counts.
 *
 * Pure: plain numbers in, plain numbers out.
 */
#ifndef NDM_TRAIN_H
#define NDM_TRAIN_H

#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/types.h>

#include "ndm_features.h"
#include "ndm_window.h"

/* A train has at least so many packets, and its ACKs take an eighth of the minimum RTT. */
#define NDM_TRAIN_PACKETS 8
#define NDM_TRAIN_SHIFT 3

/* What the path holds is unknown. */
#define NDM_TRAIN_UNKNOWN U32_MAX

/* The trains of this interval and of the last one. All 0: none yet. */
struct ndm_train {
	u32 acked_us;		/* when the packet before the train was acknowledged, */
	u32 sent_us;		/* when it was sent, */
	u32 delivered;		/* and the packets delivered until then */
	u32 rate;		/* of the fastest train, NDM_RATE_FRAC fraction bits */
	u32 last_rate;		/* of the fastest one of the last interval */
	bool begun;
	bool spread;		/* the link has spread a train */
	bool last_spread;	/* in the last interval */
};

/*
 * An ACK. @sent_us: when the newest packet that it acknowledges was sent; @delivered: packets
 * since the connection began
 */
static inline void ndm_train_ack(struct ndm_train *t, u32 now_us, u32 sent_us,
				 u32 delivered, u32 min_rtt_us)
{
	u32 packets = delivered - t->delivered;
	u32 acking_us = now_us - t->acked_us;
	u32 sending_us = sent_us - t->sent_us;
	u64 rate;

	if (t->begun) {
		if (packets < NDM_TRAIN_PACKETS ||
		    acking_us < max_t(u32, min_rtt_us >> NDM_TRAIN_SHIFT, 1))
			return;
		rate = div_u64((u64)packets << NDM_RATE_FRAC, acking_us);
		t->rate = min_t(u64, max_t(u64, t->rate, rate), U32_MAX);
		t->spread |= acking_us > (u64)sending_us + sending_us / 8;
	}
	t->begun = true;
	t->acked_us = now_us;
	t->sent_us = sent_us;
	t->delivered = delivered;
}

/* An interval is over. */
static inline void ndm_train_close(struct ndm_train *t)
{
	t->last_rate = t->rate;
	t->last_spread = t->spread;
	t->rate = 0;
	t->spread = false;
}

/*
 * What the path holds, NDM_CWND_FRAC fraction bits; NDM_TRAIN_UNKNOWN if the link has spread
 * no train. @rtt_us: of the path without a queue of this flow, below 2^35
 */
static inline u32 ndm_train_bdp(const struct ndm_train *t, u64 rtt_us)
{
	u32 rate = max(t->rate, t->last_rate);

	if (!t->spread && !t->last_spread)
		return NDM_TRAIN_UNKNOWN;
	/* Without 3 of its fraction bits, a rate is below 2^29. */
	return min_t(u64, (rate >> 3) * rtt_us >> (NDM_RATE_FRAC - 3 - NDM_CWND_FRAC),
		     NDM_CWND_MAX << NDM_CWND_FRAC);
}

#endif /* NDM_TRAIN_H */
