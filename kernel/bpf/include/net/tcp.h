/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the control law reads and writes of a TCP socket, for a BPF program. libbpf finds the
 * members of the structures in the running kernel's BTF (CO-RE), so only their names and types
 * matter here. BPF has no inline functions of the kernel; these do the same.
 */
#ifndef NDM_BPF_NET_TCP_H
#define NDM_BPF_NET_TCP_H

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define USEC_PER_SEC 1000000L
#define TCP_INIT_CWND 10
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_CA_NAME_MAX 16

enum tcp_ca_state {
	TCP_CA_Open,
	TCP_CA_Disorder,
	TCP_CA_CWR,
	TCP_CA_Recovery,
	TCP_CA_Loss,
};

enum tcp_ca_event {
	CA_EVENT_TX_START,
};

enum sk_pacing {
	SK_PACING_NONE,
	SK_PACING_NEEDED,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct netns_ipv4 {
	u8 sysctl_tcp_slow_start_after_idle;
};

struct net {
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	possible_net_t skc_net;
};

struct dst_entry;

struct sock {
	struct sock_common __sk_common;
	struct dst_entry *sk_dst_cache;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u32 icsk_rto;
	u8 icsk_ca_state : 5;
	u8 icsk_retransmits;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 lsndtime;
	u32 mss_cache;
	u8 is_cwnd_limited : 1;
	u64 tcp_mstamp;
	u32 srtt_us;
	u32 mdev_us;
	u32 packets_out;
	u32 max_packets_out;
	u32 snd_ssthresh;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_stamp;
	u32 delivered;
	u32 delivered_ce;
	u64 first_tx_mstamp;
	u64 delivered_mstamp;
	u32 lost_out;
	u32 sacked_out;
	u32 retrans_out;
	u32 total_retrans;
	u32 undo_marker;
	s32 undo_retrans;
	u32 reord_seen;
};

struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	long rtt_us;
	u32 acked_sacked;
	bool is_app_limited;
	bool is_ack_delayed;
};

struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag,
			     const struct rate_sample *rs);
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[TCP_CA_NAME_MAX];
};

#pragma clang attribute pop

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static inline struct net *sock_net(const struct sock *sk)
{
	return sk->__sk_common.skc_net.net;
}

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = cwnd;
}

static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static inline bool tcp_in_initial_slowstart(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}

static inline u8 ndm_ca_state(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
}

static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) ||
	       (tcp_snd_cwnd(tp) < tp->snd_ssthresh &&
		tcp_snd_cwnd(tp) < 2 * tp->max_packets_out);
}

static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u8 state = ndm_ca_state(sk);

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (cwnd >> 1) + (cwnd >> 2));
}

static inline u32 tcp_stamp_us_delta(u64 t1, u64 t0)
{
	return max_t(s64, t1 - t0, 0);
}

extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#endif /* NDM_BPF_NET_TCP_H */
