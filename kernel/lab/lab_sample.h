/* SPDX-License-Identifier: GPL-2.0 */
/* Samples of sockets and queues at regular times. */
#ifndef LAB_SAMPLE_H
#define LAB_SAMPLE_H

#include <linux/list.h>
#include <linux/sched.h>

#include "lab_flow.h"

/* What one open /dev/lab_traffic samples. */
struct lab_samples {
	struct list_head sources[LAB_TYPES];
	unsigned int count;		/* of all sources */
	struct lab_flows *flows;	/* with the mutex, and where the records go */
	struct lab_ticks ticks;
	struct task_struct *thread;	/* NULL: no sample is taken */
};

void lab_samples_open(struct lab_samples *samples, struct lab_flows *flows);
/* Take no further samples. The mutex may not be held. */
void lab_samples_end(struct lab_samples *samples);

/*
 * The requests of lab_traffic.h, with the mutex held. They return 0 or a negative
 * errno.
 */
int lab_samples_add(struct lab_samples *samples,
		    const struct lab_source *source);
int lab_samples_drop(struct lab_samples *samples,
		     const struct lab_source *source);
int lab_samples_tick(struct lab_samples *samples,
		     const struct lab_ticks *ticks);

/* With the mutex held. */
void lab_samples_drop_all(struct lab_samples *samples);

#endif /* LAB_SAMPLE_H */
