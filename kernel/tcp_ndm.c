// SPDX-License-Identifier: GPL-2.0
/*
 * NDM: TCP congestion control by a small recurrent network.
 *
 * Once per control interval (a packet-timed round trip, at least 1 ms):
 *
 *	x    = ten scale-free measurements of the interval	ndm_features.h
 *	h'   = tanh(W x + U h + b)				ndm_core.h
 *	y    = clamp(V h' + c, -1, 1)
 *	cwnd = cwnd * 2^y[0]					ndm_control.h
 *	rate = 1.25 * 2^y[1] * cwnd / srtt
 *
 * h, the memory, starts at zero with each connection. All arithmetic is on
 * integers: int16 weights, 64-bit sums, tables for tanh and 2^y. The weights are
 * trained on this very code (tcp_ndm_gym) and come with ndm_weights.h.
 *
 * What is loaded is told under /sys/module/tcp_ndm/parameters/; every decision
 * can be seen, and computed again, through the tracepoint ndm:ndm_decision (of a
 * variant: NAME:ndm_decision).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/stringify.h>
#include <linux/sysfs.h>

#include "ndm_control.h"
#include "ndm_core.h"
#include "ndm_weights.h"

/*
 * The name of the congestion control, and of the tracepoint's system: modules
 * with other models have other names, so that they can be loaded side by side
 * (NDM_VARIANT in Kbuild).
 */
#ifndef NDM_ALGORITHM
#define NDM_ALGORITHM ndm
#endif

#define CREATE_TRACE_POINTS
#include "ndm_trace.h"

/* Facts about the weights, not settings: they can be read, never set. */
static int fact_set(const char *value, const struct kernel_param *fact)
{
	pr_err("%s is compiled in with the weights and cannot be set\n",
	       fact->name);
	return -EPERM;
}

static int fact_get(char *buffer, const struct kernel_param *fact)
{
	return sysfs_emit(buffer, "%s\n", (const char *)fact->arg);
}

static const struct kernel_param_ops fact_ops = {
	.set = fact_set,
	.get = fact_get,
};

module_param_cb(model_name, &fact_ops, NDM_MODEL_NAME, 0444);
MODULE_PARM_DESC(model_name, "name of the trained model (read only)");
module_param_cb(model_sha256, &fact_ops, NDM_MODEL_SHA256, 0444);
MODULE_PARM_DESC(model_sha256, "SHA-256 of its weights before quantization (read only)");
module_param_cb(weights_format, &fact_ops, __stringify(NDM_WEIGHTS_FORMAT), 0444);
MODULE_PARM_DESC(weights_format, "version of the layout of its weights (read only)");

static atomic_t flows = ATOMIC_INIT(0);

struct ndm_network_sock {
	struct ndm_sock sock;	/* first: ndm_control.h finds it there */
	s16 h[NDM_HIDDEN_MAX];	/* (H) recurrent state, Q15 */
};

static void network_decide(struct sock *sk, u32 decision,
			   const struct ndm_interval *interval, s16 *actions)
{
	struct ndm_network_sock *ndm = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	ndm_core_step(&ndm_model, ndm->h, interval->x, actions);
	trace_ndm_decision(ndm->sock.flow, decision, interval->x, actions,
			   tcp_snd_cwnd(tp), tp->srtt_us >> 3);
}

static void NDM_CONG_CONTROL(network_cong_control)
{
	ndm_control(sk, rs, network_decide);
}

static void network_init(struct sock *sk)
{
	struct ndm_network_sock *ndm = inet_csk_ca(sk);

	ndm_sock_init(sk, &flows);
	memset(ndm->h, 0, sizeof(ndm->h));
}

static struct tcp_congestion_ops ndm __read_mostly = {
	.init = network_init,
	.ssthresh = ndm_ssthresh,
	.undo_cwnd = ndm_undo_cwnd,
	.cong_control = network_cong_control,
	NDM_TX_START_OP,
	.set_state = ndm_set_state,
	.get_info = ndm_get_info,
	.owner = THIS_MODULE,
	.name = __stringify(NDM_ALGORITHM),
};

static int __init tcp_ndm_init(void)
{
	BUILD_BUG_ON(sizeof(struct ndm_network_sock) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(offsetof(struct ndm_network_sock, sock) != 0);
	BUILD_BUG_ON(NDM_MODEL_ACC_MAX >= 1LL << 62);
	BUILD_BUG_ON(sizeof(__stringify(NDM_ALGORITHM)) > TCP_CA_NAME_MAX);
	return tcp_register_congestion_control(&ndm);
}

static void __exit tcp_ndm_exit(void)
{
	tcp_unregister_congestion_control(&ndm);
}

module_init(tcp_ndm_init);
module_exit(tcp_ndm_exit);

MODULE_DESCRIPTION("NDM TCP congestion control: a small recurrent network");
MODULE_LICENSE("GPL");
