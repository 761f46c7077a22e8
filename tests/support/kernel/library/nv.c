// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of TCP-NV as functions of build/libndm.so, for tests/kernel/nv/test_nv.py:
 * one connection, driven event by event. Parameters are an array of u32 in the order
 * of NV_PARAMETERS.
 */
#include "nv/nv.h"

struct nv_user_parameter {
	const char *name;
	u32 value;
	u32 least;
	u32 most;
};

#define NV_USER(name, value, least, most, meaning) \
	{ "nv_" #name, value, least, most },
static const struct nv_user_parameter parameters[] = { NV_PARAMETERS(NV_USER) };

const struct nv_user_parameter *nv_user_parameter(unsigned int i)
{
	return i < sizeof(parameters) / sizeof(*parameters) ? &parameters[i] :
							      NULL;
}

unsigned int nv_user_state_size(void)
{
	return sizeof(struct nv_state);
}

void nv_user_init(struct nv_state *nv, u32 now_us, u32 snd_nxt)
{
	nv_init(nv, now_us, snd_nxt);
}

void nv_user_measure(struct nv_state *nv, const struct nv_params *p, u32 now_us,
		     s32 rtt_us, u32 in_flight)
{
	nv_measure(nv, p, now_us, rtt_us, in_flight);
}

int nv_user_round_is_over(const struct nv_state *nv, u32 snd_una)
{
	return nv_round_is_over(nv, snd_una);
}

/* window: cwnd, ssthresh */
void nv_user_round_end(struct nv_state *nv, const struct nv_params *p,
		       u32 *window, u32 mss, u32 random, u32 snd_nxt)
{
	struct nv_window win = { window[0], window[1] };

	nv_round_end(nv, p, &win, mss, random);
	nv_round_begin(nv, snd_nxt);
	window[0] = win.cwnd;
	window[1] = win.ssthresh;
}

void nv_user_window_taken(struct nv_state *nv, u32 snd_nxt)
{
	nv_change_owner(nv, snd_nxt);
}

u32 nv_user_average_rtt(u32 avg_rtt_us, u32 rtt_us, u32 factor)
{
	return nv_average_rtt(avg_rtt_us, rtt_us, factor);
}

int nv_user_rate_is_more(u32 a_bytes, u32 a_rtt_us, u32 b_bytes, u32 b_rtt_us)
{
	return nv_rate_exceeds((struct nv_rate) { a_bytes, a_rtt_us },
			       (struct nv_rate) { b_bytes, b_rtt_us });
}

u32 nv_user_max_win(u32 bytes, u32 rtt_us, u32 min_rtt_us, u32 mss, u32 pad)
{
	struct nv_state nv = {
		.max_rate = { bytes, rtt_us },
		.min_rtt_us = min_rtt_us,
	};

	return nv_max_win(&nv, mss, pad);
}

u32 nv_user_decreased_cwnd(u32 cwnd, u32 max_win, u32 mult, u32 floor)
{
	return nv_decreased_cwnd(cwnd, max_win, mult, floor);
}

u32 nv_user_congestion_ssthresh(u32 max_win, u32 factor)
{
	return nv_congestion_ssthresh(max_win, factor);
}

u32 nv_user_loss_ssthresh(u32 cwnd, const struct nv_params *p)
{
	return nv_loss_ssthresh(cwnd, p);
}

u32 nv_user_growth_acks(const struct nv_state *nv, u32 cwnd)
{
	return nv_growth_acks(nv, cwnd);
}

/* avg_rtt_us, min_rtt_us, next_min_rtt_us, calls, rounds, growth */
void nv_user_read(const struct nv_state *nv, u32 *numbers)
{
	numbers[0] = nv->avg_rtt_us;
	numbers[1] = nv->min_rtt_us;
	numbers[2] = nv->next_min_rtt_us;
	numbers[3] = nv->calls;
	numbers[4] = nv->rounds;
	numbers[5] = nv->growth;
}
