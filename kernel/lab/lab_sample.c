// SPDX-License-Identifier: GPL-2.0
/*
 * Samples sockets and queues for the traffic program.
 *
 * A sample by the program is a system call for each source. Here one thread makes
 * the same calls at the same times, and the program reads the answers of many
 * samples at once.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/inet_diag.h>
#include <linux/kthread.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "lab_sample.h"

#define LAB_SAMPLE_ANSWER	8192	/* bytes; more than a qdisc's */

struct lab_sample_source {
	struct list_head link;
	struct lab_source asked;
	struct file *file;		/* NULL: none */
	struct socket *socket;		/* of the file */
	void *request;			/* of LAB_NETLINK */
};

/* An answer over netlink; the mutex protects it. */
static char lab_sample_answer[LAB_SAMPLE_ANSWER];

static void lab_sample_tcp(struct lab_samples *samples,
			   const struct lab_sample_source *source, u64 now_ns)
{
	struct sock *sk = source->socket->sk;
	const struct tcp_congestion_ops *ca = inet_csk(sk)->icsk_ca_ops;
	struct lab_tcp sample = { .length = sizeof(struct tcp_info) };
	int attribute;

	BUILD_BUG_ON(sizeof(struct tcp_info) > sizeof(sample.info));
	BUILD_BUG_ON(sizeof(union tcp_cc_info) > sizeof(sample.cc));
	tcp_get_info(sk, (struct tcp_info *)sample.info);
	if (ca && ca->get_info)
		sample.cc_length = ca->get_info(sk, ~0U, &attribute,
						(union tcp_cc_info *)sample.cc);
	lab_record(samples->flows->records, LAB_TCP, source->asked.id, now_ns, &sample,
		   sizeof(sample));
}

static void lab_sample_bytes(struct lab_samples *samples,
			     const struct lab_sample_source *source, u64 now_ns)
{
	u64 bytes = source->asked.bytes;

	if (source->file)
		bytes = lab_flow_arrived(samples->flows, source->file);
	lab_record(samples->flows->records, LAB_BYTES, source->asked.id, now_ns, &bytes,
		   sizeof(bytes));
}

/* The kernel answers at once. */
static void lab_sample_netlink(struct lab_samples *samples,
			       const struct lab_sample_source *source, u64 now_ns)
{
	struct kvec request = { source->request, source->asked.length };
	struct kvec answer = { lab_sample_answer, LAB_SAMPLE_ANSWER };
	struct msghdr sent = {}, received = {};
	int n;

	kernel_sendmsg(source->socket, &sent, &request, 1, request.iov_len);
	while ((n = kernel_recvmsg(source->socket, &received, &answer, 1,
				   answer.iov_len, MSG_DONTWAIT)) > 0)
		lab_record(samples->flows->records, LAB_NETLINK, source->asked.id,
			   now_ns, lab_sample_answer, n);
}

static void lab_sample_take(struct lab_samples *samples)
{
	static void (*const take[LAB_TYPES])(struct lab_samples *samples,
					     const struct lab_sample_source *source,
					     u64 now_ns) = {
		[LAB_TCP] = lab_sample_tcp,
		[LAB_BYTES] = lab_sample_bytes,
		[LAB_NETLINK] = lab_sample_netlink,
	};
	u64 now_ns = ktime_get_ns();
	struct lab_sample_source *source;

	for (int type = 0; type < LAB_TYPES; type++)
		list_for_each_entry(source, &samples->sources[type], link)
			take[type](samples, source, now_ns);
}

static int lab_sample_main(void *argument)
{
	struct lab_samples *samples = argument;
	ktime_t at = samples->ticks.first_ns;

	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (schedule_hrtimeout(&at, HRTIMER_MODE_ABS))
			continue;
		mutex_lock(samples->flows->mutex);
		lab_sample_take(samples);
		mutex_unlock(samples->flows->mutex);
		at += samples->ticks.interval_ns;
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

void lab_samples_open(struct lab_samples *samples, struct lab_flows *flows)
{
	for (int type = 0; type < LAB_TYPES; type++)
		INIT_LIST_HEAD(&samples->sources[type]);
	samples->flows = flows;
}

static void lab_sample_free(struct lab_sample_source *source)
{
	kfree(source->request);
	if (source->file)
		fput(source->file);
	kfree(source);
}

static void lab_sample_remove(struct lab_samples *samples,
			      struct lab_sample_source *source)
{
	list_del(&source->link);
	samples->count--;
	lab_sample_free(source);
}

void lab_samples_end(struct lab_samples *samples)
{
	if (samples->thread)
		kthread_stop(samples->thread);
	samples->thread = NULL;
}

void lab_samples_drop_all(struct lab_samples *samples)
{
	struct lab_sample_source *source, *next;

	for (int type = 0; type < LAB_TYPES; type++)
		list_for_each_entry_safe(source, next, &samples->sources[type], link)
			lab_sample_remove(samples, source);
}

static bool lab_sample_may_have(const struct lab_sample_source *source)
{
	if (!source->socket)
		return source->asked.type == LAB_BYTES && !source->file;
	if (source->asked.type == LAB_NETLINK)
		return source->socket->sk->sk_family == AF_NETLINK;
	return sk_is_tcp(source->socket->sk);
}

static int lab_sample_fill(struct lab_sample_source *source)
{
	const struct lab_source *asked = &source->asked;

	if (asked->fd >= 0) {
		source->file = fget(asked->fd);
		if (!source->file)
			return -EBADF;
		source->socket = sock_from_file(source->file);
	}
	if (!lab_sample_may_have(source))
		return -ENOTSOCK;
	if (asked->type != LAB_NETLINK)
		return 0;
	source->request = kmalloc(asked->length, GFP_KERNEL);
	if (!source->request)
		return -ENOMEM;
	return copy_from_user(source->request, u64_to_user_ptr(asked->request),
			      asked->length) ? -EFAULT : 0;
}

static struct lab_sample_source *lab_sample_find(struct lab_samples *samples,
						 const struct lab_source *asked)
{
	struct lab_sample_source *source;

	list_for_each_entry(source, &samples->sources[asked->type], link)
		if (source->asked.id == asked->id)
			return source;
	return NULL;
}

/* Keeps the sources in the order of their ids. */
static void lab_sample_insert(struct lab_samples *samples,
			      struct lab_sample_source *source)
{
	struct list_head *head = &samples->sources[source->asked.type];
	struct lab_sample_source *other;

	list_for_each_entry(other, head, link)
		if (other->asked.id > source->asked.id)
			break;
	list_add_tail(&source->link, &other->link);
	samples->count++;
}

int lab_samples_add(struct lab_samples *samples,
		    const struct lab_source *asked)
{
	struct lab_sample_source *source, *previous;
	int error;

	if (asked->type >= LAB_TYPES || asked->length > LAB_REQUEST)
		return -EINVAL;
	if (samples->count == LAB_SOURCES)
		return -ENOBUFS;
	source = kzalloc(sizeof(*source), GFP_KERNEL);
	if (!source)
		return -ENOMEM;
	source->asked = *asked;
	error = lab_sample_fill(source);
	if (error) {
		lab_sample_free(source);
		return error;
	}
	previous = lab_sample_find(samples, asked);
	if (previous)
		lab_sample_remove(samples, previous);
	lab_sample_insert(samples, source);
	return 0;
}

int lab_samples_drop(struct lab_samples *samples,
		     const struct lab_source *asked)
{
	struct lab_sample_source *source;

	if (asked->type >= LAB_TYPES)
		return -EINVAL;
	source = lab_sample_find(samples, asked);
	if (!source)
		return -ENOENT;
	lab_sample_remove(samples, source);
	return 0;
}

int lab_samples_tick(struct lab_samples *samples, const struct lab_ticks *ticks)
{
	struct task_struct *thread;

	if (!ticks->interval_ns || ticks->interval_ns > KTIME_MAX / 2)
		return -EINVAL;
	if (samples->thread)
		return -EBUSY;
	samples->ticks = *ticks;
	thread = kthread_create(lab_sample_main, samples, "lab_sample");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	sched_set_fifo_low(thread);
	samples->thread = thread;
	wake_up_process(thread);
	return 0;
}
