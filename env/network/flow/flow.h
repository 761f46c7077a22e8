/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the traffic program share: kinds of traffic, the run's clock, the event loop, the record. */
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

/* --- main.c: what runs are asked for ------------------------------------------------------------------------- */

/* End the program with what failed and errno's text. */
void die(const char *what) __attribute__((noreturn));
/* End the program: the text is no endpoint. */
void bad(const char *text) __attribute__((noreturn));
enum kind parse_kind(const char *name);

/* 1: a flow ends with a reset, and the ports are free at once. 0: what it has sent is delivered first. */
extern int ends_with_reset;

/* --- loop.c: clock and events ---------------------------------------------------------------------------------- */

/* Something that waits for a descriptor. */
struct watcher {
	void (*ready)(struct watcher *watcher, uint32_t events);
};

void loop_start(int64_t origin_ns);
/* Nanoseconds since the run's origin. */
int64_t now_ns(void);
void watch(int fd, uint32_t events, struct watcher *watcher);
/* Have loop_run() call its step at a time of the run's clock; at once when that is over. */
void wake_at(int64_t at_ns);
/* Have it call its step after the events that are being handled. */
void wake(void);
/* A timer that timer_set() sets, once or again and again. */
int timer_add(struct watcher *watcher);
void timer_set(int timer, int64_t at_ns);
/* A timer that expires so long after every so often; its watcher has to read() it, or it does not expire again. */
int watch_every(int64_t interval_ns, int64_t after_ns, struct watcher *watcher);
/* Handle events, and call step() when the clock asks for it, until step() returns 0, or loop_end() was called. */
void loop_run(int (*step)(void));
void loop_end(void);

/* --- place.c: network namespaces ------------------------------------------------------------------------------- */

/* A socket in a network namespace: a path as /proc/PID/ns/net, or "-" for our own. */
int socket_in(const char *namespace, int domain, int type, int protocol);
/* A TCP socket that does not block. */
int tcp_socket_in(const char *namespace);

/* --- record.c: what is printed at the end ---------------------------------------------------------------------- */

enum table { SENDER, RECEIVER, SENT, RECEIVED, LATENCY, BUCKETS, QUEUE, PORTS, TABLES };

/* Keep a row of doubles. The columns stand where the rows are made and in traffic.py. */
void record(enum table table, const double *row, size_t columns);
/*
 * Print u64 length, and in so many bytes every table that has rows: its name in 8 bytes, u64 length, so many bytes of
 * doubles. All in native order.
 */
void record_print(void);
void record_forget(void);

/* --- sender.c, receiver.c: the endpoints ----------------------------------------------------------------------- */

/* Take an endpoint; its format is in main.c. */
void sender_add(const char *text);
void receiver_add(const char *text);
/* Open and end what the clock asks for; 1 while any endpoint of the side goes on. */
int senders_step(void);
int receivers_step(void);
void receiver_unconnected(int flow);
/* Record a row for each flow that runs. Every look at the clock costs the lab a system call: one for all. */
void senders_sample(int64_t now);
void receivers_sample(int64_t now);
/* Record the latencies. */
void senders_report(void);
/* The run is over: what it has opened is closed elsewhere. */
void senders_forget(void);
void receivers_forget(void);

/* --- queue.c: the queues of ports ------------------------------------------------------------------------------- */

/* Take the ports; their format is in main.c. */
void queues_add(const char *text);
/* Record a row for each port. */
void queues_sample(int64_t now);
/* Record what each port has dropped and marked. */
void queues_report(void);
void queues_forget(void);

#endif
