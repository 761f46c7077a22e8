// SPDX-License-Identifier: GPL-2.0
/*
 * Sends and receives in the kernel, for the traffic program.
 *
 * In user-mode Linux a system call costs more than a packet: the host stops one
 * process and starts another, twice. The program opens the connections and ends
 * them; in between it hands them to us, and a kernel thread for each makes the
 * calls that the program would make, when it would make them. For TCP there is no
 * difference, except that nothing is copied: the payload is whatever the pages
 * hold.
 *
 * All threads and programs of the guest have the same real-time priority, so they
 * run in the order in which they wake. That is the order in which one program's
 * epoll would return the sockets. Only where the program itself also sends, web
 * traffic, between the same hosts, its packets may leave a microsecond earlier or
 * later than without us.
 */
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "lab_flow.h"

/* What the traffic program writes with one call, and more than a socket holds. */
#define LAB_FLOW_BULK	(256 * 1024)
#define LAB_FLOW_WRITE	(64 * 1024 * 1024)
#define LAB_FLOW_READ	(64 * 1024 * 1024)

/* A thread and the socket that it serves. The threads stay for the next run. */
struct lab_flow {
	struct list_head link;		/* in lab_flow_idle or a struct lab_flows */
	struct task_struct *thread;
	struct mutex mutex;		/* held while the socket is served */
	bool ready;
	struct file *file;		/* NULL: no socket */
	struct socket *socket;
	enum lab_role role;
	u32 id;
	s32 error;
	u64 bytes;
	u64 size;
	u64 left;			/* of this write or request, bytes */
	u64 began_ns;			/* when it began; 0: not connected yet */
	bool expects_reply;
	bool in_parts;			/* a request did not come as a whole */
	struct lab_records *records;
	poll_table table;
	wait_queue_entry_t wait;
	wait_queue_head_t *wait_head;
};

static LIST_HEAD(lab_flow_idle);

/*
 * The page that is being filled. The senders share it, like those of one program:
 * where a packet crosses the end of a page decides how packets are merged at the
 * receiver.
 */
static struct page_frag lab_flow_page;

static bool lab_flow_sends(const struct lab_flow *flow)
{
	return flow->role <= LAB_SEND_REQUESTS;
}

static __poll_t lab_flow_events(const struct lab_flow *flow)
{
	__poll_t events = EPOLLERR | EPOLLHUP;

	if (lab_flow_sends(flow))
		events |= EPOLLOUT;
	if (!lab_flow_sends(flow) || flow->role == LAB_SEND_REQUESTS)
		events |= EPOLLIN;
	return events;
}

static void lab_flow_ready(struct lab_flow *flow)
{
	WRITE_ONCE(flow->ready, true);
	wake_up_process(flow->thread);
}

static int lab_flow_wake(wait_queue_entry_t *wait, unsigned int mode, int sync,
			 void *key)
{
	struct lab_flow *flow = container_of(wait, struct lab_flow, wait);
	__poll_t events = key_to_poll(key);

	if (!events || events & lab_flow_events(flow))
		lab_flow_ready(flow);
	return 0;
}

static void lab_flow_watch(struct file *file, wait_queue_head_t *head,
			   poll_table *table)
{
	struct lab_flow *flow = container_of(table, struct lab_flow, table);

	flow->wait_head = head;
	add_wait_queue(head, &flow->wait);
}

/* Returns what a call on the socket has returned, and keeps an error. */
static int lab_flow_moved(struct lab_flow *flow, int n)
{
	if (n < 0 && n != -EAGAIN && n != -EINTR && !flow->error)
		flow->error = n;
	/* In user-mode Linux a system call that fails takes a program so long. */
	if (n < 0)
		udelay(1);
	return n;
}

/* Copies nothing: the iterator discards. */
static int lab_flow_write(struct lab_flow *flow, size_t count)
{
	struct msghdr message = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
		.msg_iter = {
			.iter_type = ITER_DISCARD,
			.data_source = ITER_SOURCE,
			.count = count,
		},
	};
	int n;

	swap(current->task_frag, lab_flow_page);
	n = sock_sendmsg(flow->socket, &message);
	swap(current->task_frag, lab_flow_page);
	return lab_flow_moved(flow, n);
}

static int lab_flow_read(struct lab_flow *flow, size_t count)
{
	struct msghdr message = {};

	iov_iter_discard(&message.msg_iter, ITER_DEST, count);
	return lab_flow_moved(flow, sock_recvmsg(flow->socket, &message,
						 MSG_TRUNC | MSG_DONTWAIT));
}

static bool lab_flow_send_bulk(struct lab_flow *flow)
{
	int n = lab_flow_write(flow, LAB_FLOW_BULK);

	if (n > 0)
		flow->bytes += n;
	return n > 0;
}

/* Continues to write; returns whether the write or request is complete. */
static bool lab_flow_continue(struct lab_flow *flow)
{
	int n;

	if (!flow->left)
		flow->left = flow->size;
	n = lab_flow_write(flow, min_t(u64, flow->left, LAB_FLOW_WRITE));
	if (n > 0) {
		flow->bytes += n;
		flow->left -= n;
	}
	return !flow->left;
}

/* Records the latency of a write or request that is over; the next one begins. */
static void lab_flow_record_latency(struct lab_flow *flow)
{
	u64 now_ns = ktime_get_ns();

	if (flow->began_ns)
		lab_record(flow->records, LAB_LATENCY, flow->id,
			   now_ns - flow->began_ns, NULL, 0);
	flow->began_ns = now_ns;
}

static void lab_flow_exchange(struct lab_flow *flow)
{
	if (flow->expects_reply) {
		if (lab_flow_read(flow, 1) != 1)
			return;
		lab_flow_record_latency(flow);
	}
	flow->expects_reply = lab_flow_continue(flow);
}

static void lab_flow_send(struct lab_flow *flow, __poll_t events)
{
	if (flow->role == LAB_SEND_BULK) {
		while (lab_flow_send_bulk(flow))
			;
		return;
	}
	/* the connection is established */
	if (!flow->began_ns)
		lab_flow_record_latency(flow);
	if (flow->role == LAB_SEND_STREAM)
		while (lab_flow_continue(flow))
			lab_flow_record_latency(flow);
	else if (events & EPOLLIN || !flow->expects_reply)
		lab_flow_exchange(flow);
}

/* Wakes the thread only when so many bytes have arrived, or the buffer is full. */
static void lab_flow_set_low_water(struct lab_flow *flow, u64 bytes)
{
	struct sock *sk = flow->socket->sk;

	lock_sock(sk);
	flow->socket->ops->set_rcvlowat(sk, min_t(u64, bytes, INT_MAX));
	release_sock(sk);
}

static void lab_flow_reply(struct lab_flow *flow, size_t received)
{
	if (!flow->left)
		flow->left = flow->size;
	flow->left -= min_t(u64, received, flow->left);
	if (flow->left) {
		lab_flow_set_low_water(flow, flow->left);
		flow->in_parts = true;
		return;
	}
	if (flow->in_parts)
		lab_flow_set_low_water(flow, flow->size);
	flow->in_parts = false;
	lab_flow_write(flow, 1);
}

/* Returns whether the call received bytes. */
static bool lab_flow_receive(struct lab_flow *flow)
{
	int n = lab_flow_read(flow, LAB_FLOW_READ);

	if (n <= 0)
		return false;
	flow->bytes += n;
	if (flow->role == LAB_REPLY)
		lab_flow_reply(flow, n);
	return true;
}

static __poll_t lab_flow_polls(struct lab_flow *flow)
{
	if (!flow->file)
		return 0;
	return vfs_poll(flow->file, NULL) & lab_flow_events(flow);
}

static void lab_flow_handle(struct lab_flow *flow)
{
	__poll_t events;

	mutex_lock(&flow->mutex);
	WRITE_ONCE(flow->ready, false);
	events = lab_flow_polls(flow);
	if (events && lab_flow_sends(flow))
		lab_flow_send(flow, events);
	else if (events)
		flow->ready |= lab_flow_receive(flow) && lab_flow_polls(flow);
	mutex_unlock(&flow->mutex);
}

static int lab_flow_main(void *argument)
{
	struct lab_flow *flow = argument;

	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!READ_ONCE(flow->ready)) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		lab_flow_handle(flow);
		if (READ_ONCE(flow->ready))
			yield();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int lab_flow_add_thread(void)
{
	struct lab_flow *flow = kzalloc(sizeof(*flow), GFP_KERNEL);
	struct task_struct *thread;

	if (!flow)
		return -ENOMEM;
	mutex_init(&flow->mutex);
	init_waitqueue_func_entry(&flow->wait, lab_flow_wake);
	init_poll_funcptr(&flow->table, lab_flow_watch);
	thread = kthread_create(lab_flow_main, flow, "lab_flow");
	if (IS_ERR(thread)) {
		kfree(flow);
		return PTR_ERR(thread);
	}
	sched_set_fifo_low(thread);
	flow->thread = thread;
	list_add(&flow->link, &lab_flow_idle);
	wake_up_process(thread);
	return 0;
}

int lab_flow_prepare(unsigned int sockets)
{
	unsigned int idle = list_count_nodes(&lab_flow_idle);
	int error = 0;

	if (sockets > LAB_FLOWS)
		return -EINVAL;
	while (idle++ < sockets && !error)
		error = lab_flow_add_thread();
	return error;
}

static struct lab_flow *lab_flow_find(struct lab_flows *flows, struct file *file)
{
	struct lab_flow *flow;

	list_for_each_entry(flow, &flows->list, link)
		if (flow->file == file)
			return flow;
	return NULL;
}

static void lab_flow_begin(struct lab_flow *flow, struct file *file,
			   const struct lab_serve *serve)
{
	flow->file = get_file(file);
	flow->socket = sock_from_file(file);
	flow->role = serve->role;
	flow->id = serve->id;
	flow->size = serve->size;
	flow->error = 0;
	flow->bytes = 0;
	flow->left = 0;
	flow->began_ns = 0;
	flow->expects_reply = false;
	flow->in_parts = false;
	if (vfs_poll(file, &flow->table) & lab_flow_events(flow))
		lab_flow_ready(flow);
}

static bool lab_flow_is_valid(const struct lab_serve *serve)
{
	switch (serve->role) {
	case LAB_SEND_BULK:
	case LAB_RECEIVE:
		return true;
	case LAB_SEND_STREAM:
	case LAB_SEND_REQUESTS:
	case LAB_REPLY:
		return serve->size;
	}
	return false;
}

int lab_flow_serve(struct lab_flows *flows, struct file *file,
		   const struct lab_serve *serve)
{
	struct socket *socket = sock_from_file(file);
	struct lab_flow *flow;

	if (!socket || !sk_is_tcp(socket->sk))
		return -ENOTSOCK;
	if (!lab_flow_is_valid(serve))
		return -EINVAL;
	if (lab_flow_find(flows, file))
		return -EBUSY;
	flow = list_first_entry_or_null(&lab_flow_idle, struct lab_flow, link);
	if (!flow)
		return -ENOBUFS;
	list_move(&flow->link, &flows->list);
	flow->records = flows->records;
	lab_flow_begin(flow, file, serve);
	return 0;
}

static void lab_flow_answer(const struct lab_flow *flow,
			    struct lab_count *count)
{
	count->error = -flow->error;
	count->bytes = flow->bytes;
	count->left = flow->left;
}

int lab_flow_count(struct lab_flows *flows, struct file *file,
		   struct lab_count *count)
{
	struct lab_flow *flow = lab_flow_find(flows, file);

	if (!flow)
		return -ENOENT;
	if (flow->role == LAB_RECEIVE) {
		mutex_lock(&flow->mutex);
		lab_flow_receive(flow);
		mutex_unlock(&flow->mutex);
	}
	lab_flow_answer(flow, count);
	return 0;
}

/* Data that is not read yet counts; the end of the stream, which has a number, too, does not. */
static u64 lab_flow_received(struct sock *sk)
{
	u64 bytes;

	lock_sock(sk);
	bytes = tcp_sk(sk)->bytes_received - sock_flag(sk, SOCK_DONE);
	release_sock(sk);
	return bytes;
}

u64 lab_flow_arrived(struct lab_flows *flows, struct file *file)
{
	struct lab_flow *flow = lab_flow_find(flows, file);
	struct lab_count count;

	if (!flow || flow->role != LAB_RECEIVE)
		return lab_flow_received(sock_from_file(file)->sk);
	lab_flow_count(flows, file, &count);
	return count.bytes;
}

static void lab_flow_end(struct lab_flow *flow)
{
	mutex_lock(&flow->mutex);
	remove_wait_queue(flow->wait_head, &flow->wait);
	fput(flow->file);
	flow->file = NULL;
	mutex_unlock(&flow->mutex);
	list_move(&flow->link, &lab_flow_idle);
}

int lab_flow_stop(struct lab_flows *flows, struct file *file,
		  struct lab_count *count)
{
	struct lab_flow *flow = lab_flow_find(flows, file);

	if (!flow)
		return -ENOENT;
	lab_flow_answer(flow, count);
	lab_flow_end(flow);
	return 0;
}

void lab_flow_stop_all(struct lab_flows *flows)
{
	struct lab_flow *flow, *next;

	list_for_each_entry_safe(flow, next, &flows->list, link)
		lab_flow_end(flow);
	/* Every run begins with a fresh page. */
	if (lab_flow_page.page)
		put_page(lab_flow_page.page);
	lab_flow_page = (struct page_frag){};
}

void lab_flow_exit(void)
{
	struct lab_flow *flow, *next;

	list_for_each_entry_safe(flow, next, &lab_flow_idle, link) {
		kthread_stop(flow->thread);
		kfree(flow);
	}
}
