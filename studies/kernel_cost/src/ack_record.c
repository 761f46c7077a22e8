// SPDX-License-Identifier: GPL-2.0
/*
 * The congestion control ack_record: a constant window, and a record of the events
 * that the kernel passes to it. /proc/ack_record has the events of the last opened
 * connection (an array of struct ack_event), up to a number given to insmod.
 *
 * For `make -C studies bench-kernel`, in the lab only: the window never yields to congestion.
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/vmalloc.h>
#include <net/tcp.h>

#include "compat/cong_control.h"
#include "ack_events.h"

static unsigned int packets = 80;
module_param(packets, uint, 0444);
MODULE_PARM_DESC(packets, "the window, packets");

static unsigned int room = 50000;
module_param(room, uint, 0444);
MODULE_PARM_DESC(room, "maximum number of recorded events");

static struct ack_event *record_events;
static unsigned int record_count;

static void record(const struct sock *sk, enum ack_event_kind kind, u32 state,
		   const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ack_event *event = record_events + record_count;

	if (record_count == room)
		return;
	record_count++;
	memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->state = state;
	event->min_rtt_us = tcp_min_rtt(tp);
#define RECORD(type, name) event->tp.name = tp->name;
	ACK_SOCKET_FIELDS(RECORD)
#undef RECORD
	if (!rs)
		return;
#define RECORD(type, name) event->rs.name = rs->name;
	ACK_SAMPLE_FIELDS(RECORD)
#undef RECORD
}

static u32 record_ca_state(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state;
}

static void record_init(struct sock *sk)
{
	record_count = 0;
	tcp_snd_cwnd_set(tcp_sk(sk), packets);
	record(sk, ACK_EVENT_INIT, record_ca_state(sk), NULL);
}

static void NDM_CONG_CONTROL(record_cong_control)
{
	tcp_snd_cwnd_set(tcp_sk(sk), packets);
	record(sk, ACK_EVENT_ACK, record_ca_state(sk), rs);
}

static void record_set_state(struct sock *sk, u8 state)
{
	record(sk, ACK_EVENT_STATE, state, NULL);
}

static u32 record_ssthresh(struct sock *sk)
{
	record(sk, ACK_EVENT_SSTHRESH, record_ca_state(sk), NULL);
	return packets;
}

static u32 record_undo_cwnd(struct sock *sk)
{
	record(sk, ACK_EVENT_UNDO, record_ca_state(sk), NULL);
	return packets;
}

static struct tcp_congestion_ops record_ops __read_mostly = {
	.init = record_init,
	.cong_control = record_cong_control,
	.set_state = record_set_state,
	.ssthresh = record_ssthresh,
	.undo_cwnd = record_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "ack_record",
};

static ssize_t record_read(struct file *file, char __user *buffer,
			   size_t size, loff_t *offset)
{
	return simple_read_from_buffer(buffer, size, offset, record_events,
				       record_count * sizeof(*record_events));
}

static const struct proc_ops record_proc_ops = {
	.proc_read = record_read,
};

static int __init ack_record_init(void)
{
	int err;

	record_events = vzalloc(array_size(room, sizeof(*record_events)));
	if (!record_events)
		return -ENOMEM;
	err = tcp_register_congestion_control(&record_ops);
	if (err)
		goto free;
	if (proc_create("ack_record", 0400, NULL, &record_proc_ops))
		return 0;
	tcp_unregister_congestion_control(&record_ops);
	err = -ENOMEM;
free:
	vfree(record_events);
	return err;
}

static void __exit ack_record_exit(void)
{
	remove_proc_entry("ack_record", NULL);
	tcp_unregister_congestion_control(&record_ops);
	vfree(record_events);
}

module_init(ack_record_init);
module_exit(ack_record_exit);

MODULE_DESCRIPTION("Records the events that TCP passes to a congestion control");
MODULE_LICENSE("GPL");
