/* SPDX-License-Identifier: GPL-2.0 */
/* The interfaces between the files of the traffic program. No file calls main.c. */
#ifndef FLOW_H
#define FLOW_H

#include <stddef.h>
#include <stdint.h>

#define MAX_FLOWS 256
#define FIRST_PORT 5000
#define FIRST_SOURCE_PORT 40000
#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL

enum kind {
	BULK,		/* as much as the network takes */
	STREAM,		/* writes of a fixed size, back to back; latency: how long a write takes */
	REQUEST,	/* a request of a fixed size, a reply of one byte, back to back; latency: until the reply */
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

void loop_start(int64_t origin_ns);
/* Nanoseconds since the run's origin. */
int64_t now_ns(void);
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
/* Handle events and call step() at the times of wake_at() and wake(), until step() returns 0 or loop_end() is called. */
void loop_run(int (*step)(void));
void loop_end(void);

/* --- netns.c: network namespaces ------------------------------------------------------------------------------- */

/* Return a socket in a network namespace: a path such as /proc/PID/ns/net, or "-" for the program's own. */
int socket_in(const char *namespace, int domain, int type, int protocol);
/* Return a TCP socket that does not block. */
int tcp_socket_in(const char *namespace);

/* --- record.c: the tables that the program prints at the end --------------------------------------------------- */

enum table { SENDER, RECEIVER, SENT, RECEIVED, LATENCY, BUCKETS, QUEUE, PORTS, TABLES };

/* Store a row of doubles. Its columns are those of COLUMNS in env/network/traffic/run.py. */
void record(enum table table, const double *row, size_t columns);
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
int senders_step(void);
int receivers_step(void);
/* End the receiver of a flow whose sender never got a connection. */
void receiver_unconnected(int flow);
/* Record a row for each flow that runs. The time is an argument because each clock read costs a system call. */
void senders_sample(int64_t now);
void receivers_sample(int64_t now);
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
/* Record what each port has dropped and marked. */
void queues_report(void);
void queues_forget(void);

#endif
