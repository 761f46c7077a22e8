// SPDX-License-Identifier: GPL-2.0
/* Hands sockets and samples to the lab's kernel (kernel/lab/lab_traffic.c): in a lab a system call costs more than a packet. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "flow.h"
#include "lab_traffic.h"

#define DEVICE "/dev/lab_traffic"

static int device;
static int takes_samples;
static const struct recorded *recorded;

static void kernel_request(unsigned long request, const void *argument)
{
	if (ioctl(device, request, argument))
		die(DEVICE);
}

static void kernel_ready(struct watcher *watcher, uint32_t events)
{
	(void)watcher;
	(void)events;
	kernel_read();
}

void kernel_open(const struct recorded *calls)
{
	static struct watcher reader = { kernel_ready };

	recorded = calls;
	device = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (device >= 0)
		watch(device, EPOLLIN, &reader);
	else if (errno != ENOENT)
		die(DEVICE);
}

void kernel_prepare(int sockets)
{
	static int prepared;

	takes_samples = 0;
	if (device < 0 || sockets <= prepared)
		return;
	if (ioctl(device, LAB_PREPARE, sockets))
		die(DEVICE);
	prepared = sockets;
}

void kernel_forget(void)
{
	if (device >= 0 && ioctl(device, LAB_FORGET))
		die(DEVICE);
}

/* --- sockets --------------------------------------------------------------------------------------------------- */

static int kernel_serve(int fd, enum lab_role role, int id, size_t size)
{
	if (device >= 0)
		kernel_request(LAB_SERVE, &(struct lab_serve){ .fd = fd, .role = role, .id = id, .size = size });
	return device >= 0;
}

int kernel_send(int fd, enum kind kind, int sender, size_t size)
{
	static const enum lab_role roles[] = {
		[BULK] = LAB_SEND_BULK, [STREAM] = LAB_SEND_STREAM, [REQUEST] = LAB_SEND_REQUESTS,
	};

	return kind != WEB && kernel_serve(fd, roles[kind], sender, size);
}

int kernel_receive(int fd, enum kind kind, size_t size)
{
	return kind != WEB && kernel_serve(fd, kind == REQUEST ? LAB_REPLY : LAB_RECEIVE, 0, size);
}

static struct served kernel_served(unsigned long request, int fd)
{
	struct lab_count count = { .fd = fd };

	kernel_request(request, &count);
	return (struct served){ count.error, count.bytes, count.left };
}

struct served kernel_count(int fd)
{
	return kernel_served(LAB_COUNT, fd);
}

struct served kernel_stop(int fd)
{
	return kernel_served(LAB_STOP, fd);
}

/* --- samples --------------------------------------------------------------------------------------------------- */

/* The record of a source or flow, and what follows it. */
static void kernel_record(const struct lab_record *record, const void *data)
{
	int64_t at_ns = run_ns(record->value);
	uint64_t bytes;

	switch (record->type) {
	case LAB_TCP:
		recorded->sender(record->id, at_ns, data);
		break;
	case LAB_BYTES:
		memcpy(&bytes, data, sizeof(bytes));
		recorded->receiver(record->id, at_ns, bytes);
		break;
	case LAB_NETLINK:
		recorded->queues(at_ns, data, record->length);
		break;
	case LAB_LATENCY:
		recorded->latency(record->id, record->value);
		break;
	}
}

void kernel_read(void)
{
	static char records[LAB_RECORDS] __attribute__((aligned(8)));
	ssize_t length = device < 0 ? 0 : read(device, records, sizeof(records));

	if (length < 0)
		die(DEVICE);
	for (const char *at = records; at < records + length;) {
		const struct lab_record *record = (const void *)at;

		kernel_record(record, record + 1);
		at += sizeof(*record) + (record->length + 7) / 8 * 8;
	}
}

int kernel_sample_every(int64_t interval_ns, int64_t after_ns)
{
	struct lab_ticks ticks = { clock_ns(interval_ns + after_ns), interval_ns };

	if (device < 0)
		return 0;
	kernel_request(LAB_TICK, &ticks);
	takes_samples = 1;
	return 1;
}

static void kernel_add_source(const struct lab_source *source)
{
	if (takes_samples)
		kernel_request(LAB_ADD_SOURCE, source);
}

void kernel_sample_sender(int sender, int fd)
{
	kernel_add_source(&(struct lab_source){ .type = LAB_TCP, .id = sender, .fd = fd });
}

void kernel_sample_receiver(int receiver, int fd, uint64_t bytes)
{
	kernel_add_source(&(struct lab_source){ .type = LAB_BYTES, .id = receiver, .fd = fd, .bytes = bytes });
}

void kernel_sample_queues(int netlink, const void *request, size_t length)
{
	kernel_add_source(&(struct lab_source){
		.type = LAB_NETLINK, .fd = netlink, .request = (uintptr_t)request, .length = length,
	});
}

static void kernel_drop_source(enum lab_type type, int id)
{
	if (takes_samples) {
		kernel_request(LAB_DROP_SOURCE, &(struct lab_source){ .type = type, .id = id });
		kernel_read();	/* what follows is later than its samples */
	}
}

void kernel_drop_sender(int sender)
{
	kernel_drop_source(LAB_TCP, sender);
}

void kernel_drop_receiver(int receiver)
{
	kernel_drop_source(LAB_BYTES, receiver);
}
