// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on the rules of TCP-NV, with ASan and UBSan: `make fuzz SECONDS=60`.
 *
 * The input is a set of parameters within their ranges, then a connection's events:
 * ACKs with any time, RTT and bytes in flight; ends of round trips with any segment
 * size; windows that the kernel takes over or changes. Each event is followed by a
 * check of the invariants. Products and quotients are compared with 128 bits, which
 * cannot overflow.
 */
#include "nv/nv.h"
#include "input.h"
#include "require.h"

enum event_kind { ACK, ROUND_END, OWNER_CHANGED, WINDOW_CHANGED, EVENT_KINDS };

struct event {
	u8 kind;
	u32 a, b, c;
} __attribute__((packed));

static int take_params(struct input *in, struct nv_params *p)
{
	u32 value;

#define TAKE(name, initial, min, max, meaning)				\
	do {								\
		if (!take(in, &value, sizeof(value)))			\
			return 0;					\
		p->name = (min) + value % ((max) - (min) + 1);		\
	} while (0);
	NV_PARAMETERS(TAKE)
	return 1;
}

static void check_state(const struct nv_state *nv, const struct nv_params *p)
{
	REQUIRE(!nv->min_rtt_us == !nv->avg_rtt_us);
	REQUIRE(nv->min_rtt_us <= nv->avg_rtt_us);
	REQUIRE(!nv->next_min_rtt_us || nv->min_rtt_us <= nv->next_min_rtt_us);
	REQUIRE(!nv->max_rate.bytes == !nv->max_rate.rtt_us);
	REQUIRE(nv->growth_shift <= NV_GROWTH_SHIFT_MAX);
	REQUIRE(nv_growth_acks(nv, 0) >= 1);
	REQUIRE(nv->probe_wait <= NV_PROBE_WAIT_RANGE);
	REQUIRE(!nv->probe_rounds || nv->probe_cwnd >= p->min_cwnd);
	REQUIRE(!nv->probe_rounds || nv->probe_cwnd <= nv->probe_full_cwnd);
}

static void check_target(const struct nv_state *nv, const struct nv_params *p,
			 u32 mss)
{
	unsigned __int128 bytes_us, packet_us, exact;

	bytes_us = (unsigned __int128)nv->max_rate.bytes * nv->min_rtt_us;
	packet_us = (unsigned __int128)mss * nv->max_rate.rtt_us;
	if (!bytes_us || !packet_us) {
		REQUIRE(nv_max_win(nv, mss, p->pad) == 0);
		return;
	}
	exact = (bytes_us + packet_us - 1) / packet_us + p->pad;
	REQUIRE(nv_max_win(nv, mss, p->pad) ==
		(exact < U32_MAX ? (u32)exact : U32_MAX));
}

static void acknowledge(struct nv_state *nv, const struct nv_params *p,
			u32 now_us, s32 rtt_us, u32 in_flight)
{
	u32 before_us = nv->avg_rtt_us;
	unsigned __int128 exact_us;

	nv_measure(nv, p, now_us, rtt_us, in_flight);
	if (rtt_us <= 0) {
		REQUIRE(nv->avg_rtt_us == before_us);
		return;
	}
	exact_us = (unsigned __int128)(u32)rtt_us * p->rtt_factor +
		   (unsigned __int128)before_us * (256 - p->rtt_factor);
	REQUIRE(nv->avg_rtt_us ==
		(before_us ? (u32)(exact_us >> 8) : (u32)rtt_us));
	REQUIRE(nv->avg_rtt_us > 0);
}

static void check_decrease(const struct nv_params *p, u32 cwnd, u32 max_win)
{
	unsigned __int128 cut, left;

	if (cwnd <= max_win || cwnd <= p->min_cwnd)
		return;
	cut = (unsigned __int128)(cwnd - max_win) * p->cong_decrease_mult >> 7;
	cut = cut > 2 ? cut : 2;
	left = cut < cwnd - p->min_cwnd ? cwnd - cut : p->min_cwnd;
	REQUIRE(nv_decreased_cwnd(cwnd, max_win, p->cong_decrease_mult,
				  p->min_cwnd) == left);
}

static u32 loss(const struct nv_params *p, u32 cwnd)
{
	unsigned __int128 left;

	left = (unsigned __int128)cwnd * p->loss_dec_factor >> 10;
	REQUIRE(nv_loss_ssthresh(cwnd, p) ==
		(left > NV_SSTHRESH_MIN ? left : NV_SSTHRESH_MIN));
	return left > NV_SSTHRESH_MIN ? left : NV_SSTHRESH_MIN;
}

static void end_round(struct nv_state *nv, const struct nv_params *p,
		      struct nv_window *win, u32 mss, u32 random)
{
	const struct nv_window before = *win;
	bool may_restore = nv->probe_rounds == 1 && nv->probe_cwnd == win->cwnd;
	u32 full_cwnd = nv->probe_full_cwnd;

	check_target(nv, p, mss);
	check_decrease(p, win->cwnd, random);
	nv_round_end(nv, p, win, mss, random);
	nv_round_begin(nv, random);
	/* At least min_cwnd; cwnd rises only at the end of a temporary decrease. */
	REQUIRE(win->cwnd >= before.cwnd || win->cwnd >= p->min_cwnd);
	REQUIRE(win->cwnd <= before.cwnd ||
		(may_restore && win->cwnd == full_cwnd));
	REQUIRE(win->ssthresh == before.ssthresh ||
		(win->ssthresh >= NV_SSTHRESH_MIN &&
		 win->ssthresh <= NV_SSTHRESH_MAX));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct nv_window win = { .cwnd = 10, .ssthresh = NV_SSTHRESH_MAX };
	struct input in = { data, size };
	struct nv_params p;
	struct nv_state nv;
	struct event event;

	if (!take_params(&in, &p) || !take(&in, &event, sizeof(event)))
		return 0;
	nv_init(&nv, event.a, event.b);
	while (take(&in, &event, sizeof(event))) {
		switch (event.kind % EVENT_KINDS) {
		case ACK:
			acknowledge(&nv, &p, event.a, (s32)event.b, event.c);
			break;
		case ROUND_END:
			end_round(&nv, &p, &win, event.a, event.b);
			break;
		case OWNER_CHANGED:
			win.cwnd = win.ssthresh = loss(&p, win.cwnd);
			nv_change_owner(&nv, event.a);
			REQUIRE(nv.growth && !nv.calls && !nv.probe_rounds);
			break;
		case WINDOW_CHANGED:
			/* The kernel sets windows from 1 on. */
			win.cwnd = max_t(u32, event.a, 1);
			win.ssthresh = max_t(u32, event.b, NV_SSTHRESH_MIN);
			break;
		}
		(void)nv_round_is_over(&nv, event.c);
		check_state(&nv, &p);
	}
	return 0;
}
