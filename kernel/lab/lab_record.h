/* SPDX-License-Identifier: GPL-2.0 */
/* The records of one open /dev/lab_traffic, until the program reads them. */
#ifndef LAB_RECORD_H
#define LAB_RECORD_H

#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "lab_traffic.h"

struct lab_records {
	struct mutex mutex;	/* of the members below */
	wait_queue_head_t wait;
	void *data;		/* LAB_RECORDS bytes; NULL before the first record */
	size_t used;
	int error;		/* a record is missing */
};

void lab_records_init(struct lab_records *records);
void lab_records_free(struct lab_records *records);

/**
 * lab_record - append a record
 * @records: where to
 * @type: what it is
 * @id: of the source or flow
 * @value: as in struct lab_record
 * @data: what follows, or NULL
 * @length: of @data, in bytes
 *
 * Context: may sleep. A record without room is an error, which the next read
 * returns.
 */
void lab_record(struct lab_records *records, enum lab_type type, u32 id,
		u64 value, const void *data, u32 length);

/* Drop what has not been read, and any error. */
void lab_records_drop(struct lab_records *records);

/* For read() and poll(). A read without records returns 0. */
ssize_t lab_records_read(struct lab_records *records, char __user *to,
			 size_t room);
__poll_t lab_records_poll(struct lab_records *records, struct file *device,
			  poll_table *table);

#endif /* LAB_RECORD_H */
