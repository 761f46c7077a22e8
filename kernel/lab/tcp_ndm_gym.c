// SPDX-License-Identifier: GPL-2.0
/*
 * NDM with a host in place of the network: the module for training.
 *
 * It measures and controls with the code of tcp_ndm (ndm_features.h,
 * ndm_control.h); only the network is elsewhere. The host that registers with
 * ndm_gym_set_host() decides once per control interval. Without a host, as on
 * any stock kernel, every decision is to hold the window.
 *
 * There are two congestion controls: ndm_gym for the policy in training, and
 * ndm_snapshot for an older policy that competes with it. They differ only in
 * the model that decides.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include "ndm/ndm_control.h"
#include "ndm_gym.h"
#include "ndm_observe.h"

static const struct ndm_gym_host __rcu *gym_host;
static DEFINE_MUTEX(host_mutex);
static atomic_t flows[NDM_GYM_MODELS];

int ndm_gym_set_host(const struct ndm_gym_host *host)
{
	int error = 0;

	mutex_lock(&host_mutex);
	if (host && rcu_access_pointer(gym_host))
		error = -EBUSY;
	else
		rcu_assign_pointer(gym_host, host);
	mutex_unlock(&host_mutex);
	if (!host)
		synchronize_rcu();
	return error;
}
EXPORT_SYMBOL_GPL(ndm_gym_set_host);

u32 ndm_gym_new_flow(void)
{
	return atomic_inc_return(&flows[NDM_GYM_POLICY]);
}
EXPORT_SYMBOL_GPL(ndm_gym_new_flow);

bool ndm_gym_ask(enum ndm_gym_model model,
		 const struct ndm_wire_observation *observation,
		 struct ndm_wire_action *action)
{
	const struct ndm_gym_host *host;
	bool answered = false;

	rcu_read_lock();
	host = rcu_dereference(gym_host);
	if (host)
		answered = host->decide(model, observation, action);
	rcu_read_unlock();
	return answered;
}
EXPORT_SYMBOL_GPL(ndm_gym_ask);

static bool decide_by(enum ndm_gym_model model, struct sock *sk,
		      const struct ndm_interval *interval, s16 *actions)
{
	const struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_wire_observation observation;
	struct ndm_wire_action action;

	ndm_observe(sk, ndm->flow, &ndm->measure, interval, &observation);
	if (!ndm_gym_ask(model, &observation, &action))
		return false;
	BUILD_BUG_ON(sizeof(action.actions) != NDM_OUTPUTS * sizeof(*actions));
	memcpy(actions, action.actions, sizeof(action.actions));
	if (action.skip_slow_start)
		ndm_end_slow_start(sk);
	return true;
}

static bool gym_decide(struct sock *sk, u32 decision,
		       const struct ndm_interval *interval, s16 *actions)
{
	return decide_by(NDM_GYM_POLICY, sk, interval, actions);
}

static bool snapshot_decide(struct sock *sk, u32 decision,
			    const struct ndm_interval *interval, s16 *actions)
{
	return decide_by(NDM_GYM_SNAPSHOT, sk, interval, actions);
}

static void NDM_CONG_CONTROL(gym_cong_control)
{
	ndm_control(sk, rs, gym_decide);
}

static void NDM_CONG_CONTROL(snapshot_cong_control)
{
	ndm_control(sk, rs, snapshot_decide);
}

static void gym_init(struct sock *sk)
{
	ndm_sock_init(sk, &flows[NDM_GYM_POLICY]);
}

static void snapshot_init(struct sock *sk)
{
	ndm_sock_init(sk, &flows[NDM_GYM_SNAPSHOT]);
}

static struct tcp_congestion_ops ndm_gym __read_mostly = {
	.init = gym_init,
	.ssthresh = ndm_ssthresh,
	.undo_cwnd = ndm_undo_cwnd,
	.cong_control = gym_cong_control,
	NDM_TX_START_OP,
	.set_state = ndm_set_state,
	.get_info = ndm_get_info,
	.owner = THIS_MODULE,
	.name = "ndm_gym",
};

static struct tcp_congestion_ops ndm_snapshot __read_mostly = {
	.init = snapshot_init,
	.ssthresh = ndm_ssthresh,
	.undo_cwnd = ndm_undo_cwnd,
	.cong_control = snapshot_cong_control,
	NDM_TX_START_OP,
	.set_state = ndm_set_state,
	.get_info = ndm_get_info,
	.owner = THIS_MODULE,
	.name = "ndm_snapshot",
};

static int __init tcp_ndm_gym_init(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct ndm_sock) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct ndm_wire_observation) !=
		     NDM_WIRE_OBSERVATION_SIZE);
	error = tcp_register_congestion_control(&ndm_gym);
	if (error)
		return error;
	error = tcp_register_congestion_control(&ndm_snapshot);
	if (error)
		tcp_unregister_congestion_control(&ndm_gym);
	return error;
}

static void __exit tcp_ndm_gym_exit(void)
{
	tcp_unregister_congestion_control(&ndm_snapshot);
	tcp_unregister_congestion_control(&ndm_gym);
}

module_init(tcp_ndm_gym_init);
module_exit(tcp_ndm_gym_exit);

MODULE_DESCRIPTION("NDM TCP congestion control, decisions asked of a host");
MODULE_LICENSE("GPL");
