// SPDX-License-Identifier: GPL-2.0
/*
 * A congestion control that a user might bring: AIMD. A window of `begin` packets
 * grows by a packet each round trip, and a loss leaves beta / 1024 of it.
 */
#include <linux/module.h>
#include <net/tcp.h>

static unsigned int beta = 512;
module_param(beta, uint, 0444);
MODULE_PARM_DESC(beta, "part of the window that a loss leaves, 1/1024");

static unsigned int begin = 10;
module_param(begin, uint, 0444);
MODULE_PARM_DESC(begin, "first window, packets");

static void aimd_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, begin);
	tp->snd_ssthresh = begin;
}

static u32 aimd_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * beta / 1024, 2U);
}

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_is_cwnd_limited(sk))
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

static struct tcp_congestion_ops aimd __read_mostly = {
	.name = "aimd",
	.owner = THIS_MODULE,
	.init = aimd_init,
	.ssthresh = aimd_ssthresh,
	.cong_avoid = aimd_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init aimd_register(void)
{
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_unregister(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_register);
module_exit(aimd_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("AIMD, to test a congestion control that a user brings");
