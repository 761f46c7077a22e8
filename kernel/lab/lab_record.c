// SPDX-License-Identifier: GPL-2.0
/* Keeps records until the traffic program reads them, many with one system call. */
#include <linux/align.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lab_record.h"

void lab_records_init(struct lab_records *records)
{
	mutex_init(&records->mutex);
	init_waitqueue_head(&records->wait);
}

void lab_records_free(struct lab_records *records)
{
	kvfree(records->data);
}

static void lab_record_append(struct lab_records *records,
			      const struct lab_record *record, const void *data)
{
	size_t size = sizeof(*record) + ALIGN(record->length, 8);

	if (!records->data)
		records->data = kvmalloc(LAB_RECORDS, GFP_KERNEL);
	if (!records->data || size > LAB_RECORDS - records->used) {
		records->error = records->data ? -ENOBUFS : -ENOMEM;
		return;
	}
	memcpy(records->data + records->used, record, sizeof(*record));
	memcpy(records->data + records->used + sizeof(*record), data,
	       record->length);
	records->used += size;
}

static bool lab_records_are_due(const struct lab_records *records)
{
	return records->error || records->used > LAB_RECORDS / 8;
}

void lab_record(struct lab_records *records, enum lab_type type, u32 id,
		u64 value, const void *data, u32 length)
{
	const struct lab_record record = {
		.type = type, .id = id, .value = value, .length = length,
	};

	mutex_lock(&records->mutex);
	lab_record_append(records, &record, data);
	if (lab_records_are_due(records))
		wake_up_poll(&records->wait, EPOLLIN);
	mutex_unlock(&records->mutex);
}

void lab_records_drop(struct lab_records *records)
{
	mutex_lock(&records->mutex);
	records->used = 0;
	records->error = 0;
	mutex_unlock(&records->mutex);
}

ssize_t lab_records_read(struct lab_records *records, char __user *to,
			 size_t room)
{
	ssize_t n;

	mutex_lock(&records->mutex);
	n = records->error;
	if (!n && records->used > room)
		n = -EINVAL;
	if (!n && copy_to_user(to, records->data, records->used))
		n = -EFAULT;
	if (!n) {
		n = records->used;
		records->used = 0;
	}
	mutex_unlock(&records->mutex);
	return n;
}

__poll_t lab_records_poll(struct lab_records *records, struct file *device,
			  poll_table *table)
{
	poll_wait(device, &records->wait, table);
	return lab_records_are_due(records) ? EPOLLIN : 0;
}
