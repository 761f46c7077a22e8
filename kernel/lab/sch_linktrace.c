// SPDX-License-Identifier: GPL-2.0
/*
 * linktrace: a queue in front of a link with a recorded rate.
 *
 * The recording is a link trace in Mahimahi's format (R. Netravali et al.,
 * "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015): text with a line
 * per delivery opportunity. The line is its time in whole milliseconds since the
 * beginning of the trace. Lines rise; equal lines are simultaneous opportunities.
 * After its last line the trace repeats, so
 *
 *	t(line, round) = start + round * last line + line
 *
 * Opportunities deliver packets as in Mahimahi:
 *
 *	- An opportunity delivers up to 1504 bytes. A packet counts with its IP
 *	  header and 4 bytes (of Mahimahi's tunnel device), so that an opportunity
 *	  is a full packet of 1500 bytes.
 *	- Small packets share an opportunity. A packet that does not fit into the
 *	  rest of one continues in the next, and leaves with its last one.
 *	- An opportunity delivers only packets that arrived before it. What it cannot
 *	  use, in whole or in part, is lost.
 *
 * These rules use the times of the trace and of the packets' arrival. A late timer
 * delays packets, but does not change which opportunity delivers them.
 *
 * The queue is first in, first out, and drops packets when it is full. A packet of
 * segmentation offload is one packet of many opportunities: turn offloads off at
 * both ends.
 *
 * tc cannot set options of a queueing discipline that it does not know. So a file of
 * the network namespace takes the trace, and the next linktrace made in this
 * namespace uses it:
 *
 *	{ echo "limit 100"; cat FILE; } >/proc/net/linktrace
 *	tc qdisc add dev DEVICE root linktrace
 *
 * The line with options and each option may be missing:
 *
 *	limit PACKETS	    size of the queue (default: the device's txqueuelen)
 *	start NANOSECONDS   CLOCK_MONOTONIC when the trace begins; nothing is
 *			    delivered before (default: when the queue is made)
 *
 * Reading the file shows the waiting trace, or why there is none.
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

#define OPPORTUNITY_BYTES 1504U	/* that a line delivers */
#define TUNNEL_BYTES 4U		/* added to each IP packet */

#define TRACE_MS_MAX (24 * 3600 * 1000U)	/* a day: in ns below 2^47 */
#define START_NS_MAX (1ULL << 62)	/* 146 years: no sum of times overflows */
#define LIMIT_MAX (1U << 24)	/* packets */
#define RUNS_MAX (1U << 22)	/* 32 MiB; over an hour with no idle ms */
#define RUNS_FIRST 1024U	/* initial size of the array */

#define LINE_MAX 64U		/* characters; the longest useful line has 36 */
#define STATUS_MAX 128U

/* All opportunities of one millisecond. */
struct run {
	u32 ms;
	u32 count;
};

/* A trace and its options, as written to the file. */
struct schedule {
	struct run *runs;	/* ms rising; the last one is above 0 */
	u32 count;
	u32 capacity;
	u32 limit;		/* packets; 0: the device's txqueuelen */
	u64 start_ns;		/* CLOCK_MONOTONIC; 0: when the queue is made */
};

static void linktrace_schedule_free(struct schedule *schedule)
{
	if (!schedule)
		return;
	kvfree(schedule->runs);
	kfree(schedule);
}

/* --- the file --------------------------------------------------------------- */

static unsigned int linktrace_net_id;

/* State of a network namespace. */
struct linktrace_net {
	struct net *net;
	struct mutex lock;	/* protects the fields below and every upload */
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

static int __printf(2, 3) linktrace_refuse(struct upload *upload,
					   const char *why, ...)
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

static int linktrace_add_run(struct upload *upload, u32 ms)
{
	struct schedule *schedule = upload->schedule;
	struct run *runs;
	u32 capacity;

	if (schedule->count == schedule->capacity) {
		capacity = schedule->capacity ? 2 * schedule->capacity : RUNS_FIRST;
		if (capacity > RUNS_MAX)
			return linktrace_refuse(upload, "more than %u different times",
						RUNS_MAX);
		runs = kvmalloc_array(capacity, sizeof(*runs), GFP_KERNEL_ACCOUNT);
		if (!runs) {
			upload->failed = true;
			return -ENOMEM;
		}
		if (schedule->count)
			memcpy(runs, schedule->runs,
			       schedule->count * sizeof(*runs));
		kvfree(schedule->runs);
		schedule->runs = runs;
		schedule->capacity = capacity;
	}
	schedule->runs[schedule->count++] = (struct run){ .ms = ms, .count = 1 };
	return 0;
}

static int linktrace_read_time(struct upload *upload)
{
	struct schedule *schedule = upload->schedule;
	struct run *last = NULL;
	u32 ms;

	if (schedule->count)
		last = &schedule->runs[schedule->count - 1];
	if (!isdigit(upload->text[0]) || kstrtou32(upload->text, 10, &ms) ||
	    ms > TRACE_MS_MAX)
		return linktrace_refuse(upload,
					"'%.20s' is no time: it must be whole milliseconds from 0 to %u",
					upload->text, TRACE_MS_MAX);
	if (!last || ms > last->ms)
		return linktrace_add_run(upload, ms);
	if (ms < last->ms)
		return linktrace_refuse(upload, "%u comes after %u: times must not decrease",
					ms, last->ms);
	if (last->count == U32_MAX)
		return linktrace_refuse(upload, "too many opportunities at %u ms", ms);
	last->count++;
	return 0;
}

static int linktrace_read_options(struct upload *upload)
{
	struct schedule *schedule = upload->schedule;
	char *rest = upload->text, *word, *value;

	while ((word = strsep(&rest, " "))) {
		value = strsep(&rest, " ");
		if (!strcmp(word, "limit")) {
			if (!value || kstrtou32(value, 10, &schedule->limit) ||
			    !schedule->limit || schedule->limit > LIMIT_MAX)
				return linktrace_refuse(upload,
							"limit must be from 1 to %u packets",
							LIMIT_MAX);
		} else if (!strcmp(word, "start")) {
			if (!value || kstrtou64(value, 10, &schedule->start_ns) ||
			    !schedule->start_ns ||
			    schedule->start_ns > START_NS_MAX)
				return linktrace_refuse(upload,
							"start must be from 1 to %llu ns",
							START_NS_MAX);
		} else {
			return linktrace_refuse(upload,
						"'%.20s' is no option: use limit or start", word);
		}
	}
	return 0;
}

static int linktrace_end_line(struct upload *upload)
{
	int error;

	upload->text[upload->length] = 0;
	if (upload->line == 1 && isalpha(upload->text[0]))
		error = linktrace_read_options(upload);
	else
		error = linktrace_read_time(upload);
	upload->length = 0;
	upload->line++;
	return error;
}

static int linktrace_parse(struct upload *upload, const char *text, size_t size)
{
	const char *end = text + size;
	int error;

	for (; text < end; text++) {
		if (*text == '\n') {
			error = linktrace_end_line(upload);
			if (error)
				return error;
		} else if (upload->length == LINE_MAX) {
			return linktrace_refuse(upload, "longer than %u characters",
						LINE_MAX);
		} else {
			upload->text[upload->length++] = *text;
		}
	}
	return 0;
}

/* Called when the file is closed: the trace is complete. */
static void linktrace_end_trace(struct upload *upload)
{
	struct linktrace_net *owner = upload->owner;
	struct schedule *schedule = upload->schedule;
	u64 opportunities = 0;
	u32 i, period_ms;

	if (upload->failed || (upload->length && linktrace_end_line(upload)))
		return;
	if (!schedule->count) {
		linktrace_refuse(upload, "there is no delivery opportunity");
		return;
	}
	period_ms = schedule->runs[schedule->count - 1].ms;
	if (!period_ms) {
		linktrace_refuse(upload, "the trace ends at 0: it must last at least 1 ms");
		return;
	}
	for (i = 0; i < schedule->count; i++)
		opportunities += schedule->runs[i].count;
	scnprintf(owner->status, STATUS_MAX,
		  "waiting: %llu opportunities in %u ms", opportunities,
		  period_ms);
	linktrace_schedule_free(owner->waiting);
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
		error = linktrace_parse(upload, text, result);
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
		linktrace_end_trace(upload);
	mutex_unlock(&upload->owner->lock);
	linktrace_schedule_free(upload->schedule);
	kfree(upload);
	return 0;
}

static const struct proc_ops linktrace_proc_ops = {
	.proc_open = linktrace_open,
	.proc_write = linktrace_write,
	.proc_read = linktrace_read,
	.proc_release = linktrace_release,
};

static void linktrace_set_empty(struct linktrace_net *owner)
{
	strscpy(owner->status, "empty: write a trace here", STATUS_MAX);
}

static int __net_init linktrace_net_init(struct net *net)
{
	struct linktrace_net *owner = net_generic(net, linktrace_net_id);

	owner->net = net;
	mutex_init(&owner->lock);
	linktrace_set_empty(owner);
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
	linktrace_schedule_free(owner->waiting);
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
	u32 run;		/* index of its run */
	u32 used;		/* used opportunities of that run */
	/* the last used opportunity */
	u64 opportunity_ns;
	u32 left;		/* its unused bytes */
	struct qdisc_watchdog watchdog;
};

/* State of a packet in the queue. */
struct linktrace_cb {
	u64 arrival_ns;
	u32 left;		/* bytes not yet delivered */
};

static struct linktrace_cb *linktrace_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct linktrace_cb));
	return (struct linktrace_cb *)qdisc_skb_cb(skb)->data;
}

static u64 linktrace_next_ns(const struct linktrace_sched *q)
{
	return q->round_ns + (u64)q->schedule->runs[q->run].ms * NSEC_PER_MSEC;
}

static void linktrace_go_to_run(struct linktrace_sched *q, u32 run)
{
	q->used = 0;
	q->run = run;
	if (run == q->schedule->count) {
		q->run = 0;
		q->round_ns += q->period_ns;
	}
}

/* The first run from @low on that is later than @ms; if none, the number of runs. */
static u32 linktrace_run_after(const struct schedule *schedule, u32 low, u64 ms)
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

/* Discards the opportunities up to this time: there was nothing to deliver. */
static void linktrace_lose_opportunities(struct linktrace_sched *q, u64 until_ns)
{
	u64 rounds, ms;

	if (q->opportunity_ns <= until_ns)
		q->left = 0;
	if (linktrace_next_ns(q) > until_ns)
		return;
	rounds = div64_u64(until_ns - q->round_ns, q->period_ns);
	if (rounds) {
		q->round_ns += rounds * q->period_ns;
		q->run = 0;
	}
	ms = div_u64(until_ns - q->round_ns, NSEC_PER_MSEC);
	linktrace_go_to_run(q, linktrace_run_after(q->schedule, q->run, ms));
}

static void linktrace_use_opportunity(struct linktrace_sched *q)
{
	q->opportunity_ns = linktrace_next_ns(q);
	q->left = OPPORTUNITY_BYTES;
	if (++q->used == q->schedule->runs[q->run].count)
		linktrace_go_to_run(q, q->run + 1);
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
	linktrace_lose_opportunities(q, cb->arrival_ns);
	while (cb->left > q->left) {
		cb->left -= q->left;
		q->left = 0;
		next_ns = linktrace_next_ns(q);
		if (next_ns > now_ns) {
			qdisc_watchdog_schedule_ns(&q->watchdog, next_ns);
			return NULL;
		}
		linktrace_use_opportunity(q);
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

	/* Before any error, because destroy() follows it. */
	qdisc_watchdog_init(&q->watchdog, sch);
	if (opt) {
		NL_SET_ERR_MSG(extack, "linktrace takes its options from /proc/net/linktrace");
		return -EINVAL;
	}
	mutex_lock(&owner->lock);
	schedule = owner->waiting;
	owner->waiting = NULL;
	if (schedule)
		linktrace_set_empty(owner);
	mutex_unlock(&owner->lock);
	if (!schedule) {
		NL_SET_ERR_MSG(extack, "no trace is waiting: see /proc/net/linktrace");
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
	linktrace_schedule_free(q->schedule);
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

/* Since Linux 6.8 the kernel requests the module by this name. */
MODULE_ALIAS("net-sch-linktrace");
MODULE_DESCRIPTION("Link that follows a trace in Mahimahi's format");
MODULE_LICENSE("GPL");
