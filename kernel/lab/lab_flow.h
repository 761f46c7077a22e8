/* SPDX-License-Identifier: GPL-2.0 */
/* Threads that send and receive for the traffic program. */
#ifndef LAB_FLOW_H
#define LAB_FLOW_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "lab_record.h"

/* The sockets of one open /dev/lab_traffic, and where their latencies go. */
struct lab_flows {
	struct list_head list;
	struct mutex *mutex;	/* held during each request and sample */
	struct lab_records *records;
};

/*
 * Callers hold the mutex for all of these. The requests are those of
 * lab_traffic.h; the files are those of the descriptors in them. They return 0
 * or a negative errno.
 */
int lab_flow_prepare(unsigned int sockets);
int lab_flow_serve(struct lab_flows *flows, struct file *file,
		   const struct lab_serve *serve);
int lab_flow_count(struct lab_flows *flows, struct file *file,
		   struct lab_count *count);
int lab_flow_stop(struct lab_flows *flows, struct file *file,
		  struct lab_count *count);

/*
 * Return how many bytes a TCP socket has received. One that we receive from is read
 * first, like by lab_flow_count(); others count what they have not read.
 */
u64 lab_flow_arrived(struct lab_flows *flows, struct file *file);

/* Serve none of these sockets any longer. */
void lab_flow_stop_all(struct lab_flows *flows);

/* End all threads; no socket may be served. */
void lab_flow_exit(void);

#endif /* LAB_FLOW_H */
