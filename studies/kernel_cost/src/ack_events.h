/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events that the kernel passes to a congestion control: ack_record.c records
 * them in the lab, socket.c replays them.
 *
 * The fields have the names of struct tcp_sock and struct rate_sample. Fields that a
 * congestion control sets are missing: cwnd, ssthresh, the pacing rate.
 */
#ifndef NDM_ACK_EVENTS_H
#define NDM_ACK_EVENTS_H

#include <linux/types.h>

enum ack_event_kind {
	ACK_EVENT_INIT,		/* init() */
	ACK_EVENT_ACK,		/* cong_control() */
	ACK_EVENT_STATE,	/* set_state() */
	ACK_EVENT_SSTHRESH,	/* ssthresh() */
	ACK_EVENT_UNDO,		/* undo_cwnd() */
};

#define ACK_SOCKET_FIELDS(FIELD)	\
	FIELD(u64, tcp_mstamp)		\
	FIELD(u64, delivered_mstamp)	\
	FIELD(u64, first_tx_mstamp)	\
	FIELD(u64, tcp_clock_cache)	\
	FIELD(u64, tcp_wstamp_ns)	\
	FIELD(u32, delivered)		\
	FIELD(u32, delivered_ce)	\
	FIELD(u32, lost)		\
	FIELD(u32, packets_out)		\
	FIELD(u32, lost_out)		\
	FIELD(u32, sacked_out)		\
	FIELD(u32, retrans_out)		\
	FIELD(u32, total_retrans)	\
	FIELD(u32, dsack_dups)		\
	FIELD(u32, srtt_us)		\
	FIELD(u32, mdev_us)		\
	FIELD(u32, app_limited)		\
	FIELD(u32, max_packets_out)	\
	FIELD(u32, is_cwnd_limited)	\
	FIELD(u32, mss_cache)		\
	FIELD(u32, snd_una)		\
	FIELD(u32, snd_nxt)		\
	FIELD(u32, write_seq)

#define ACK_SAMPLE_FIELDS(FIELD)	\
	FIELD(u64, prior_mstamp)	\
	FIELD(s64, interval_us)		\
	FIELD(s64, rtt_us)		\
	FIELD(u32, prior_delivered)	\
	FIELD(u32, prior_delivered_ce)	\
	FIELD(s32, delivered)		\
	FIELD(s32, delivered_ce)	\
	FIELD(u32, snd_interval_us)	\
	FIELD(u32, rcv_interval_us)	\
	FIELD(s32, losses)		\
	FIELD(u32, acked_sacked)	\
	FIELD(u32, prior_in_flight)	\
	FIELD(u32, last_end_seq)	\
	FIELD(u32, is_app_limited)	\
	FIELD(u32, is_retrans)		\
	FIELD(u32, is_ack_delayed)

#define ACK_FIELD(type, name) type name;

struct ack_event {
	u32 kind;
	u32 state;	/* set_state()'s argument, else icsk_ca_state */
	u32 min_rtt_us;	/* tcp_min_rtt() */
	struct { ACK_SOCKET_FIELDS(ACK_FIELD) } tp;
	struct { ACK_SAMPLE_FIELDS(ACK_FIELD) } rs;
};

#undef ACK_FIELD

#endif /* NDM_ACK_EVENTS_H */
