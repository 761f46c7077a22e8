// SPDX-License-Identifier: GPL-2.0
/*
 * NDM with a host in place of the network: the module for training.
 *
 * It measures and controls with the code of tcp_ndm (ndm_features.h,
 * ndm_control.h), but the host registered with ndm_gym_set_host() decides once per
 * control interval. Without a host, as on any stock kernel, every decision is to
 * hold the window.
 *
 * There are two congestion controls: ndm_gym for the policy in training, and
 * ndm_snapshot for an older policy that competes with it. They differ only in
 * the model that decides.
 */
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <net/tcp.h>

#include "ndm/tcp/ndm_ops.h"
#include "ndm_gym.h"

static const struct ndm_gym_host __rcu *ndm_gym_host;
static DEFINE_MUTEX(ndm_gym_host_mutex);
static atomic_t ndm_gym_flows[NDM_GYM_MODELS];

int ndm_gym_set_host(const struct ndm_gym_host *host)
{
	int error = 0;

	mutex_lock(&ndm_gym_host_mutex);
	if (host && rcu_access_pointer(ndm_gym_host))
		error = -EBUSY;
	else
		rcu_assign_pointer(ndm_gym_host, host);
	mutex_unlock(&ndm_gym_host_mutex);
	if (!host)
		synchronize_rcu();
	return error;
}
EXPORT_SYMBOL_GPL(ndm_gym_set_host);

bool ndm_gym_ask(enum ndm_gym_model model,
		 const struct ndm_wire_observation *observation,
		 struct ndm_wire_action *action)
{
	const struct ndm_gym_host *host;
	bool decided = false;

	rcu_read_lock();
	host = rcu_dereference(ndm_gym_host);
	if (host)
		decided = host->decide(model, observation, action);
	rcu_read_unlock();
	return decided;
}
EXPORT_SYMBOL_GPL(ndm_gym_ask);

/* One congestion control per model. */
static struct tcp_congestion_ops ndm_gym_ops[NDM_GYM_MODELS];

static enum ndm_gym_model ndm_gym_model_of(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_ops - ndm_gym_ops;
}

/* Fills in the observation of an interval that has just ended. */
static void ndm_gym_observe(const struct sock *sk, const struct ndm_sock *ndm,
			    const struct ndm_interval *interval,
			    struct ndm_wire_observation *o)
{
	const struct ndm_measure *m = &ndm->measure;
	const struct tcp_sock *tp = tcp_sk(sk);

	*o = (struct ndm_wire_observation) {
		.now_us = ktime_get_ns() / NSEC_PER_USEC,
		.bytes_acked = tp->bytes_acked,
		.pacing_rate = READ_ONCE(sk->sk_pacing_rate),
		.flow = ndm->memory->flow,
		.decision = m->decisions - 1,
		.interval_us = interval->length_us,
		.rtt_us = interval->rtt_us,
		.srtt_us = tp->srtt_us >> 3,
		.min_rtt_us = m->min_rtt_us,
		.cwnd = tcp_snd_cwnd(tp),
		.inflight = tcp_packets_in_flight(tp),
		.delivered = tp->delivered,
		.lost = tp->lost,
		.retransmitted = tp->total_retrans,
		.mss = tp->mss_cache,
		.ca_state = inet_csk(sk)->icsk_ca_state,
		.port = inet_sk(sk)->inet_num,
	};
	BUILD_BUG_ON(sizeof(o->features) != sizeof(interval->x));
	memcpy(o->features, interval->x, sizeof(o->features));
}

static bool ndm_gym_decide(struct sock *sk, struct ndm_sock *ndm, u32 decision,
			   const struct ndm_interval *interval, s16 *actions)
{
	struct ndm_wire_observation observation;
	struct ndm_wire_action action;

	ndm_gym_observe(sk, ndm, interval, &observation);
	if (!ndm_gym_ask(ndm_gym_model_of(sk), &observation, &action))
		return false;
	BUILD_BUG_ON(sizeof(action.actions) != NDM_OUTPUTS * sizeof(*actions));
	memcpy(actions, action.actions, sizeof(action.actions));
	if (action.skip_slow_start)
		ndm_end_slow_start(sk, ndm);
	return true;
}

static void NDM_CONG_CONTROL(ndm_gym_cong_control)
{
	struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_desk desk __uninitialized;

	if (ndm_ack(sk, ndm, rs))
		ndm_end_interval(sk, ndm, &desk, ndm_gym_decide);
}

static void ndm_gym_init(struct sock *sk)
{
	ndm_op_init(sk, atomic_inc_return(&ndm_gym_flows[ndm_gym_model_of(sk)]));
}

static u32 ndm_gym_ssthresh(struct sock *sk)
{
	return ndm_ssthresh(sk, inet_csk_ca(sk));
}

#define NDM_GYM_OPS(_name)				\
	{						\
		.init = ndm_gym_init,			\
		.release = ndm_op_release,		\
		.ssthresh = ndm_gym_ssthresh,		\
		.undo_cwnd = ndm_op_undo_cwnd,		\
		.cong_control = ndm_gym_cong_control,	\
		NDM_TX_START_OP,			\
		.set_state = ndm_op_set_state,	\
		.get_info = ndm_op_get_info,		\
		.owner = THIS_MODULE,			\
		.name = _name,				\
	}

static struct tcp_congestion_ops ndm_gym_ops[NDM_GYM_MODELS] __read_mostly = {
	[NDM_GYM_POLICY] = NDM_GYM_OPS("ndm_gym"),
	[NDM_GYM_SNAPSHOT] = NDM_GYM_OPS("ndm_snapshot"),
};

static int __init tcp_ndm_gym_init(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct ndm_sock) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct ndm_wire_observation) !=
		     NDM_WIRE_OBSERVATION_SIZE);
	error = tcp_register_congestion_control(&ndm_gym_ops[NDM_GYM_POLICY]);
	if (error)
		return error;
	error = tcp_register_congestion_control(&ndm_gym_ops[NDM_GYM_SNAPSHOT]);
	if (error)
		tcp_unregister_congestion_control(&ndm_gym_ops[NDM_GYM_POLICY]);
	return error;
}

static void __exit tcp_ndm_gym_exit(void)
{
	tcp_unregister_congestion_control(&ndm_gym_ops[NDM_GYM_SNAPSHOT]);
	tcp_unregister_congestion_control(&ndm_gym_ops[NDM_GYM_POLICY]);
}

module_init(tcp_ndm_gym_init);
module_exit(tcp_ndm_gym_exit);

MODULE_DESCRIPTION("NDM TCP congestion control whose decisions come from a host");
MODULE_LICENSE("GPL");
