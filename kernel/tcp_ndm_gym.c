// SPDX-License-Identifier: GPL-2.0
/*
 * NDM with its decisions asked of a host: the module that the network is
 * trained through.
 *
 * It measures and controls with the very lines of tcp_ndm (ndm_features.h,
 * ndm_control.h); only the network is somewhere else. Whoever registers with
 * ndm_gym_set_host() is asked once per control interval. Where nobody has
 * registered, as on any stock kernel, every decision is to hold the window.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include "ndm_control.h"
#include "ndm_gym.h"
#include "ndm_observe.h"

static const struct ndm_gym_host __rcu *gym_host;
static DEFINE_MUTEX(host_mutex);
static atomic_t flows = ATOMIC_INIT(0);

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

bool ndm_gym_ask(const struct ndm_wire_observation *observation,
		 struct ndm_wire_action *action)
{
	const struct ndm_gym_host *host;
	bool answered = false;

	rcu_read_lock();
	host = rcu_dereference(gym_host);
	if (host)
		answered = host->decide(observation, action);
	rcu_read_unlock();
	return answered;
}
EXPORT_SYMBOL_GPL(ndm_gym_ask);

static void gym_decide(struct sock *sk, u32 decision,
		       const struct ndm_interval *interval, s16 *actions)
{
	const struct ndm_sock *ndm = inet_csk_ca(sk);
	struct ndm_wire_observation observation;
	struct ndm_wire_action action;

	ndm_observe(sk, ndm->flow, &ndm->measure, interval, &observation);
	if (!ndm_gym_ask(&observation, &action))
		return;
	BUILD_BUG_ON(sizeof(action.actions) != NDM_OUTPUTS * sizeof(*actions));
	memcpy(actions, action.actions, sizeof(action.actions));
}

static void NDM_CONG_CONTROL(gym_cong_control)
{
	ndm_control(sk, rs, gym_decide);
}

static void gym_init(struct sock *sk)
{
	ndm_sock_init(sk, &flows);
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

static int __init tcp_ndm_gym_init(void)
{
	BUILD_BUG_ON(sizeof(struct ndm_sock) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct ndm_wire_observation) !=
		     NDM_WIRE_OBSERVATION_SIZE);
	return tcp_register_congestion_control(&ndm_gym);
}

static void __exit tcp_ndm_gym_exit(void)
{
	tcp_unregister_congestion_control(&ndm_gym);
}

module_init(tcp_ndm_gym_init);
module_exit(tcp_ndm_gym_exit);

MODULE_DESCRIPTION("NDM TCP congestion control, decisions asked of a host");
MODULE_LICENSE("GPL");
