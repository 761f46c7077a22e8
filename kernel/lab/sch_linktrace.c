// SPDX-License-Identifier: GPL-2.0
/*
 * linktrace: a queue in front of a link whose rate was recorded.
 *
 * The record is a link trace in Mahimahi's format (R. Netravali et al.,
 * "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015): text, one
 * line for each delivery opportunity, which is the time at which it comes, in
 * whole milliseconds from the beginning of the trace, in rising order; equal
 * lines are as many opportunities at once. After its last line the trace begins
 * again, so
 *
 *	t(line, round) = start + round * last line + line
 *
 * What an opportunity is worth is Mahimahi's accounting too:
 *
 *	- it delivers up to 1504 bytes, a packet counting with its IP header and
 *	  4 bytes more (there: those of the tunnel device that packets come
 *	  through), so that one opportunity is one full packet of 1500 bytes;
 *	- several small packets share one, and a packet that does not fit into the
 *	  rest of one goes on in the next, and leaves with the last it needs;
 *	- it is for packets that have come before it. What finds the queue empty,
 *	  in whole or in part, is lost.
 *
 * The rules hold for the times of the trace and of the packets' arrival, not
 * for the time at which the queue happens to be served, so a late timer delays
 * what leaves but changes nothing in what leaves with what.
 *
 * The queue is first in, first out, and a packet that finds it full is dropped.
 * A packet of segmentation offload is one packet and takes as many
 * opportunities as its bytes do: turn the offloads off on both ends.
 *
 * A stock tc cannot say options of a queueing discipline that it does not know,
 * so the trace is written to a file of the network namespace first, and the next
 * linktrace that is made in that namespace takes it:
 *
 *	{ echo "limit 100"; cat FILE; } >/proc/net/linktrace
 *	tc qdisc add dev DEVICE root linktrace
 *
 * The line with options may be missing, and so may each option:
 *
 *	limit PACKETS	    that fit into the queue; else the device's txqueuelen
 *	start NANOSECONDS   of CLOCK_MONOTONIC, when the trace begins; else when
 *			    the queue is made. There is no delivery before.
 *
 * Reading the file tells what is waiting there, or why nothing is.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/pkt_sched.h>

#define OPPORTUNITY_BYTES 1504U	/* what one line delivers */
#define TUNNEL_BYTES 4U		/* counted on top of the IP packet */

#define TRACE_MS_MAX (24 * 3600 * 1000U)	/* a day: in ns below 2^47 */
#define START_NS_MAX (1ULL << 62)	/* 146 years: no sum of times overflows */
#define LIMIT_MAX (1U << 24)	/* packets */
#define RUNS_MAX (1U << 22)	/* 32 MiB; over an hour with no idle ms */
#define RUNS_FIRST 1024U

#define LINE_MAX 64U		/* characters; the longest of use has 36 */
#define STATUS_MAX 128U

/* All opportunities of one millisecond. */
struct run {
	u32 ms;
	u32 count;
};

/* What was written to the file: a trace and its options. */
struct schedule {
	struct run *runs;	/* ms rising; the last one's is above 0 */
	u32 count;
	u32 room;
	u32 limit;		/* packets; 0: the device's */
	u64 start_ns;		/* CLOCK_MONOTONIC; 0: when the queue is made */
};

static void schedule_free(struct schedule *schedule)
{
	if (!schedule)
		return;
	kvfree(schedule->runs);
	kfree(schedule);
}

/* --- the file --------------------------------------------------------------- */

static unsigned int linktrace_net_id;

/* Of a network namespace. */
struct linktrace_net {
	struct net *net;
	struct mutex lock;	/* for what follows, and for every upload */
	struct schedule *waiting;
	char status[STATUS_MAX];
};

/* An open file: a trace being written. */
struct upload {
	struct linktrace_net *owner;
	struct schedule *schedule;	/* NULL before the first byte */
	bool failed;
	u32 line;			/* number of the current line, from 1 */
	u32 length;			/* bytes of the line so far */
	char text[LINE_MAX + 1];
};

static int __printf(2, 3) refuse(struct upload *upload, const char *why, ...)
{
	char *status = upload->owner->status;
	va_list args;
	int n;

	n = scnprintf(status, STATUS_MAX, "refused: line %u: ", upload->line);
	va_start(args, why);
	vscnprintf(status + n, STATUS_MAX - n, why, args);
	va_end(args);
	upload->failed = true;
	return -EINVAL;
}

static int add_run(struct upload *upload, u32 ms)
{
	struct schedule *schedule = upload->schedule;
	struct run *more;
	u32 room;

	if (schedule->count == schedule->room) {
		room = schedule->room ? 2 * schedule->room : RUNS_FIRST;
		if (room > RUNS_MAX)
			return refuse(upload, "more than %u different times",
				      RUNS_MAX);
		more = kvmalloc_array(room, sizeof(*more), GFP_KERNEL_ACCOUNT);
		if (!more) {
			upload->failed = true;
			return -ENOMEM;
		}
		if (schedule->count)
			memcpy(more, schedule->runs,
			       schedule->count * sizeof(*more));
		kvfree(schedule->runs);
		schedule->runs = more;
		schedule->room = room;
	}
	schedule->runs[schedule->count++] = (struct run){ .ms = ms, .count = 1 };
	return 0;
}

static int read_time(struct upload *upload)
{
	struct schedule *schedule = upload->schedule;
	struct run *last = NULL;
	u32 ms;

	if (schedule->count)
		last = &schedule->runs[schedule->count - 1];
	if (!isdigit(upload->text[0]) || kstrtou32(upload->text, 10, &ms) ||
	    ms > TRACE_MS_MAX)
		return refuse(upload, "'%.20s' is no time: whole milliseconds from 0 to %u",
			      upload->text, TRACE_MS_MAX);
	if (!last || ms > last->ms)
		return add_run(upload, ms);
	if (ms < last->ms)
		return refuse(upload, "%u comes after %u: times must not fall",
			      ms, last->ms);
	if (last->count == U32_MAX)
		return refuse(upload, "too many opportunities at %u", ms);
	last->count++;
	return 0;
}

static int read_options(struct upload *upload)
{
	struct schedule *schedule = upload->schedule;
	char *rest = upload->text, *word, *value;

	while ((word = strsep(&rest, " "))) {
		value = strsep(&rest, " ");
		if (!strcmp(word, "limit")) {
			if (!value || kstrtou32(value, 10, &schedule->limit) ||
			    !schedule->limit || schedule->limit > LIMIT_MAX)
				return refuse(upload, "limit must be from 1 to %u packets",
					      LIMIT_MAX);
		} else if (!strcmp(word, "start")) {
			if (!value || kstrtou64(value, 10, &schedule->start_ns) ||
			    !schedule->start_ns ||
			    schedule->start_ns > START_NS_MAX)
				return refuse(upload, "start must be from 1 to %llu ns",
					      START_NS_MAX);
		} else {
			return refuse(upload, "'%.20s' is no option: they are limit and start",
				      word);
		}
	}
	return 0;
}

static int end_of_line(struct upload *upload)
{
	int error;

	upload->text[upload->length] = 0;
	if (upload->line == 1 && isalpha(upload->text[0]))
		error = read_options(upload);
	else
		error = read_time(upload);
	upload->length = 0;
	upload->line++;
	return error;
}

static int take_text(struct upload *upload, const char *text, size_t size)
{
	const char *end = text + size;
	int error;

	for (; text < end; text++) {
		if (*text == '\n') {
			error = end_of_line(upload);
			if (error)
				return error;
		} else if (upload->length == LINE_MAX) {
			return refuse(upload, "longer than %u characters",
				      LINE_MAX);
		} else {
			upload->text[upload->length++] = *text;
		}
	}
	return 0;
}

/* The trace is complete when its file is closed. */
static void end_of_trace(struct upload *upload)
{
	struct linktrace_net *owner = upload->owner;
	struct schedule *schedule = upload->schedule;
	u64 opportunities = 0;
	u32 i, period_ms;

	if (upload->failed || (upload->length && end_of_line(upload)))
		return;
	if (!schedule->count) {
		refuse(upload, "there is no delivery opportunity");
		return;
	}
	period_ms = schedule->runs[schedule->count - 1].ms;
	if (!period_ms) {
		refuse(upload, "the trace ends at 0: it must last a millisecond at least");
		return;
	}
	for (i = 0; i < schedule->count; i++)
		opportunities += schedule->runs[i].count;
	scnprintf(owner->status, STATUS_MAX,
		  "waiting: %llu opportunities in %u ms", opportunities,
		  period_ms);
	schedule_free(owner->waiting);
	owner->waiting = schedule;
	upload->schedule = NULL;
}

static int linktrace_open(struct inode *inode, struct file *file)
{
	struct linktrace_net *owner = pde_data(inode);
	struct upload *upload;

	if (!ns_capable(owner->net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	upload = kzalloc(sizeof(*upload), GFP_KERNEL);
	if (!upload)
		return -ENOMEM;
	upload->owner = owner;
	upload->line = 1;
	file->private_data = upload;
	return nonseekable_open(inode, file);
}

static ssize_t linktrace_write(struct file *file, const char __user *from,
			       size_t size, loff_t *offset)
{
	struct upload *upload = file->private_data;
	ssize_t result = min_t(size_t, size, PAGE_SIZE);
	char *text;
	int error;

	text = memdup_user(from, result);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&upload->owner->lock);
	if (!upload->schedule && !upload->failed)
		upload->schedule = kzalloc(sizeof(*upload->schedule),
					   GFP_KERNEL);
	if (!upload->schedule)
		error = -ENOMEM;
	else if (upload->failed)
		error = -EINVAL;
	else
		error = take_text(upload, text, result);
	mutex_unlock(&upload->owner->lock);
	kfree(text);
	return error ? error : result;
}

static ssize_t linktrace_read(struct file *file, char __user *to, size_t size,
			      loff_t *offset)
{
	struct upload *upload = file->private_data;
	char text[STATUS_MAX + 1];
	int length;

	mutex_lock(&upload->owner->lock);
	length = scnprintf(text, sizeof(text), "%s\n", upload->owner->status);
	mutex_unlock(&upload->owner->lock);
	return simple_read_from_buffer(to, size, offset, text, length);
}

static int linktrace_release(struct inode *inode, struct file *file)
{
	struct upload *upload = file->private_data;

	mutex_lock(&upload->owner->lock);
	if (upload->schedule)
		end_of_trace(upload);
	mutex_unlock(&upload->owner->lock);
	schedule_free(upload->schedule);
	kfree(upload);
	return 0;
}

static const struct proc_ops linktrace_proc_ops = {
	.proc_open = linktrace_open,
	.proc_write = linktrace_write,
	.proc_read = linktrace_read,
	.proc_release = linktrace_release,
};

static void set_status_empty(struct linktrace_net *owner)
{
	strscpy(owner->status, "empty: write a trace here", STATUS_MAX);
}

static int __net_init linktrace_net_init(struct net *net)
{
	struct linktrace_net *owner = net_generic(net, linktrace_net_id);

	owner->net = net;
	mutex_init(&owner->lock);
	set_status_empty(owner);
	if (!proc_create_data("linktrace", 0600, net->proc_net,
			      &linktrace_proc_ops, owner))
		return -ENOMEM;
	return 0;
}

static void __net_exit linktrace_net_exit(struct net *net)
{
	struct linktrace_net *owner = net_generic(net, linktrace_net_id);

	/* Files that are still open are released here. */
	remove_proc_entry("linktrace", net->proc_net);
	schedule_free(owner->waiting);
}

static struct pernet_operations linktrace_net_ops = {
	.init = linktrace_net_init,
	.exit = linktrace_net_exit,
	.id = &linktrace_net_id,
	.size = sizeof(struct linktrace_net),
};

/* --- the queue -------------------------------------------------------------- */

struct linktrace_sched {
	struct schedule *schedule;
	u64 period_ns;
	/* the next unused opportunity */
	u64 round_ns;		/* when this round of the trace began */
	u32 at;			/* the run that it belongs to */
	u32 had;		/* used opportunities of that run */
	/* the last used opportunity */
	u64 opportunity_ns;
	u32 left;		/* its unused bytes */
	struct qdisc_watchdog watchdog;
};

/* Of a packet in the queue. */
struct linktrace_cb {
	u64 arrival_ns;
	u32 left;		/* bytes still to be delivered */
};

static struct linktrace_cb *linktrace_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct linktrace_cb));
	return (struct linktrace_cb *)qdisc_skb_cb(skb)->data;
}

static u64 next_opportunity_ns(const struct linktrace_sched *q)
{
	return q->round_ns + (u64)q->schedule->runs[q->at].ms * NSEC_PER_MSEC;
}

static void go_to_run(struct linktrace_sched *q, u32 at)
{
	q->had = 0;
	q->at = at;
	if (at == q->schedule->count) {
		q->at = 0;
		q->round_ns += q->period_ns;
	}
}

/* The first run later than @ms, from @low on; the number of runs if none is. */
static u32 first_run_after(const struct schedule *schedule, u32 low, u64 ms)
{
	u32 high = schedule->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (schedule->runs[middle].ms > ms)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Opportunities up to and at this time have found nothing to deliver. */
static void lose_opportunities(struct linktrace_sched *q, u64 until_ns)
{
	u64 rounds, ms;

	if (q->opportunity_ns <= until_ns)
		q->left = 0;
	if (next_opportunity_ns(q) > until_ns)
		return;
	rounds = div64_u64(until_ns - q->round_ns, q->period_ns);
	if (rounds) {
		q->round_ns += rounds * q->period_ns;
		q->at = 0;
	}
	ms = div_u64(until_ns - q->round_ns, NSEC_PER_MSEC);
	go_to_run(q, first_run_after(q->schedule, q->at, ms));
}

static void take_opportunity(struct linktrace_sched *q)
{
	q->opportunity_ns = next_opportunity_ns(q);
	q->left = OPPORTUNITY_BYTES;
	if (++q->had == q->schedule->runs[q->at].count)
		go_to_run(q, q->at + 1);
}

static int linktrace_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			     struct sk_buff **to_free)
{
	if (unlikely(sch->q.qlen >= sch->limit))
		return qdisc_drop(skb, sch, to_free);
	*linktrace_cb(skb) = (struct linktrace_cb){
		.arrival_ns = ktime_get_ns(),
		.left = skb->len - skb_network_offset(skb) + TUNNEL_BYTES,
	};
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *linktrace_dequeue(struct Qdisc *sch)
{
	struct linktrace_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_peek_head(sch);
	struct linktrace_cb *cb;
	u64 now_ns, next_ns;

	if (!skb)
		return NULL;
	now_ns = ktime_get_ns();
	cb = linktrace_cb(skb);
	lose_opportunities(q, cb->arrival_ns);
	while (cb->left > q->left) {
		cb->left -= q->left;
		q->left = 0;
		next_ns = next_opportunity_ns(q);
		if (next_ns > now_ns) {
			qdisc_watchdog_schedule_ns(&q->watchdog, next_ns);
			return NULL;
		}
		take_opportunity(q);
	}
	q->left -= cb->left;
	return qdisc_dequeue_head(sch);
}

static void linktrace_reset(struct Qdisc *sch)
{
	struct linktrace_sched *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	qdisc_watchdog_cancel(&q->watchdog);
	q->left = 0;
}

static int linktrace_init(struct Qdisc *sch, struct nlattr *opt,
			  struct netlink_ext_ack *extack)
{
	struct linktrace_net *owner = net_generic(dev_net(qdisc_dev(sch)),
						  linktrace_net_id);
	struct linktrace_sched *q = qdisc_priv(sch);
	struct schedule *schedule;

	/* Before any error: destroy() follows one. */
	qdisc_watchdog_init(&q->watchdog, sch);
	if (opt) {
		NL_SET_ERR_MSG(extack, "linktrace takes its options from /proc/net/linktrace");
		return -EINVAL;
	}
	mutex_lock(&owner->lock);
	schedule = owner->waiting;
	owner->waiting = NULL;
	if (schedule)
		set_status_empty(owner);
	mutex_unlock(&owner->lock);
	if (!schedule) {
		NL_SET_ERR_MSG(extack, "no trace waits in /proc/net/linktrace, which tells why");
		return -ENOENT;
	}
	q->schedule = schedule;
	q->period_ns = (u64)schedule->runs[schedule->count - 1].ms *
		       NSEC_PER_MSEC;
	q->round_ns = schedule->start_ns ? schedule->start_ns : ktime_get_ns();
	sch->limit = schedule->limit ? schedule->limit :
				       qdisc_dev(sch)->tx_queue_len;
	return 0;
}

static void linktrace_destroy(struct Qdisc *sch)
{
	struct linktrace_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	schedule_free(q->schedule);
}

static struct Qdisc_ops linktrace_ops = {
	.id = "linktrace",
	.priv_size = sizeof(struct linktrace_sched),
	.enqueue = linktrace_enqueue,
	.dequeue = linktrace_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = linktrace_init,
	.reset = linktrace_reset,
	.destroy = linktrace_destroy,
	.owner = THIS_MODULE,
};

static int __init linktrace_module_init(void)
{
	int error;

	error = register_pernet_subsys(&linktrace_net_ops);
	if (error)
		return error;
	error = register_qdisc(&linktrace_ops);
	if (error)
		unregister_pernet_subsys(&linktrace_net_ops);
	return error;
}

static void __exit linktrace_module_exit(void)
{
	unregister_qdisc(&linktrace_ops);
	unregister_pernet_subsys(&linktrace_net_ops);
}

module_init(linktrace_module_init);
module_exit(linktrace_module_exit);

/* What the kernel asks for when tc names the discipline, since 6.8. */
MODULE_ALIAS("net-sch-linktrace");
MODULE_DESCRIPTION("Link that follows a trace in Mahimahi's format");
MODULE_LICENSE("GPL");
