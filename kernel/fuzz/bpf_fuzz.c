// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on the BPF program, compiled for this machine with ASan and UBSan: `make fuzz`.
 *
 * include/ has what the program expects of libbpf, and this file the helpers and maps. The input
 * is what happens to a socket: ACKs with any readings, losses, time-outs, idleness, other models,
 * a kernel without memory. Each decision is compared with the exact network, each connection's
 * beginning with a new state, and what the verifier needs of the law with the law itself. So are
 * the functions that stand in for the kernel's (kernel/bpf/include).
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/ndm.bpf.c"
/* The law's own functions again. */
#undef ndm_quarter_octave
#undef ndm_interval_close
#undef ndm_bound_update

#include "ndm_bpf_pack.h"
#include "any_model.h"
#include "exact_network.h"
#include "input.h"
#include "require.h"

#define CWND_FP_MIN (NDM_CWND_MIN << NDM_CWND_FRAC)
#define CWND_FP_MAX (NDM_CWND_MAX << NDM_CWND_FRAC)

/* A new kind changes the meaning of the corpus: merge it again (kernel/fuzz/Makefile). */
enum event_kind {
	ARITHMETIC, LAW, BEGIN, ACK, ACK_LIKELY, COUNTERS, RECOVERY, PATH, WINDOW, STATE,
	SSTHRESH, UNDO, IDLE, MODEL, CONTEST, EVENT_KINDS
};

/* Packed like the fuzzer's bytes. */
struct event {
	u8 kind, again, flags;
	u32 a, b, c, d;
} __attribute__((packed));

#define FLAG(n) (event->flags >> (n) & 1)

/* Any number, of any magnitude. */
static u32 any(u32 bits)
{
	return bits >> (bits & 31);
}

/* -- the kernel ---------------------------------------------------------------- */

int LINUX_KERNEL_VERSION;

static struct socket {
	struct tcp_sock tp;	/* first: tcp_sk() */
	struct net net;
	struct dst_entry route;
	u32 metrics[16];
	struct ndm_flow *flow;	/* allocated, so that ASan knows its end */
	bool no_memory;
} s;

static struct ndm_model builtin, swapped;
static struct ndm_bpf_model element;
static struct ndm_bpf_counters counters;
static bool has_element, ring_is_full;
static struct ndm_bpf_event *reserved;
static u64 jiffies;

/* Of the flow before its operation. */
static struct {
	s16 h[NDM_HIDDEN_MAX];
	u32 model;
	enum ndm_phase phase;
	u8 drain;
	bool contest;
	u32 spurious, undo_marker, lost, suspected;
	u32 limit_fp, cut_us;
	u32 last_fp;
	u16 own, rtts;
	u8 empty;
	bool rerouted;
} before;

/* DSACKs since the last decision, and whether another recovery has begun since. */
static u64 dsacks;
static bool renewed;

void *bpf_map_lookup_elem(void *map, const void *key)
{
	REQUIRE(!*(const u32 *)key);
	if (map == &ndm_counters)
		return &counters;
	REQUIRE(map == &ndm_models);
	return has_element ? &element : NULL;
}

void *bpf_sk_storage_get(void *map, void *sk, void *value, u64 flags)
{
	REQUIRE(map == &ndm_flows && sk == &s && !value);
	if (!s.flow && flags == BPF_SK_STORAGE_GET_F_CREATE && !s.no_memory)
		s.flow = calloc(1, sizeof(*s.flow));
	return s.flow;
}

void *bpf_ringbuf_reserve(void *ring, u64 size, u64 flags)
{
	REQUIRE(ring == &ndm_events && !flags && !reserved);
	if (!ring_is_full)
		reserved = malloc(size);
	return reserved;
}

/* The program has decided what the exact network decides, from the state before. */
static void check_decision(const struct ndm_bpf_event *event)
{
	const struct ndm_model *model = has_element ? &swapped : &builtin;
	const struct ndm_memory *memory = s.flow->sock.memory;
	s16 h[NDM_HIDDEN_MAX] = {}, out[NDM_OUTPUTS];
	int i;

	REQUIRE(event->model == (has_element ? element.number : 0));
	if (event->model == before.model)
		memcpy(h, before.h, model->hidden * sizeof(*h));
	checked_step(model, h, event->x, out);
	REQUIRE(!memcmp(out, event->action, sizeof(out)));
	for (i = 0; i < NDM_HIDDEN_MAX; i++)
		REQUIRE(memory->h[i] == h[i]);
}

void bpf_ringbuf_submit(void *data, u64 flags)
{
	REQUIRE(data == reserved && !flags && reserved->flow == ndm_connections);
	check_decision(reserved);
	free(reserved);
	reserved = NULL;
}

long bpf_probe_read_kernel(void *to, u32 size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

u64 bpf_jiffies64(void)
{
	return jiffies;
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	REQUIRE(!ack && acked);
	tcp_sk(sk)->snd_cwnd = min(tcp_sk(sk)->snd_cwnd + 1, NDM_CWND_MAX);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

/* -- what stands in for the kernel's functions, and the verifier's law ----------- */

static void check_bits(u32 x)
{
	u64 root = int_sqrt(x);

	REQUIRE(fls(x) == (x ? 32 - __builtin_clz(x) : 0));
	REQUIRE(hweight16(x) == (u32)__builtin_popcount(x & 0xffff));
	REQUIRE(root * root <= x && (root + 1) * (root + 1) > x);
	REQUIRE(root == ndm_branching_int_sqrt(x));
}

static void check_arithmetic(u32 a, u32 b, u32 c)
{
	u64 stamp = (u64)b << 32 | c;

	check_bits(a);
	/* Around the squares. */
	check_bits((a >> 16) * (a >> 16) - 1);
	check_bits((a >> 16) * (a >> 16));
	REQUIRE(max3(a, b, c) == max(max(c, a), b));
	REQUIRE(!tcp_stamp_us_delta(stamp, stamp + a));
	REQUIRE(tcp_stamp_us_delta(stamp + a, stamp) == a);
	REQUIRE(ndm_bpf_quarter_octave(a, b) == ndm_quarter_octave(a, b));
}

/* Compares the law for the verifier with the law, on the flow's state. */
static void check_law(const struct event *event)
{
	struct ndm_measure measure = s.flow->sock.measure, same_measure = measure;
	struct ndm_bound bound = s.flow->sock.memory->bound, same_bound = bound;
	struct ndm_bound_round round = {
		.now_us = bound.cut_us + any(event->a),
		.length_us = any(event->b),
		.rtt_us = any(event->d),
		.queue_us = any(event->b ^ event->c),
		.min_rtt_us = measure.min_rtt_us,
		.lost = bound.lost + any(event->c),
		.delivered = bound.delivered + any(event->d),
		.carried = any(event->d),
		.cwnd_fp = s.flow->sock.cwnd_fp,
		.starting = FLAG(0),
		.unfilled = FLAG(1),
	};
	struct ndm_interval interval, same_interval;
	struct ndm_reading now = {
		.now_us = measure.start_us + any(event->a),
		.delivered = measure.start_delivered + any(event->b),
		.lost = measure.start_lost + any(event->c),
		.inflight = any(event->b),
		.srtt_us = any(event->d),
		.mdev_us = any(event->c),
		.sending_us = any(event->d),
		.own = bound.own >> NDM_BOUND_OWN_FRAC,
	};

	memset(&interval, 0x11, sizeof(interval));
	memset(&same_interval, 0x11, sizeof(same_interval));
	ndm_bpf_interval_close(&measure, &now, &interval);
	ndm_interval_close(&same_measure, &now, &same_interval);
	REQUIRE(!memcmp(&measure, &same_measure, sizeof(measure)));
	REQUIRE(!memcmp(&interval, &same_interval, sizeof(interval)));

	REQUIRE(ndm_bpf_bound_update(&bound, &round) == ndm_bound_update(&same_bound, &round));
	REQUIRE(!memcmp(&bound, &same_bound, sizeof(bound)));
}

/* -- the socket ------------------------------------------------------------------ */

static struct inet_connection_sock *icsk(void)
{
	return &s.tp.inet_conn;
}

static void call(int (*operation)(u64 *context), u64 second, u64 fourth)
{
	u64 context[4] = { (uintptr_t)&s, second, 0, fourth };

	operation(context);
}

static void begin(const struct event *event)
{
	u32 opened;
	struct ndm_flow fresh = {};

	if (FLAG(1)) {	/* another socket */
		free(s.flow);
		s.flow = NULL;
	}
	s.no_memory = FLAG(2) && FLAG(3);
	s.tp.snd_cwnd = 1 + any(event->a) % NDM_CWND_MAX;
	s.tp.snd_ssthresh = FLAG(4) ? 1 + any(event->b) : TCP_INFINITE_SSTHRESH;
	icsk()->icsk_inet.sk.sk_pacing_status = FLAG(5);
	opened = counters.connections + counters.without_state;
	call(ndm_op_init, 0, 0);
	REQUIRE(icsk()->icsk_inet.sk.sk_pacing_status == SK_PACING_NEEDED);
	REQUIRE(counters.connections + counters.without_state == opened + 1);
	if (!s.flow)
		return;
	ndm_sock_init((struct sock *)&s, &fresh.sock, ndm_connections);
	REQUIRE(!memcmp(s.flow, &fresh, sizeof(fresh)));
}

/* What holds after each operation. */
static void check_flow(void)
{
	const struct sock *sk = (const struct sock *)&s;
	const struct ndm_sock *ndm = &s.flow->sock;
	const struct ndm_memory *memory = ndm->memory;

	REQUIRE(s.tp.snd_cwnd >= 1 && s.tp.snd_cwnd <= NDM_CWND_MAX);
	REQUIRE(ndm->cwnd_fp <= CWND_FP_MAX);
	REQUIRE(ndm->given_cwnd <= NDM_CWND_MAX && ndm->phase <= NDM_RESTARTING);
	REQUIRE(ndm->measure.drain <= 2);
	REQUIRE(memory->contest.findings < NDM_CONTEST_FINDINGS);
	REQUIRE(memory->bound.own <= NDM_BOUND_OWN_MAX << NDM_BOUND_OWN_FRAC);
	REQUIRE(memory->spurious <= s.tp.total_retrans);
	REQUIRE(memory->empty <= 2);
	REQUIRE(sk->sk_pacing_rate <= sk->sk_max_pacing_rate);
	REQUIRE(sk->sk_pacing_rate);
}

/* The window after a decision, and the drain. */
static void check_window(void)
{
	const struct ndm_sock *ndm = &s.flow->sock;
	const struct ndm_memory *memory = ndm->memory;
	u32 clamp = min(s.tp.snd_cwnd_clamp, NDM_CWND_MAX) << NDM_CWND_FRAC;
	u32 limit_fp = memory->bound.limit_fp;
	u32 passed_us = (u32)s.tp.tcp_mstamp - memory->drain.us;

	REQUIRE(s.tp.snd_cwnd == ndm->given_cwnd);
	REQUIRE(!limit_fp || s.tp.snd_cwnd <= limit_fp >> NDM_CWND_FRAC);
	/* The time-out has cut the bound. Where it is outgrown, it begins again. */
	if (before.phase == NDM_RESTARTING && ndm->phase == NDM_RESTARTING && before.contest &&
	    memory->contest.on && (u32)s.tp.tcp_mstamp - before.cut_us <= NDM_BOUND_US)
		REQUIRE(limit_fp >= before.limit_fp);
	/* Slow start is over: the RTT falls by the flow's own queue. */
	if (before.phase == NDM_SETTLING && ndm->phase == NDM_STEADY)
		REQUIRE(memory->drain.decisions < NDM_DRAIN_SOON - 2);
	/* A faster link, after three decisions without a queue or a loss, or a longer route. */
	if (before.phase == NDM_STEADY && ndm_in_slow_start(ndm->phase) && !memory->contest.on)
		REQUIRE(before.empty == 2 || before.rerouted);
	/* A longer route has other queues. */
	REQUIRE(!memory->rerouted || !memory->bound.most_us);
	if (before.phase != NDM_STEADY || ndm->phase != NDM_STEADY)
		return;
	REQUIRE(memory->empty <= before.empty + 1 && memory->older_fp == before.last_fp);
	/* Two RTTs, and an interval. */
	REQUIRE(before.drain != 1 || !ndm->measure.drain);
	REQUIRE(before.drain != 2 || ndm->measure.drain <= 1 ||
		passed_us < 2ULL * memory->drain.before_us);
	if (before.contest && memory->contest.on && !before.drain)
		REQUIRE(limit_fp && ndm->cwnd_fp == min(limit_fp, clamp));
}

/* A DSACK takes back one retransmission, of a recovery that the last decision has seen. */
static void check_spurious(void)
{
	u32 more = s.flow->sock.memory->spurious - before.spurious;

	if (!s.tp.undo_marker || s.tp.undo_marker != before.undo_marker)
		REQUIRE((s32)more <= 0);
	else if (!renewed)
		REQUIRE((s32)more <= (s64)dsacks);
	dsacks = 0;
	renewed = false;
}

/* Whether @lost losses are fewer than @others. */
static bool fewer(u32 lost, u32 others)
{
	return (s32)(lost - others) < 0;
}

/* Losses that count were there at an earlier decision, and none of them has arrived since. */
static void check_lost(void)
{
	const struct ndm_memory *memory = s.flow->sock.memory;
	u32 now = ndm_lost(&s.tp, memory);

	REQUIRE(!fewer(now, memory->lost) && !fewer(now, memory->suspected));
	if (!s.tp.reord_seen)
		REQUIRE(memory->lost == now);
	else if (memory->lost != before.lost && memory->lost != before.suspected)
		REQUIRE(memory->lost == now &&
			(fewer(now, before.lost) || fewer(now, before.suspected)));
}

static void acknowledge(const struct event *event, u32 us, u32 delivered)
{
	struct rate_sample rs = {
		.prior_delivered = FLAG(0) ? s.tp.delivered : s.tp.delivered - any(event->c),
		.delivered = FLAG(1) ? -1 : (s32)(delivered & 0x7fffffff),
		.rtt_us = FLAG(2) ? -1 : (long)any(event->d) << (FLAG(3) * 8),
		.acked_sacked = delivered,
		.is_app_limited = FLAG(4),
		.is_ack_delayed = FLAG(5),
	};
	u64 decided = counters.decisions;

	s.tp.delivered += delivered;
	s.tp.tcp_mstamp += us;
	s.tp.delivered_mstamp = s.tp.tcp_mstamp;
	if (FLAG(6))
		s.tp.first_tx_mstamp = s.tp.tcp_mstamp - any(event->d);
	if (LINUX_KERNEL_VERSION < NDM_LINUX(6, 10))
		call(ndm_cong_control, (uintptr_t)&rs, 0);
	else
		call(ndm_cong_control, 0, (uintptr_t)&rs);
	decided = counters.decisions - decided;
	REQUIRE(decided <= !!s.flow);
	if (!decided)
		return;
	check_window();
	check_spurious();
	check_lost();
	/* Without an RTT no loss is known to be the path's own. */
	if (!before.rtts && FLAG(2) && before.phase == NDM_STEADY)
		REQUIRE(s.flow->sock.memory->bound.own == before.own);
}

/* As tcp_retransmit_skb(), up to 2^31 packets of a connection. */
static void retransmit(u32 packets)
{
	packets = min(packets, 0x7fffffff - s.tp.total_retrans);
	s.tp.total_retrans += packets;
	s.tp.undo_retrans = max(s.tp.undo_retrans, 0) + packets;
}

/* As tcp_init_undo() of another recovery, or DSACKs in this one. */
static void count_undo(const struct event *event)
{
	if (FLAG(0)) {
		s.tp.undo_marker = any(event->b);
		s.tp.undo_retrans = s.tp.retrans_out ? (s32)s.tp.retrans_out : -1;
		renewed = true;
	} else if (s.tp.undo_marker && s.tp.undo_retrans > 0) {
		u32 packets = min_t(u32, s.tp.undo_retrans, any(event->a));

		s.tp.undo_retrans -= packets;
		dsacks += packets;
	}
}

static void count(const struct event *event)
{
	s.tp.lost_out = any(event->a);
	s.tp.sacked_out = any(event->a) >> FLAG(0);
	s.tp.packets_out = any(event->c);
	s.tp.max_packets_out = any(event->d);
	retransmit(any(event->b) >> FLAG(1));
	s.tp.retrans_out = min(any(event->b), s.tp.total_retrans);
	s.tp.reord_seen += FLAG(3);
	s.tp.delivered_ce += FLAG(4);
	s.tp.is_cwnd_limited = FLAG(5);
}

static void change_path(const struct event *event)
{
	struct sock *sk = &icsk()->icsk_inet.sk;

	s.tp.srtt_us = any(event->a);
	s.tp.mdev_us = any(event->b);
	s.tp.mss_cache = 1 + event->c % 65535;
	sk->sk_max_pacing_rate = FLAG(0) ? 1 + any(event->d) : ~0UL;
	sk->sk_pacing_rate = min(sk->sk_pacing_rate, sk->sk_max_pacing_rate);
	s.metrics[RTAX_INITCWND - 1] = FLAG(1) ? any(event->d) : 0;
	sk->sk_dst_cache = FLAG(2) ? &s.route : NULL;
	s.net.ipv4.sysctl_tcp_slow_start_after_idle = FLAG(3);
	LINUX_KERNEL_VERSION = FLAG(4) ? NDM_LINUX(7, 1) :
			       FLAG(5) ? NDM_LINUX(6, 1) : NDM_LINUX(6, 12);
	ndm_watched = !FLAG(6);
	ring_is_full = FLAG(7);
}

static void set_window(const struct event *event)
{
	s.tp.snd_cwnd_clamp = FLAG(0) ? 1 + any(event->a) : U32_MAX;
	s.tp.snd_cwnd = min(1 + any(event->b) % NDM_CWND_MAX, s.tp.snd_cwnd_clamp);
}

/* A time-out in contest cuts the bound at once; a packet that no congestion has lost does not. */
static void check_timeout(void)
{
	const struct ndm_sock *ndm = &s.flow->sock;
	const struct ndm_memory *memory = ndm->memory;
	u32 limit_fp = memory->bound.limit_fp;

	if (ndm->phase != NDM_RESTARTING || !memory->contest.on)
		return;
	REQUIRE(limit_fp >= CWND_FP_MIN && memory->bound.cut_us == (u32)s.tp.tcp_mstamp);
	REQUIRE(limit_fp == CWND_FP_MIN || 10ULL * limit_fp <= 7ULL * memory->collapse_fp);
	REQUIRE(!before.limit_fp || limit_fp <= before.limit_fp);
}

static void set_state(const struct event *event)
{
	u8 state = event->a % (TCP_CA_Loss + 1);

	renewed = true;
	s.tp.undo_marker = any(event->b);
	icsk()->icsk_retransmits = event->c;
	if (state == TCP_CA_Loss && FLAG(0))
		s.tp.snd_cwnd = 1 + any(event->d) % s.tp.snd_cwnd;
	call(ndm_op_set_state, state, 0);
	icsk()->icsk_ca_state = state;
	if (s.flow && state == TCP_CA_Loss)
		check_timeout();
}

static void set_ssthresh(void)
{
	u64 context[4] = { (uintptr_t)&s };

	s.tp.snd_ssthresh = ndm_op_ssthresh(context);
	REQUIRE(s.tp.snd_ssthresh >= 2);
}

static void undo(void)
{
	u64 context[4] = { (uintptr_t)&s };
	u32 cwnd = ndm_op_undo_cwnd(context);

	REQUIRE(cwnd);
	s.tp.snd_cwnd = max(s.tp.snd_cwnd, cwnd);
}

static void idle(const struct event *event)
{
	jiffies += any(event->a);
	s.tp.tcp_mstamp += any(event->b);
	s.tp.lsndtime = jiffies - any(event->c);
	icsk()->icsk_rto = any(event->d);
	if (!FLAG(0))
		s.tp.packets_out = 0;
	call(ndm_op_cwnd_event_tx_start, FLAG(1), 0);
}

/* A model of any size and numbers. */
static void make_model(struct ndm_model *model, const struct event *event)
{
	struct numbers n = {
		.data = (const u8 *)&event->c,
		.size = sizeof(event->c) + sizeof(event->d),
		.kind = event->b % KINDS,
		.random = 1,
	};
	struct head head = { .hidden = event->a };
	unsigned int i;

	for (i = 0; i < sizeof(head.scales); i++) {
		n.random = next_random(n.random, event->b >> 16);
		head.scales[i] = FLAG(1) ? 22 - n.random % 8 : n.random >> 8;
	}
	*model = model_of(&head, &n, 0);
}

static void change_model(const struct event *event)
{
	has_element = !(FLAG(2) && FLAG(3));
	if (!has_element)
		return;
	make_model(&swapped, event);
	ndm_bpf_pack(&element.network, &swapped);
	element.number++;
}

/* The flow has competed with others, or does: few inputs have as many drains. */
static void contest(const struct event *event)
{
	struct ndm_memory *memory = s.flow->sock.memory;

	if (FLAG(0)) {
		ndm_contest_set(&memory->contest, true);
		ndm_bound_lift(&memory->bound);
	} else {
		ndm_contest_count(&memory->contest, FLAG(1) ? 1 : -1);
		if (memory->contest.on && !memory->contest.findings)
			ndm_bound_lift(&memory->bound);
	}
	if (FLAG(2))
		ndm_begin_slow_start((struct sock *)&s, &s.flow->sock);
}

/* -- an input of the fuzzer ------------------------------------------------------ */

static void happen(const struct event *event)
{
	if (s.flow) {
		memcpy(before.h, s.flow->sock.memory->h, sizeof(before.h));
		before.model = s.flow->sock.memory->model;
		before.phase = s.flow->sock.phase;
		before.drain = s.flow->sock.measure.drain;
		before.contest = s.flow->sock.memory->contest.on;
		before.limit_fp = s.flow->sock.memory->bound.limit_fp;
		before.cut_us = s.flow->sock.memory->bound.cut_us;
		before.last_fp = s.flow->sock.memory->last_fp;
		before.empty = s.flow->sock.memory->empty;
		before.rerouted = s.flow->sock.memory->rerouted;
		before.own = s.flow->sock.memory->bound.own;
		before.rtts = s.flow->sock.measure.rtt_count;
		before.lost = s.flow->sock.memory->lost;
		before.suspected = s.flow->sock.memory->suspected;
		before.spurious = s.flow->sock.memory->spurious;
		before.undo_marker = s.flow->sock.memory->undo_marker;
	}
	switch (event->kind % EVENT_KINDS) {
	case ARITHMETIC:
		check_arithmetic(any(event->a), any(event->b), event->c);
		break;
	case LAW:
		if (s.flow)
			check_law(event);
		break;
	case BEGIN:
		begin(event);
		break;
	case ACK:
		acknowledge(event, any(event->a), any(event->b));
		break;
	case ACK_LIKELY:
		acknowledge(event, event->a % 65536, event->b % 256);
		break;
	case COUNTERS:
		count(event);
		break;
	case RECOVERY:
		count_undo(event);
		break;
	case PATH:
		change_path(event);
		break;
	case WINDOW:
		set_window(event);
		break;
	case STATE:
		set_state(event);
		break;
	case SSTHRESH:
		set_ssthresh();
		break;
	case UNDO:
		undo();
		break;
	case IDLE:
		idle(event);
		break;
	case MODEL:
		change_model(event);
		break;
	case CONTEST:
		if (s.flow)
			contest(event);
		break;
	}
	if (s.flow)
		check_flow();
}

static void boot(void)
{
	static const struct event size = { .a = 15, .b = RANDOM, .flags = 2 };

	free(s.flow);
	s = (struct socket) {
		.tp = { .snd_cwnd = 10, .snd_cwnd_clamp = U32_MAX, .mss_cache = 1448 },
	};
	icsk()->icsk_inet.sk.__sk_common.skc_net.net = &s.net;
	icsk()->icsk_inet.sk.sk_max_pacing_rate = ~0UL;
	icsk()->icsk_inet.sk.sk_pacing_rate = 1;
	s.route._metrics = (unsigned long)s.metrics | 1;
	LINUX_KERNEL_VERSION = NDM_LINUX(6, 12);
	jiffies = 0;
	ndm_connections = 0;
	ndm_watched = true;
	dsacks = 0;
	renewed = false;
	ring_is_full = false;
	memset(&counters, 0, sizeof(counters));
	has_element = false;
	element.number = 0;
	if (ndm_builtin.network.hidden)
		return;
	make_model(&builtin, &size);
	ndm_bpf_pack(&ndm_builtin.network, &builtin);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct event event;
	int times;

	boot();
	while (take(&in, &event, sizeof(event))) {
		/* Only with ACKs do many of the same lead somewhere. */
		times = event.kind % EVENT_KINDS == ACK || event.kind % EVENT_KINDS == ACK_LIKELY ?
			1 + (event.again >> (event.again & 7)) : 1;
		while (times--)
			happen(&event);
	}
	return 0;
}
