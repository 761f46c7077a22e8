// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's congestion controls as experts: records the inputs that tcp_ndm would
 * have while another algorithm sets the window. For the lab only.
 *
 *	echo cubic >/sys/module/tcp_expert/parameters/scheme
 *
 * registers expert_cubic. It passes every operation on to Cubic, whose behaviour
 * does not change. In addition it measures each connection with the code of tcp_ndm
 * (ndm_features.h) and sends an observation of each control interval to the host of
 * tcp_ndm_gym. The host's answer is not used.
 *
 * All inputs are those that tcp_ndm would have on this connection. The slow
 * start flag, too, compares the window with the ssthresh that tcp_ndm would have
 * set, not with the scheme's own. In company the inputs follow the scheme's window,
 * which has no fractions of a packet (ndm_company.h).
 *
 * tcp_ndm closes an interval when the kernel calls cong_control() after an ACK. So
 * does the expert of a scheme with cong_control(). A scheme without cong_control()
 * must not get one, because the kernel would then no longer reduce its window. Its
 * expert reads the ACK in pkts_acked(), together with the window, which fast
 * recovery may change next. It closes the interval at the kernel's next call before
 * sending: cong_avoid() or min_tso_segs(). If an ACK causes neither, the next ACK
 * closes the interval. In a tree with BBRv3, tso_segs() replaces min_tso_segs(), and an
 * expert has it only if its scheme has it.
 *
 * The scheme occupies the socket's private state, so the expert finds its own state
 * by the socket's address.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/tcp.h>

#include "compat/tso_segs.h"
#include "compat/watch_tx_start.h"
#include "compat/cong_control.h"
#include "ndm/ndm_control.h"
#include "lab/ndm_gym.h"
#include "lab/ndm_observe.h"

#define EXPERT_PREFIX "expert_"
#define EXPERT_HASH_BITS 6

/* A registered expert; expert_of() finds it by icsk_ca_ops. */
struct expert {
	struct tcp_congestion_ops ops;
	const struct tcp_congestion_ops *scheme;
	struct socket *holder;		/* holds a reference to the scheme */
	bool uses_callbacks;		/* measures in callbacks, not in cong_control() */
	struct list_head list;
};

/* An ACK, stored until the interval may be closed. */
struct expert_ack {
	u32 now_us;
	long rtt_us;			/* negative: no sample */
	u32 prior_delivered;
	u32 sent_us;			/* when the newest delivered packet was sent */
	u32 cwnd;			/* before the scheme or PRR changes it */
	u64 pacing_rate;		/* likewise, bytes per second */
	bool delivered;			/* prior_delivered is known */
	bool app_limited;		/* the application has limited the packet's rate */
	bool pending;
};

/* A measured connection. */
struct expert_flow {
	struct hlist_node node;
	struct rcu_head rcu;
	const struct sock *sk;
	struct ndm_measure measure;
	struct expert_ack ack;
	u32 number;			/* from 1 in opening order */
	u32 sent_us;			/* as in struct ndm_memory */
	u32 ssthresh;			/* as tcp_ndm would have set it */
	u32 prior_ssthresh;		/* before its last change */
	enum ndm_phase phase;		/* of tcp_ndm's slow start */
	u8 company;			/* as in struct ndm_memory */
};

static DEFINE_HASHTABLE(expert_flows, EXPERT_HASH_BITS);
static DEFINE_SPINLOCK(expert_flows_lock);	/* for adding and removing */

/* Protected by the module's parameter lock. */
static LIST_HEAD(expert_list);
static bool expert_loaded;	/* between init and exit */

static bool expert_callbacks;
module_param_named(callbacks, expert_callbacks, bool, 0600);
MODULE_PARM_DESC(callbacks,
		 "experts registered from now on measure in callbacks even if the scheme has cong_control() (for tests)");

static struct expert *expert_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct expert, ops);
}

/* Some schemes find themselves by icsk_ca_ops (tcp_window), so every call sets it. */
static const struct expert *expert_hand_over(struct sock *sk)
{
	const struct expert *expert = expert_of(sk);

	inet_csk(sk)->icsk_ca_ops = expert->scheme;
	return expert;
}

static void expert_take_back(struct sock *sk, const struct expert *expert)
{
	inet_csk(sk)->icsk_ca_ops = &expert->ops;
}

/* Returns NULL without a flow. The caller owns the socket, so its flow stays valid. */
static struct expert_flow *expert_find(const struct sock *sk)
{
	struct expert_flow *flow;

	rcu_read_lock();
	hash_for_each_possible_rcu(expert_flows, flow, node, (unsigned long)sk)
		if (flow->sk == sk)
			break;
	rcu_read_unlock();
	return flow;
}

static void expert_end_slow_start(struct expert_flow *flow)
{
	if (flow->phase == NDM_STEADY && flow->ssthresh >= TCP_INFINITE_SSTHRESH)
		flow->ssthresh = max_t(u32, flow->ack.cwnd, NDM_CWND_MIN);
}

/* Measures the stored ACK, and sends an observation if it ends an interval. */
static void expert_measure(struct sock *sk, struct expert_flow *flow)
{
	struct ndm_measure *m = &flow->measure;
	struct ndm_wire_observation observation;
	const struct expert_ack *ack = &flow->ack;
	struct ndm_interval interval;
	struct ndm_wire_action unused;
	struct ndm_reading now;
	bool starting;

	if (!ack->pending)
		return;
	flow->ack.pending = false;
	starting = ndm_in_slow_start(flow->phase);
	if (ack->app_limited)
		m->app_limited = 1;
	if (ack->rtt_us >= 0)
		ndm_measure_rtt(m, min_t(long, ack->rtt_us, NDM_RTT_MAX_US));
	if (ndm_in_slow_start(flow->phase)) {
		flow->phase = ndm_slow_start_ack(flow->phase, m);
		expert_end_slow_start(flow);
	}
	if (!ack->delivered ||
	    !ndm_interval_ended(m, ack->now_us, ack->prior_delivered, starting))
		return;
	now = ndm_read(sk);
	now.now_us = ack->now_us;
	now.sending_us = max_t(s32, ack->sent_us - flow->sent_us, 0);
	flow->sent_us = ack->sent_us;
	ndm_interval_close(m, &now, &interval);
	if (ndm_in_slow_start(flow->phase))
		flow->phase = ndm_slow_start_close(flow->phase, &interval,
						   m->min_rtt_us);
	expert_end_slow_start(flow);
	ndm_see_company(&flow->company, flow->phase == NDM_STEADY, &interval,
			min(ack->cwnd, NDM_CWND_MAX) << NDM_CWND_FRAC);
	ndm_observe(sk, flow->number, m, &interval, &observation);
	observation.cwnd = ack->cwnd;
	observation.pacing_rate = ack->pacing_rate;
	ndm_gym_ask(NDM_GYM_POLICY, &observation, &unused);
}

static void NDM_CONG_CONTROL(expert_cong_control)
{
	struct expert_flow *flow = expert_find(sk);
	const struct expert *expert;

	if (flow && !expert_of(sk)->uses_callbacks) {
		flow->ack = (struct expert_ack) {
			.now_us = tcp_sk(sk)->tcp_mstamp,
			.rtt_us = rs->is_ack_delayed ? -1 : rs->rtt_us,
			.prior_delivered = rs->prior_delivered,
			.sent_us = tcp_sk(sk)->first_tx_mstamp,
			.cwnd = tcp_snd_cwnd(tcp_sk(sk)),
			.pacing_rate = READ_ONCE(sk->sk_pacing_rate),
			.delivered = rs->delivered >= 0,
			.app_limited = rs->is_app_limited,
			.pending = true,
		};
		expert_measure(sk, flow);
	}
	expert = expert_hand_over(sk);
	NDM_CALL_CONG_CONTROL(expert->scheme);
	expert_take_back(sk, expert);
}

static void expert_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct expert_flow *flow = expert_find(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct expert *expert;

	if (flow && expert_of(sk)->uses_callbacks) {
		expert_measure(sk, flow);
		/*
		 * in_flight is mss * (delivered - prior_delivered), modulo 2^32.
		 * prior_delivered is 0 if it is unknown; otherwise it includes
		 * the SYN and is at least 1.
		 */
		flow->ack = (struct expert_ack) {
			.now_us = tp->tcp_mstamp,
			.rtt_us = sample->rtt_us,
			.prior_delivered = tp->delivered -
					   sample->in_flight / tp->mss_cache,
			.sent_us = tp->first_tx_mstamp,
			.cwnd = tcp_snd_cwnd(tp),
			.pacing_rate = READ_ONCE(sk->sk_pacing_rate),
			.delivered = sample->in_flight !=
				     tp->mss_cache * tp->delivered,
			.app_limited = tp->app_limited,
			.pending = true,
		};
	}
	expert = expert_hand_over(sk);
	if (expert->scheme->pkts_acked)
		expert->scheme->pkts_acked(sk, sample);
	expert_take_back(sk, expert);
}

static void expert_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct expert_flow *flow = expert_find(sk);
	const struct expert *expert;

	if (flow) {
		/* Fast recovery may have ended with this ACK. */
		flow->ack.cwnd = tcp_snd_cwnd(tcp_sk(sk));
		expert_measure(sk, flow);
	}
	expert = expert_hand_over(sk);
	expert->scheme->cong_avoid(sk, ack, acked);
	expert_take_back(sk, expert);
}

static u32 NDM_TSO_SEGS(expert_tso_segs)
{
	struct expert_flow *flow = expert_find(sk);
	const struct expert *expert;
	u32 segments;

	if (flow)
		expert_measure(sk, flow);
	/* The kernel's minimum without this operation. */
	segments = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
	expert = expert_hand_over(sk);
	if (expert->scheme->NDM_TSO_SEGS_OP)
		segments = NDM_CALL_TSO_SEGS(expert->scheme);
	expert_take_back(sk, expert);
	return segments;
}

static u32 expert_ssthresh(struct sock *sk)
{
	struct expert_flow *flow = expert_find(sk);
	const struct expert *expert;
	u32 ssthresh;

	if (flow) {
		flow->prior_ssthresh = flow->ssthresh;
		flow->ssthresh = max_t(u32, tcp_snd_cwnd(tcp_sk(sk)), NDM_CWND_MIN);
		flow->phase = NDM_STEADY;
	}
	expert = expert_hand_over(sk);
	ssthresh = expert->scheme->ssthresh(sk);
	expert_take_back(sk, expert);
	return ssthresh;
}

static u32 expert_undo_cwnd(struct sock *sk)
{
	struct expert_flow *flow = expert_find(sk);
	const struct expert *expert;
	u32 cwnd;

	if (flow) {
		ndm_measure_undo(&flow->measure, ndm_read(sk).lost);
		flow->ssthresh = max(flow->ssthresh, flow->prior_ssthresh);
	}
	expert = expert_hand_over(sk);
	cwnd = expert->scheme->undo_cwnd(sk);
	expert_take_back(sk, expert);
	if (flow)
		flow->ack.cwnd = cwnd;
	return cwnd;
}

static void expert_set_state(struct sock *sk, u8 state)
{
	struct expert_flow *flow = expert_find(sk);
	const struct expert *expert;

	if (flow && state == TCP_CA_Loss)
		ndm_measure_timeout(&flow->measure);
	else if (flow && state == TCP_CA_CWR)
		ndm_measure_mark(&flow->measure);
	expert = expert_hand_over(sk);
	if (expert->scheme->set_state)
		expert->scheme->set_state(sk, state);
	expert_take_back(sk, expert);
}

static void NDM_WATCH_TX_START(expert_tx_start)
{
	struct expert_flow *flow = expert_find(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct expert *expert;
	u64 idle_us;

	if (flow && NDM_IS_TX_START && !tp->packets_out) {
		idle_us = tcp_stamp_us_delta(tp->tcp_mstamp,
					     tp->delivered_mstamp);
		ndm_measure_idle(&flow->measure, tp->tcp_mstamp,
				 min_t(u64, idle_us, U32_MAX));
		flow->sent_us = tp->tcp_mstamp;
	}
	expert = expert_hand_over(sk);
	if (expert->scheme->NDM_WATCHED_TX_START)
		NDM_CALL_TX_START(expert->scheme);
	expert_take_back(sk, expert);
}

static void expert_in_ack_event(struct sock *sk, u32 flags)
{
	const struct expert *expert;

	expert = expert_hand_over(sk);
	expert->scheme->in_ack_event(sk, flags);
	expert_take_back(sk, expert);
}

static u32 expert_sndbuf_expand(struct sock *sk)
{
	const struct expert *expert;
	u32 factor;

	expert = expert_hand_over(sk);
	factor = expert->scheme->sndbuf_expand(sk);
	expert_take_back(sk, expert);
	return factor;
}

static void expert_init(struct sock *sk)
{
	struct expert_flow *flow = kzalloc(sizeof(*flow), GFP_ATOMIC);
	struct ndm_reading now = ndm_read(sk);
	const struct expert *expert;

	if (flow) {
		flow->sk = sk;
		flow->number = ndm_gym_new_flow();
		flow->sent_us = now.now_us;
		flow->ssthresh = tcp_sk(sk)->snd_ssthresh;
		flow->prior_ssthresh = flow->ssthresh;
		flow->phase = flow->ssthresh >= TCP_INFINITE_SSTHRESH ?
			      NDM_STARTING : NDM_STEADY;
		ndm_measure_init(&flow->measure, &now);
		spin_lock_bh(&expert_flows_lock);
		hash_add_rcu(expert_flows, &flow->node, (unsigned long)sk);
		spin_unlock_bh(&expert_flows_lock);
	}
	expert = expert_hand_over(sk);
	if (expert->scheme->init)
		expert->scheme->init(sk);
	expert_take_back(sk, expert);
}

/* Called for sockets without init(), too. */
static void expert_release(struct sock *sk)
{
	struct expert_flow *flow = expert_find(sk);
	const struct expert *expert;

	if (flow) {
		spin_lock_bh(&expert_flows_lock);
		hash_del_rcu(&flow->node);
		spin_unlock_bh(&expert_flows_lock);
		kfree_rcu(flow, rcu);
	}
	expert = expert_hand_over(sk);
	if (expert->scheme->release)
		expert->scheme->release(sk);
	expert_take_back(sk, expert);
}

/*
 * Wraps the scheme's operations, and adds pkts_acked() and min_tso_segs() where the
 * expert measures in them; that does not change the kernel's behaviour. get_info()
 * is called without the socket's lock and therefore not wrapped.
 */
static void expert_wrap(struct expert *expert)
{
	struct tcp_congestion_ops *ops = &expert->ops;

	*ops = *expert->scheme;
	expert->uses_callbacks = !ops->cong_control || expert_callbacks;
	INIT_LIST_HEAD(&ops->list);
	snprintf(ops->name, sizeof(ops->name), EXPERT_PREFIX "%s",
		 expert->scheme->name);
	ops->owner = THIS_MODULE;
	ops->init = expert_init;
	ops->release = expert_release;
	ops->ssthresh = expert_ssthresh;
	ops->undo_cwnd = expert_undo_cwnd;
	ops->set_state = expert_set_state;
	ops->NDM_WATCHED_TX_START = expert_tx_start;
	if (ops->cong_control)
		ops->cong_control = expert_cong_control;
	if (ops->cong_avoid)
		ops->cong_avoid = expert_cong_avoid;
	if (ops->pkts_acked || expert->uses_callbacks)
		ops->pkts_acked = expert_pkts_acked;
	if (ops->NDM_TSO_SEGS_OP || (NDM_TSO_SEGS_IS_MINIMUM && expert->uses_callbacks))
		ops->NDM_TSO_SEGS_OP = expert_tso_segs;
	if (ops->in_ack_event)
		ops->in_ack_event = expert_in_ack_event;
	if (ops->sndbuf_expand)
		ops->sndbuf_expand = expert_sndbuf_expand;
}

/* Finds the scheme by name with a socket that uses it and holds its module. */
static int expert_hold(struct expert *expert, const char *scheme)
{
	struct socket *holder;
	int err;

	err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
			       &holder);
	if (err)
		return err;
	err = holder->ops->setsockopt(holder, SOL_TCP, TCP_CONGESTION,
				      KERNEL_SOCKPTR((void *)scheme),
				      strlen(scheme));
	if (err) {
		sock_release(holder);
		return err;
	}
	expert->holder = holder;
	expert->scheme = inet_csk(holder->sk)->icsk_ca_ops;
	return 0;
}

static int expert_register(const char *scheme)
{
	struct expert *expert;
	int err;

	list_for_each_entry(expert, &expert_list, list)
		if (!strcmp(expert->scheme->name, scheme))
			return 0;
	expert = kzalloc(sizeof(*expert), GFP_KERNEL);
	if (!expert)
		return -ENOMEM;
	err = expert_hold(expert, scheme);
	if (err) {
		pr_err("scheme=%s is refused: this kernel has no such congestion control\n",
		       scheme);
		goto free;
	}
	/* Such a scheme replaces itself on a path without ECN (DCTCP by Reno). */
	err = -EOPNOTSUPP;
	if (expert->scheme->flags & TCP_CONG_NEEDS_ECN) {
		pr_err("scheme=%s is refused: it needs ECN\n", scheme);
		goto release;
	}
	expert_wrap(expert);
	err = tcp_register_congestion_control(&expert->ops);
	if (err)
		goto release;
	list_add(&expert->list, &expert_list);
	return 0;
release:
	sock_release(expert->holder);
free:
	kfree(expert);
	return err;
}

static int expert_scheme_set(const char *text, const struct kernel_param *param)
{
	const size_t max_length = TCP_CA_NAME_MAX - sizeof(EXPERT_PREFIX);
	char name[TCP_CA_NAME_MAX];
	size_t length = strcspn(text, "\n");

	if (!expert_loaded || !length || length > max_length) {
		pr_err("%s=%.*s is refused: write the name of a congestion control, of 1 to %zu characters, once the module is loaded\n",
		       param->name, (int)min_t(size_t, length, 32), text, max_length);
		return -EINVAL;
	}
	strscpy(name, text, length + 1);
	return expert_register(name);
}

static const struct kernel_param_ops expert_scheme_ops = {
	.set = expert_scheme_set,
};

module_param_cb(scheme, &expert_scheme_ops, NULL, 0200);
MODULE_PARM_DESC(scheme,
		 "registers expert_SCHEME, which measures this congestion control; each write registers one more");

static int __init tcp_expert_init(void)
{
	kernel_param_lock(THIS_MODULE);
	expert_loaded = true;
	kernel_param_unlock(THIS_MODULE);
	return 0;
}

/* Sockets hold a reference to the module, so none uses an expert now. */
static void __exit tcp_expert_exit(void)
{
	struct expert *expert, *next;

	kernel_param_lock(THIS_MODULE);
	expert_loaded = false;
	list_for_each_entry_safe(expert, next, &expert_list, list) {
		tcp_unregister_congestion_control(&expert->ops);
		sock_release(expert->holder);
		kfree(expert);
	}
	kernel_param_unlock(THIS_MODULE);
}

module_init(tcp_expert_init);
module_exit(tcp_expert_exit);

MODULE_DESCRIPTION("Congestion controls of the kernel, measured with NDM's inputs");
MODULE_LICENSE("GPL");
