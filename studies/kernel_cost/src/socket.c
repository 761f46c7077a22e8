// SPDX-License-Identifier: GPL-2.0
/*
 * A struct tcp_sock outside a kernel: replays recorded events to the congestion
 * control of a linked module, which is the object that the kernel would load.
 *
 * Only the kernel functions that init and cong_control() call are defined. Other
 * functions have the address 0; calling one ends the program.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/string.h>
#include <net/tcp.h>

#include "ndm/tcp/ndm_control.h"
#include "ack_events.h"
#include "replay.h"

#define OPS_MAX 64

static struct tcp_congestion_ops *registered[OPS_MAX];
static unsigned int registered_count;
static const struct tcp_congestion_ops *ops;

/* cong_control() until Linux 6.9. */
typedef void until_6_9_fn(struct sock *sk, const struct rate_sample *rs);

static struct tcp_sock socket;
static struct net net;
static struct rate_sample sample;

const unsigned long replay_event_size = sizeof(struct ack_event);
struct replay_call replay_call;

/* -- kernel functions that the modules call -------------------------------- */

int tcp_register_congestion_control(struct tcp_congestion_ops *type)
{
	if (registered_count == OPS_MAX)
		return -ENOSPC;
	registered[registered_count++] = type;
	return 0;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *type)
{
}

/* BBR begins its gain cycle with a random phase. */
u8 get_random_u8(void)
{
	return 4;
}

/* -- the connection -------------------------------------------------------- */

int replay_open(const char *name)
{
	unsigned int i;
	int err;

	err = init_module();
	if (err)
		return err;
	for (i = 0; i < registered_count; i++)
		if (!strcmp(registered[i]->name, name))
			ops = registered[i];
	return ops ? 0 : -ENOENT;
}

void replay_begin(void)
{
	struct sock *sk = (struct sock *)&socket;

	memset(&socket, 0, sizeof(socket));
	sock_net_set(sk, &net);
	inet_csk(sk)->icsk_ca_ops = ops;
	inet_csk(sk)->icsk_ca_initialized = 1;
	sk->sk_max_pacing_rate = ~0UL;
	sk->sk_pacing_rate = ~0UL;
	sk->sk_pacing_shift = 10;
	sk->sk_gso_max_size = 65536;
	socket.snd_cwnd = TCP_INIT_CWND;
	socket.snd_cwnd_clamp = ~0;
	socket.snd_ssthresh = TCP_INFINITE_SSTHRESH;
}

int replay_event(const void *data)
{
	const struct ack_event *event = data;
	struct sock *sk = (struct sock *)&socket;

#define PLAY(type, name) socket.name = event->tp.name;
	ACK_SOCKET_FIELDS(PLAY)
#undef PLAY
	minmax_reset(&socket.rtt_min, 0, event->min_rtt_us);
	jiffies = div_u64(socket.tcp_mstamp, USEC_PER_SEC / HZ);
	switch (event->kind) {
	case ACK_EVENT_INIT:
		inet_csk(sk)->icsk_ca_state = event->state;
		ops->init(sk);
		return false;
	case ACK_EVENT_STATE:
		/* The kernel calls it before it changes the state. */
		if (ops->set_state)
			ops->set_state(sk, event->state);
		inet_csk(sk)->icsk_ca_state = event->state;
		return false;
	case ACK_EVENT_SSTHRESH:
		socket.prior_cwnd = socket.snd_cwnd;
		socket.snd_ssthresh = ops->ssthresh(sk);
		return false;
	case ACK_EVENT_UNDO:
		socket.snd_cwnd = ops->undo_cwnd(sk);
		return false;
	}
#define PLAY(type, name) sample.name = event->rs.name;
	ACK_SAMPLE_FIELDS(PLAY)
#undef PLAY
	inet_csk(sk)->icsk_ca_state = event->state;
	replay_call.function = ops->cong_control;
	replay_call.arguments[0] = (unsigned long)sk;
	/* The sample is the second argument until 6.9, then the fourth. */
	if (__builtin_types_compatible_p(typeof(ops->cong_control),
					 until_6_9_fn *)) {
		replay_call.arguments[1] = (unsigned long)&sample;
	} else {
		replay_call.arguments[1] = socket.snd_una;
		replay_call.arguments[2] = 0;
		replay_call.arguments[3] = (unsigned long)&sample;
	}
	return true;
}

unsigned int replay_decisions(void)
{
	struct ndm_sock *ndm = inet_csk_ca((struct sock *)&socket);

	return strstarts(ops->name, "ndm") ? ndm->measure.decisions : 0;
}
