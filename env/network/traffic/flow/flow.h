/* SPDX-License-Identifier: GPL-2.0 */
/* The interfaces between the files of the traffic program. No file calls main.c. */
#ifndef FLOW_H
#define FLOW_H

#include <stddef.h>
#include <stdint.h>

#include "tables.h"

#define MAX_FLOWS 1000
#define FIRST_PORT 5000
#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL

enum kind {
	BULK,		/* as much as the network takes */
	STREAM,		/* writes of a fixed size, back to back; latency: how long a write takes */
	REQUEST,	/* a request of a fixed size, a reply of one byte, perhaps a pause; latency: until the reply */
	WEB,		/* requests of random sizes, with pauses between them (web.h); latency: until the reply */
};

/* --- common.c: errors, and the words of a run's line ----------------------------------------------------------- */

/* End the program with the name of the call that failed and errno's text. */
void die(const char *what) __attribute__((noreturn));
/* End the program with a formatted message. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* End the program because of an invalid word in its input. */
void bad(const char *text) __attribute__((noreturn));

/* 1: a flow ends with a reset, and its ports are free at once. 0: what it has sent is delivered first. */
extern int ends_with_reset;
/* Set ends_with_reset from "reset" or "deliver"; 0 for another word. */
int parse_ending(const char *name);
enum kind parse_kind(const char *name);

/* --- loop.c: clock and events ---------------------------------------------------------------------------------- */

/* A callback for events of a descriptor. */
struct watcher {
	void (*ready)(struct watcher *watcher, uint32_t events);
};

/* Once, before any run. */
void loop_open(void);
void loop_start(int64_t origin_ns);
/* Nanoseconds since the run's origin. */
int64_t now_ns(void);
/* Times of the run's clock and of CLOCK_MONOTONIC, from each other. */
int64_t run_ns(int64_t clock_ns);
int64_t clock_ns(int64_t run_ns);
void watch(int fd, uint32_t events, struct watcher *watcher);
/* Have loop_run() call its step at a time of the run's clock, at once when that time has passed. */
void wake_at(int64_t at_ns);
/* Have loop_run() call its step after the events that are being handled. */
void wake(void);
/* Return a new timer, which is not set. */
int timer_add(struct watcher *watcher);
void timer_set(int timer, int64_t at_ns);
/* Return a timer that expires after_ns after each multiple of interval_ns. Its watcher must read() it each time. */
int watch_every(int64_t interval_ns, int64_t after_ns, struct watcher *watcher);
/*
 * Handle events and call step(), with the time, at the times of wake_at() and wake(), until step() returns 0 or
 * loop_end() is called.
 */
void loop_run(int (*step)(int64_t now));
void loop_end(void);

/* --- netns.c: network namespaces ------------------------------------------------------------------------------- */

#define NAMESPACE_FDS 3500	/* and above: descriptors of namespaces, which stay open from run to run */

/* Return a socket in a network namespace: a path such as /proc/PID/ns/net, or "-" for the program's own. */
int socket_in(const char *namespace, int domain, int type, int protocol);
/* Return a TCP socket that does not block. */
int tcp_socket_in(const char *namespace);

/* --- kernel.c: what the lab's kernel does for the program -------------------------------------------------------- */

/* What the kernel has done for a socket. */
struct served {
	int error;		/* errno of the call that ended the traffic, or 0 */
	uint64_t bytes;		/* sent or received */
	uint64_t left;		/* of a request that is not complete, bytes */
};

struct lab_tcp;

/* Called by kernel_read() for what the kernel has recorded. Endpoints are numbered in the order of the run's line. */
struct recorded {
	void (*sender)(int sender, int64_t at_ns, const struct lab_tcp *sample);
	void (*receiver)(int receiver, int64_t at_ns, uint64_t bytes);
	void (*queues)(int64_t at_ns, const char *answer, size_t length);
	void (*latency)(int sender, int64_t latency_ns);
};

/* Once, before any run. Other kernels than the lab's leave all work to the program. */
void kernel_open(const struct recorded *calls);
/* Prepare the kernel for so many sockets in a run. */
void kernel_prepare(int sockets);
/* End what the kernel does for this run. */
void kernel_forget(void);
/* Have the kernel send, or receive, on a socket from now on; return 0 where the program has to do that itself. */
int kernel_send(int fd, enum kind kind, int sender, size_t size);
int kernel_receive(int fd, enum kind kind, size_t size);
/* Return what has been sent or received so far. */
struct served kernel_count(int fd);
/* Return the socket to the program. */
struct served kernel_stop(int fd);

/* Have the kernel take samples, after_ns after each multiple of interval_ns; return 0 where the program has to. */
int kernel_sample_every(int64_t interval_ns, int64_t after_ns);
/* What to sample. A receiver without a socket (-1) has `bytes`. */
void kernel_sample_sender(int sender, int fd);
void kernel_sample_receiver(int receiver, int fd, uint64_t bytes);
void kernel_sample_queues(int netlink, const void *request, size_t length);
void kernel_drop_sender(int sender);
void kernel_drop_receiver(int receiver);
/* Read what the kernel has recorded so far. */
void kernel_read(void);

/* --- record.c: the tables that the program prints at the end --------------------------------------------------- */

/* Store a row, a struct of tables.h. */
void record(enum table table, const void *row, size_t size);
/*
 * Print the length of the record (u64, bytes) and the record: for each table that has rows its name (8 bytes), the
 * length of its rows (u64, bytes) and the rows (doubles). All are in native byte order.
 */
void record_print(void);
void record_forget(void);

/* --- sender.c, receiver.c: the endpoints ----------------------------------------------------------------------- */

/* Add an endpoint; main.c documents its format. */
void sender_add(const char *text);
void receiver_add(const char *text);
/* Open and end the endpoints that are due. Return 1 while any endpoint of this side is active. */
int senders_step(int64_t now);
int receivers_step(int64_t now);
/* End the receiver of a flow whose sender never got a connection. */
void receiver_unconnected(int flow);
/* Record a row for each flow that runs. The time is an argument because each clock read costs a system call. */
void senders_sample(int64_t now);
void receivers_sample(int64_t now);
/* Record what the kernel has sampled or measured; struct recorded. */
void sender_sampled(int sender, int64_t at_ns, const struct lab_tcp *sample);
void sender_latency(int sender, int64_t latency_ns);
void receiver_sampled(int receiver, int64_t at_ns, uint64_t bytes);
/* Record the latencies. */
void senders_report(void);
/* Forget the endpoints of a run that is over; main.c closes their descriptors. */
void senders_forget(void);
void receivers_forget(void);

/* --- queue.c: the queues of ports ------------------------------------------------------------------------------ */

/* Add the ports; main.c documents their format. */
void queues_add(const char *text);
/* Record a row for each port. */
void queues_sample(int64_t now);
/* Record a row for each port from the kernel's answers, of which this is one; struct recorded. */
void queues_sampled(int64_t at_ns, const char *answer, size_t length);
/* Record what each port has dropped and marked. */
void queues_report(void);
void queues_forget(void);

#endif
