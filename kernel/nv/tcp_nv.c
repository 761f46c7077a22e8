// SPDX-License-Identifier: GPL-2.0
/*
 * TCP-NV (New Vegas): TCP congestion avoidance by delay, for networks of
 * 10 Gbit/s and round trips of tens of microseconds. Written from "TCP-NV: An
 * Update to TCP-Vegas" (L. Brakmo, 2015), sections 2 and 3.
 *
 * Without a queue the rate is proportional to the data in flight: all points
 * (in flight, rate) lie on a line through the origin with slope 1 / min_rtt. A point
 * below the line has a queue: the same rate is possible with less data in flight.
 * For every ACK
 *
 *	avg_rtt  = (rtt f + avg_rtt (256 - f)) / 256	f = nv_rtt_factor
 *	min_rtt  = smallest avg_rtt of one to two nv_reset_period
 *	max_rate = largest in_flight / avg_rtt since the last verdict
 *
 * and once per round trip a verdict
 *
 *	max_win  = max_rate min_rtt / mss + nv_pad
 *
 *	cwnd > max_win				congested: decrease
 *		cwnd -= max(2, (cwnd - max_win) nv_cong_decrease_mult / 128)
 *		ssthresh = max_win nv_ssthresh_factor / 8
 *	cwnd < max_win - nv_pad_buffer		grow: like Reno, or faster
 *	between					hold
 *
 * The best of many measurements decides, because single ones are noisy: interrupt
 * coalescing, TSO and GRO can add more than the path's RTT. Therefore min_rtt is a
 * minimum of averages and max_rate a maximum. A verdict of no congestion is possible
 * in every round trip, one of congestion only after nv_dec_eval_min_calls
 * measurements (nv_ssthresh_eval_min_calls in slow start) over nv_rtt_min_cnt round
 * trips.
 *
 * A loss leaves nv_loss_dec_factor / 1024 of the window. Until fast recovery or the
 * time-out ends, the kernel sets the window and nothing is measured; then measuring
 * restarts.
 *
 * A flow that never pauses never sees the path without its own queue: each renewal
 * of min_rtt includes a part of nv_pad, and cwnd increases with it. The temporary
 * decrease of cwnd (nv_rtt_cnt_inc_delta, nv_dec_factor) stops this drift at the
 * price of latency while it lasts; it is off by default, as in the paper.
 *
 * When an application sends less than the window allows, the paper's rule decreases
 * the window towards the data in flight, down to nv_min_cwnd.
 *
 * The rules are in nv.h; this file applies them to a socket.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/stringify.h>
#include <linux/sysfs.h>
#include <net/tcp.h>

#include "nv.h"

static struct nv_params nv_params = NV_PARAMS_DEFAULT;

/* A parameter and its range. */
struct nv_setting {
	u32 *value;
	u32 min;
	u32 max;
	const char *meaning;
};

static int nv_setting_set(const char *text, const struct kernel_param *param)
{
	const struct nv_setting *setting = param->arg;
	int length = strcspn(text, "\n");
	unsigned int value;

	if (kstrtouint(text, 10, &value) ||
	    value < setting->min || value > setting->max) {
		pr_err("%s=%.*s is refused: it must be a whole number from %u to %u: %s; it stays %u\n",
		       param->name, min(length, 32), text, setting->min,
		       setting->max, setting->meaning, *setting->value);
		return -EINVAL;
	}
	WRITE_ONCE(*setting->value, value);
	return 0;
}

static int nv_setting_get(char *buffer, const struct kernel_param *param)
{
	const struct nv_setting *setting = param->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(*setting->value));
}

static const struct kernel_param_ops nv_setting_ops = {
	.set = nv_setting_set,
	.get = nv_setting_get,
};

#define NV_SETTING(_name, _default, _min, _max, _meaning)		\
	static struct nv_setting nv_##_name = {				\
		.value = &nv_params._name,				\
		.min = _min,						\
		.max = _max,						\
		.meaning = _meaning,					\
	};								\
	module_param_cb(nv_##_name, &nv_setting_ops, &nv_##_name, 0644);	\
	MODULE_PARM_DESC(nv_##_name, _meaning				\
			 "; " __stringify(_min) " to " __stringify(_max) \
			 ", default " __stringify(_default));
NV_PARAMETERS(NV_SETTING)
#undef NV_SETTING

/* Whether TCP-NV sets the window; in other states PRR or the time-out sets it. */
static bool nv_owns_window(u8 ca_state)
{
	return ca_state == TCP_CA_Open || ca_state == TCP_CA_Disorder;
}

static void nv_end_round(struct sock *sk, struct nv_state *nv)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct nv_window before = {
		.cwnd = tcp_snd_cwnd(tp),
		.ssthresh = tp->snd_ssthresh,
	};
	struct nv_window after = before;

	nv_round_end(nv, &nv_params, &after, tp->mss_cache, get_random_u32());
	nv_round_begin(nv, tp->snd_nxt);
	if (after.cwnd != before.cwnd)
		tcp_snd_cwnd_set(tp, min(after.cwnd, tp->snd_cwnd_clamp));
	tp->snd_ssthresh = after.ssthresh;
}

/*
 * The bytes in flight when the acknowledged packet was sent. The kernel counts them
 * as the bytes delivered from then to its ACK. If no acknowledged packet recorded
 * the delivered bytes when it was sent, the kernel counts from the start of the
 * connection, which is no measurement.
 */
static u32 nv_in_flight(const struct tcp_sock *tp,
			const struct ack_sample *sample)
{
	u32 since_start = tp->mss_cache * tp->delivered;

	return sample->in_flight == since_start ? 0 : sample->in_flight;
}

static void nv_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct nv_state *nv = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!nv_owns_window(inet_csk(sk)->icsk_ca_state))
		return;
	nv_measure(nv, &nv_params, tp->tcp_mstamp, sample->rtt_us,
		   nv_in_flight(tp, sample));
	if (nv_round_is_over(nv, tp->snd_una))
		nv_end_round(sk, nv);
}

static void nv_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct nv_state *nv = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!nv->growth || !tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, nv_growth_acks(nv, tcp_snd_cwnd(tp)), acked);
}

static u32 nv_ssthresh(struct sock *sk)
{
	return nv_loss_ssthresh(tcp_snd_cwnd(tcp_sk(sk)), &nv_params);
}

/* Called with the new state before icsk_ca_state changes. */
static void nv_set_state(struct sock *sk, u8 state)
{
	if (!nv_owns_window(state) ||
	    !nv_owns_window(inet_csk(sk)->icsk_ca_state))
		nv_change_owner(inet_csk_ca(sk), tcp_sk(sk)->snd_nxt);
}

static void nv_sock_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	nv_init(inet_csk_ca(sk), tp->tcp_mstamp, tp->snd_nxt);
}

/* Reports as Vegas does: measurements since the last verdict, average and min RTT. */
static size_t nv_get_info(struct sock *sk, u32 ext, int *attr,
			  union tcp_cc_info *info)
{
	const struct nv_state *nv = inet_csk_ca(sk);

	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info) {
		.tcpv_enabled = 1,
		.tcpv_rttcnt = nv->calls,
		.tcpv_rtt = nv->avg_rtt_us,
		.tcpv_minrtt = nv->min_rtt_us,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(info->vegas);
}

static struct tcp_congestion_ops nv __read_mostly = {
	.init = nv_sock_init,
	.ssthresh = nv_ssthresh,
	.cong_avoid = nv_cong_avoid,
	.set_state = nv_set_state,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.pkts_acked = nv_pkts_acked,
	.get_info = nv_get_info,
	.owner = THIS_MODULE,
	.name = "nv",
};

static int __init tcp_nv_init(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct nv_state) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(NV_SSTHRESH_MAX != TCP_INFINITE_SSTHRESH);
	err = tcp_register_congestion_control(&nv);
	if (err == -EEXIST)
		pr_err("another congestion control is registered as nv: unload its module (the kernel's own is tcp_nv) and load this one again; if it is built in, the kernel needs CONFIG_TCP_CONG_NV=n\n");
	return err;
}

static void __exit tcp_nv_exit(void)
{
	tcp_unregister_congestion_control(&nv);
}

module_init(tcp_nv_init);
module_exit(tcp_nv_exit);

MODULE_DESCRIPTION("TCP-NV: TCP congestion avoidance by delay for data centres");
MODULE_LICENSE("GPL");
