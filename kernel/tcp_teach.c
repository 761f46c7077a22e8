// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own congestion controls as teachers: what the network would see
 * while another algorithm sets the window. For recordings, in the lab only.
 *
 *	echo cubic >/sys/module/tcp_teach/parameters/scheme
 *
 * registers teach_cubic, which is Cubic: every operation is passed on to it, and
 * nothing of what it does changes. Beside it each connection is measured with the
 * lines of tcp_ndm (ndm_features.h), and each control interval that ends is shown
 * to the host of tcp_ndm_gym as an observation. The host's answer is not used.
 *
 * All ten inputs are those that tcp_ndm would have on this connection. That goes
 * for the slow start flag too: it compares the window with the ssthresh that
 * tcp_ndm would have set, not with the scheme's own.
 *
 * An interval is closed where tcp_ndm closes it, when the window is to be
 * controlled after an ACK. A scheme with cong_control() is called just then. To
 * have that operation where the scheme has none would change it: the kernel
 * leaves the window's reduction to whoever has it. So there the ACK is taken
 * from pkts_acked(), which knows all of the rate sample that is needed, with the
 * window, which fast recovery may move next. The interval is closed at the next
 * call that the kernel makes before it sends anything: cong_avoid(), or
 * min_tso_segs() of the segments to send. Where an ACK finds nothing to send and
 * no window to raise, the next one closes the interval, with what it finds.
 *
 * The measurements cannot be where a congestion control keeps its own, since
 * that place is the scheme's: they are found by the socket's address.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/tcp.h>

#include "compat/watch_tx_start.h"
#include "ndm_control.h"
#include "ndm_gym.h"
#include "ndm_observe.h"

#define TEACH_PREFIX "teach_"
#define TEACH_HASH_BITS 6

/* A registered teacher. Its sockets find it through icsk_ca_ops. */
struct teacher {
	struct tcp_congestion_ops ops;
	const struct tcp_congestion_ops *scheme;
	struct socket *holder;		/* uses the scheme, so that it stays */
	bool listens;			/* to callbacks, not to cong_control() */
	struct list_head list;
};

/* What an ACK said, until the interval may be closed. */
struct teach_ack {
	u32 now_us;
	long rtt_us;			/* negative: no sample */
	u32 prior_delivered;
	u32 cwnd;			/* before the scheme or PRR changes it */
	u64 pacing_rate;		/* likewise, bytes per second */
	bool delivered;			/* prior_delivered is known */
	bool pending;
};

/* A connection that is watched. */
struct teach_flow {
	struct hlist_node node;
	struct rcu_head rcu;
	const struct sock *sk;
	struct ndm_measure measure;
	struct teach_ack ack;
	u32 number;			/* counts from 1 as they open */
	u32 ssthresh;			/* as tcp_ndm would have set it */
	u32 prior_ssthresh;		/* before the last time it was set */
};

static DEFINE_HASHTABLE(teach_flows, TEACH_HASH_BITS);
static DEFINE_SPINLOCK(teach_flows_lock);	/* of who adds and removes */

/* All of this under the module's parameter lock. */
static LIST_HEAD(teachers);
static bool teach_loaded;	/* between init and exit */

static bool callbacks;
module_param(callbacks, bool, 0600);
MODULE_PARM_DESC(callbacks,
		 "measure teachers registered from now on as if they had no cong_control(), to see what that changes");

static struct teacher *teacher_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct teacher, ops);
}

/*
 * Around every call of the scheme: it finds itself in icsk_ca_ops, as some need
 * to (tcp_window's number of packets is there).
 */
static const struct teacher *teach_hand_over(struct sock *sk)
{
	const struct teacher *teacher = teacher_of(sk);

	inet_csk(sk)->icsk_ca_ops = teacher->scheme;
	return teacher;
}

static void teach_take_back(struct sock *sk, const struct teacher *teacher)
{
	inet_csk(sk)->icsk_ca_ops = &teacher->ops;
}

/* The socket is locked or in softirq, so its own flow stays: no lock needed. */
static struct teach_flow *teach_find(const struct sock *sk)
{
	struct teach_flow *flow, *found = NULL;

	rcu_read_lock();
	hash_for_each_possible_rcu(teach_flows, flow, node, (unsigned long)sk)
		if (flow->sk == sk) {
			found = flow;
			break;
		}
	rcu_read_unlock();
	return found;
}

/* The interval, if the ACK that was noted ends one. */
static void teach_measure(struct sock *sk, struct teach_flow *flow)
{
	struct ndm_measure *m = &flow->measure;
	struct ndm_wire_observation observation;
	const struct teach_ack *ack = &flow->ack;
	struct ndm_interval interval;
	struct ndm_wire_action unused;
	struct ndm_reading now;

	if (!ack->pending)
		return;
	flow->ack.pending = false;
	if (ack->rtt_us >= 0)
		ndm_measure_rtt(m, min_t(long, ack->rtt_us, NDM_RTT_MAX_US));
	if (!ack->delivered ||
	    !ndm_interval_over(m, ack->now_us, ack->prior_delivered))
		return;
	now = ndm_read(sk);
	now.now_us = ack->now_us;
	now.slow_start = ack->cwnd < flow->ssthresh;
	ndm_interval_close(m, &now, &interval);
	if (flow->ssthresh >= TCP_INFINITE_SSTHRESH &&
	    ndm_start_over(interval.x))
		flow->ssthresh = max_t(u32, ack->cwnd, NDM_CWND_MIN);
	ndm_observe(sk, flow->number, m, &interval, &observation);
	observation.cwnd = ack->cwnd;
	observation.pacing_rate = ack->pacing_rate;
	ndm_gym_ask(NDM_GYM_POLICY, &observation, &unused);
}

static void NDM_CONG_CONTROL(teach_cong_control)
{
	struct teach_flow *flow = teach_find(sk);
	const struct teacher *teacher;

	if (flow && !teacher_of(sk)->listens) {
		flow->ack = (struct teach_ack) {
			.now_us = tcp_sk(sk)->tcp_mstamp,
			.rtt_us = rs->rtt_us,
			.prior_delivered = rs->prior_delivered,
			.cwnd = tcp_snd_cwnd(tcp_sk(sk)),
			.pacing_rate = READ_ONCE(sk->sk_pacing_rate),
			.delivered = rs->delivered >= 0,
			.pending = true,
		};
		teach_measure(sk, flow);
	}
	teacher = teach_hand_over(sk);
	NDM_CALL_CONG_CONTROL(teacher->scheme);
	teach_take_back(sk, teacher);
}

static void teach_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct teach_flow *flow = teach_find(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct teacher *teacher;

	if (flow && teacher_of(sk)->listens) {
		teach_measure(sk, flow);
		/*
		 * in_flight is mss * (delivered - prior_delivered), modulo 2^32.
		 * prior_delivered is 0 when nothing was delivered, and else at
		 * least 1, for the SYN.
		 */
		flow->ack = (struct teach_ack) {
			.now_us = tp->tcp_mstamp,
			.rtt_us = sample->rtt_us,
			.prior_delivered = tp->delivered -
					   sample->in_flight / tp->mss_cache,
			.cwnd = tcp_snd_cwnd(tp),
			.pacing_rate = READ_ONCE(sk->sk_pacing_rate),
			.delivered = sample->in_flight !=
				     tp->mss_cache * tp->delivered,
			.pending = true,
		};
	}
	teacher = teach_hand_over(sk);
	if (teacher->scheme->pkts_acked)
		teacher->scheme->pkts_acked(sk, sample);
	teach_take_back(sk, teacher);
}

static void teach_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct teach_flow *flow = teach_find(sk);
	const struct teacher *teacher;

	if (flow) {
		/* Fast recovery may have ended with this ACK. */
		flow->ack.cwnd = tcp_snd_cwnd(tcp_sk(sk));
		teach_measure(sk, flow);
	}
	teacher = teach_hand_over(sk);
	teacher->scheme->cong_avoid(sk, ack, acked);
	teach_take_back(sk, teacher);
}

static u32 teach_min_tso_segs(struct sock *sk)
{
	struct teach_flow *flow = teach_find(sk);
	const struct teacher *teacher;
	u32 answer;

	if (flow)
		teach_measure(sk, flow);
	/* What the kernel takes when there is no such operation. */
	answer = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
	teacher = teach_hand_over(sk);
	if (teacher->scheme->min_tso_segs)
		answer = teacher->scheme->min_tso_segs(sk);
	teach_take_back(sk, teacher);
	return answer;
}

static u32 teach_ssthresh(struct sock *sk)
{
	struct teach_flow *flow = teach_find(sk);
	const struct teacher *teacher;
	u32 answer;

	if (flow) {
		flow->prior_ssthresh = flow->ssthresh;
		flow->ssthresh = ndm_ssthresh(sk);
	}
	teacher = teach_hand_over(sk);
	answer = teacher->scheme->ssthresh(sk);
	teach_take_back(sk, teacher);
	return answer;
}

static u32 teach_undo_cwnd(struct sock *sk)
{
	struct teach_flow *flow = teach_find(sk);
	const struct teacher *teacher;
	u32 answer;

	if (flow) {
		ndm_measure_undo(&flow->measure, ndm_read(sk).lost);
		flow->ssthresh = max(flow->ssthresh, flow->prior_ssthresh);
	}
	teacher = teach_hand_over(sk);
	answer = teacher->scheme->undo_cwnd(sk);
	teach_take_back(sk, teacher);
	if (flow)
		flow->ack.cwnd = answer;
	return answer;
}

static void teach_set_state(struct sock *sk, u8 state)
{
	struct teach_flow *flow = teach_find(sk);
	const struct teacher *teacher;

	if (flow && state == TCP_CA_Loss)
		ndm_measure_timeout(&flow->measure);
	else if (flow && state == TCP_CA_CWR)
		ndm_measure_mark(&flow->measure);
	teacher = teach_hand_over(sk);
	if (teacher->scheme->set_state)
		teacher->scheme->set_state(sk, state);
	teach_take_back(sk, teacher);
}

static void NDM_WATCH_TX_START(teach_tx_start)
{
	struct teach_flow *flow = teach_find(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct teacher *teacher;
	u64 idle_us;

	if (flow && NDM_IS_TX_START && !tp->packets_out) {
		idle_us = tcp_stamp_us_delta(tp->tcp_mstamp,
					     tp->delivered_mstamp);
		ndm_measure_idle(&flow->measure, tp->tcp_mstamp,
				 min_t(u64, idle_us, U32_MAX));
	}
	teacher = teach_hand_over(sk);
	if (teacher->scheme->NDM_WATCHED_TX_START)
		NDM_CALL_TX_START(teacher->scheme);
	teach_take_back(sk, teacher);
}

static void teach_in_ack_event(struct sock *sk, u32 flags)
{
	const struct teacher *teacher;

	teacher = teach_hand_over(sk);
	teacher->scheme->in_ack_event(sk, flags);
	teach_take_back(sk, teacher);
}

static u32 teach_sndbuf_expand(struct sock *sk)
{
	const struct teacher *teacher;
	u32 answer;

	teacher = teach_hand_over(sk);
	answer = teacher->scheme->sndbuf_expand(sk);
	teach_take_back(sk, teacher);
	return answer;
}

static void teach_init(struct sock *sk)
{
	struct teach_flow *flow = kzalloc(sizeof(*flow), GFP_ATOMIC);
	struct ndm_reading now = ndm_read(sk);
	const struct teacher *teacher;

	if (flow) {
		flow->sk = sk;
		flow->number = ndm_gym_new_flow();
		flow->ssthresh = tcp_sk(sk)->snd_ssthresh;
		flow->prior_ssthresh = flow->ssthresh;
		ndm_measure_init(&flow->measure, &now);
		spin_lock_bh(&teach_flows_lock);
		hash_add_rcu(teach_flows, &flow->node, (unsigned long)sk);
		spin_unlock_bh(&teach_flows_lock);
	}
	teacher = teach_hand_over(sk);
	if (teacher->scheme->init)
		teacher->scheme->init(sk);
	teach_take_back(sk, teacher);
}

/* Called for a socket that never got as far as init, too. */
static void teach_release(struct sock *sk)
{
	struct teach_flow *flow = teach_find(sk);
	const struct teacher *teacher;

	if (flow) {
		spin_lock_bh(&teach_flows_lock);
		hash_del_rcu(&flow->node);
		spin_unlock_bh(&teach_flows_lock);
		kfree_rcu(flow, rcu);
	}
	teacher = teach_hand_over(sk);
	if (teacher->scheme->release)
		teacher->scheme->release(sk);
	teach_take_back(sk, teacher);
}

/*
 * Operations that the scheme has not got stay away, except for those that
 * listen: to have them changes nothing in the kernel. get_info is the scheme's,
 * called without the socket's lock.
 */
static void teach_wrap(struct teacher *teacher)
{
	struct tcp_congestion_ops *ops = &teacher->ops;

	*ops = *teacher->scheme;
	teacher->listens = !ops->cong_control || callbacks;
	INIT_LIST_HEAD(&ops->list);
	snprintf(ops->name, sizeof(ops->name), TEACH_PREFIX "%s",
		 teacher->scheme->name);
	ops->owner = THIS_MODULE;
	ops->init = teach_init;
	ops->release = teach_release;
	ops->ssthresh = teach_ssthresh;
	ops->undo_cwnd = teach_undo_cwnd;
	ops->set_state = teach_set_state;
	ops->NDM_WATCHED_TX_START = teach_tx_start;
	if (ops->cong_control)
		ops->cong_control = teach_cong_control;
	if (ops->cong_avoid)
		ops->cong_avoid = teach_cong_avoid;
	if (ops->pkts_acked || teacher->listens)
		ops->pkts_acked = teach_pkts_acked;
	if (ops->min_tso_segs || teacher->listens)
		ops->min_tso_segs = teach_min_tso_segs;
	if (ops->in_ack_event)
		ops->in_ack_event = teach_in_ack_event;
	if (ops->sndbuf_expand)
		ops->sndbuf_expand = teach_sndbuf_expand;
}

/* A socket that uses the scheme: by it the scheme is found, and held. */
static int teach_hold(struct teacher *teacher, const char *scheme)
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
	teacher->holder = holder;
	teacher->scheme = inet_csk(holder->sk)->icsk_ca_ops;
	return 0;
}

static int teach_register(const char *scheme)
{
	struct teacher *teacher;
	int err;

	list_for_each_entry(teacher, &teachers, list)
		if (!strcmp(teacher->scheme->name, scheme))
			return 0;
	teacher = kzalloc(sizeof(*teacher), GFP_KERNEL);
	if (!teacher)
		return -ENOMEM;
	err = teach_hold(teacher, scheme);
	if (err) {
		pr_err("scheme=%s is refused: this kernel has no such congestion control\n",
		       scheme);
		goto free;
	}
	/* Without ECN it puts another one into its place. */
	err = -EOPNOTSUPP;
	if (teacher->scheme->flags & TCP_CONG_NEEDS_ECN) {
		pr_err("scheme=%s is refused: it needs ECN\n", scheme);
		goto release;
	}
	teach_wrap(teacher);
	err = tcp_register_congestion_control(&teacher->ops);
	if (err)
		goto release;
	list_add(&teacher->list, &teachers);
	return 0;
release:
	sock_release(teacher->holder);
free:
	kfree(teacher);
	return err;
}

static int scheme_set(const char *text, const struct kernel_param *param)
{
	const size_t most = TCP_CA_NAME_MAX - sizeof(TEACH_PREFIX);
	char name[TCP_CA_NAME_MAX];
	size_t length = strcspn(text, "\n");

	if (!teach_loaded || !length || length > most) {
		pr_err("%s=%.*s is refused: write the name of a congestion control, of 1 to %zu characters, once the module is loaded\n",
		       param->name, (int)min_t(size_t, length, 32), text, most);
		return -EINVAL;
	}
	strscpy(name, text, length + 1);
	return teach_register(name);
}

static const struct kernel_param_ops scheme_ops = {
	.set = scheme_set,
};

module_param_cb(scheme, &scheme_ops, NULL, 0200);
MODULE_PARM_DESC(scheme,
		 "registers teach_SCHEME, which is this congestion control, watched; write again for further ones");

static int __init tcp_teach_init(void)
{
	kernel_param_lock(THIS_MODULE);
	teach_loaded = true;
	kernel_param_unlock(THIS_MODULE);
	return 0;
}

/* No socket uses any of them: each holds a reference to the module. */
static void __exit tcp_teach_exit(void)
{
	struct teacher *teacher, *next;

	kernel_param_lock(THIS_MODULE);
	teach_loaded = false;
	list_for_each_entry_safe(teacher, next, &teachers, list) {
		tcp_unregister_congestion_control(&teacher->ops);
		sock_release(teacher->holder);
		kfree(teacher);
	}
	kernel_param_unlock(THIS_MODULE);
}

module_init(tcp_teach_init);
module_exit(tcp_teach_exit);

MODULE_DESCRIPTION("Congestion controls of the kernel, watched with NDM's measurements");
MODULE_LICENSE("GPL");
