// SPDX-License-Identifier: GPL-2.0
/*
 * NDM: TCP congestion control by a small recurrent network.
 *
 * Once per control interval (a packet-timed round trip, at least 1 ms):
 *
 *	x    = scale-free measurements of the interval	ndm_features.h
 *	h'   = tanh(W x + U h + b)				ndm_core.h
 *	y    = clamp(V h' + c, -1, 1)
 *	cwnd = (cwnd + 4^y[0] * added) * RTT without queue / RTT	ndm_window.h
 *	rate = 1.25 * 2^y[1] * cwnd / srtt
 *
 * The state h starts at zero with each connection. All arithmetic is on integers:
 * int16 weights, 64-bit sums, tables for tanh and 2^y. The weights are trained on
 * this code (tcp_ndm_gym) and come with ndm_weights.h.
 *
 * The congestion control "ndm" begins with the compiled-in model (ndm_weights.h).
 * While connections run, its model can be replaced, and further models become
 * congestion controls "ndm_NAME"; see ndm_slot.h. Congestion bounds the window
 * whatever the policy decides (ndm_bound.h).
 *
 * /sys/module/tcp_ndm/ndm/ describes the model in use. The tracepoint
 * ndm:ndm_decision shows every decision with all values needed to recompute it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/stringify.h>

#include "ndm/ndm_core.h"
#include "ndm_ops.h"
#include "ndm_policy.h"
#include "ndm_reno.h"
#include "ndm_slot.h"
#include "ndm_weights.h"

#define CREATE_TRACE_POINTS
#include "ndm_trace.h"

static DEFINE_PER_CPU(u32, ndm_opened);	/* connections */

/* -- on a socket ----------------------------------------------------------- */

static bool ndm_network_decide(struct sock *sk, struct ndm_sock *ndm, u32 decision,
			       const struct ndm_interval *interval, s16 *actions)
{
	struct ndm_memory *memory = ndm->memory;
	struct ndm_slot *slot = ndm_slot_of(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct ndm_loaded *loaded;

	rcu_read_lock();
	loaded = rcu_dereference(slot->active);
	ndm_use_model(memory, loaded->number);
	ndm_core_step(&loaded->network, memory->h, interval->x, actions);
	rcu_read_unlock();
	this_cpu_inc(*slot->decisions);
	trace_ndm_decision(slot->ops.name, memory->flow, decision, interval->x, actions,
			   tcp_snd_cwnd(tp), tp->srtt_us >> 3, memory->model);
	return true;
}

/* Not inline, so that an ACK without a decision saves no registers for it. */
static noinline void ndm_network_end_interval(struct sock *sk)
{
	struct ndm_desk desk __uninitialized;

	ndm_end_interval(sk, inet_csk_ca(sk), &desk, ndm_network_decide);
}

static void NDM_CONG_CONTROL(ndm_network_cong_control)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);

	if (unlikely(!ndm->memory))
		ndm_reno_control(sk, rs);
	else if (ndm_ack(sk, ndm, rs))
		ndm_network_end_interval(sk);
}

static u32 ndm_network_ssthresh(struct sock *sk)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);

	return ndm->memory ? ndm_ssthresh(sk, ndm) : tcp_reno_ssthresh(sk);
}

/*
 * The number of a new connection, for traces. CPUs share no counter. It repeats after
 * 2^32 / nr_cpu_ids connections of one CPU.
 */
static u32 ndm_new_number(void)
{
	int cpu = get_cpu();
	u32 number = this_cpu_inc_return(ndm_opened) * nr_cpu_ids - cpu;

	put_cpu();
	return number;
}

static void ndm_network_init(struct sock *sk)
{
	const struct ndm_sock *ndm = inet_csk_ca(sk);

	ndm_op_init(sk, ndm_new_number());
	if (unlikely(!ndm->memory))
		atomic_inc(&ndm_slot_of(sk)->without_state);
}

/* -- the module --------------------------------------------------------------- */

static const struct tcp_congestion_ops ndm_network_ops = {
	.init = ndm_network_init,
	.release = ndm_op_release,
	.ssthresh = ndm_network_ssthresh,
	.undo_cwnd = ndm_op_undo_cwnd,
	.cong_control = ndm_network_cong_control,
	NDM_TX_START_OP,
	.set_state = ndm_op_set_state,
	.get_info = ndm_op_get_info,
	.owner = THIS_MODULE,
};

static int __init tcp_ndm_init(void)
{
	const char *problem;

	BUILD_BUG_ON(sizeof(struct ndm_sock) > ICSK_CA_PRIV_SIZE);
	problem = ndm_pin_init();
	if (problem) {
		pr_err("parameter pin: %s is no SHA-256, which has 64 hexadecimal digits\n",
		       problem);
		return -EINVAL;
	}
	return ndm_slots_init(&ndm_network_ops, &NDM_BUILTIN_MODEL);
}

static void __exit tcp_ndm_exit(void)
{
	ndm_slots_exit();
}

module_init(tcp_ndm_init);
module_exit(tcp_ndm_exit);

MODULE_DESCRIPTION("NDM TCP congestion control: a small recurrent network");
MODULE_VERSION(__stringify(NDM_VERSION));
MODULE_LICENSE("GPL");
