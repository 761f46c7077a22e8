// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/lab_traffic: the kernel sends, receives and samples for the traffic
 * program, because in user-mode Linux each system call costs more than a packet.
 *
 *	lab_flow.c	serves sockets
 *	lab_sample.c	samples them, and queues
 *	lab_record.c	keeps samples and latencies until the program reads them
 *
 * lab_traffic.h documents the requests.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "lab_flow.h"
#include "lab_record.h"
#include "lab_sample.h"
#include "lab_traffic.h"

/* Held while a request is carried out or a sample is taken. */
static DEFINE_MUTEX(lab_traffic_mutex);

struct lab_traffic {
	struct lab_records records;
	struct lab_flows flows;
	struct lab_samples samples;
};

/* The argument of a request, of the size in its number. */
union lab_traffic_argument {
	s32 fd;				/* of the requests for a socket */
	struct lab_serve serve;
	struct lab_count count;
	struct lab_source source;
	struct lab_ticks ticks;
};

static int lab_traffic_of_socket(struct lab_flows *flows, unsigned int request,
				 union lab_traffic_argument *argument)
{
	struct file *file = fget(argument->fd);
	int error;

	if (!file)
		return -EBADF;
	if (request == LAB_SERVE)
		error = lab_flow_serve(flows, file, &argument->serve);
	else if (request == LAB_COUNT)
		error = lab_flow_count(flows, file, &argument->count);
	else
		error = lab_flow_stop(flows, file, &argument->count);
	fput(file);
	return error;
}

static void lab_traffic_forget(struct lab_traffic *traffic)
{
	lab_samples_end(&traffic->samples);
	mutex_lock(&lab_traffic_mutex);
	lab_samples_drop_all(&traffic->samples);
	lab_flow_stop_all(&traffic->flows);
	lab_records_drop(&traffic->records);
	mutex_unlock(&lab_traffic_mutex);
}

static int lab_traffic_request(struct lab_traffic *traffic, unsigned int request,
			       union lab_traffic_argument *argument)
{
	switch (request) {
	case LAB_SERVE:
	case LAB_COUNT:
	case LAB_STOP:
		return lab_traffic_of_socket(&traffic->flows, request, argument);
	case LAB_ADD_SOURCE:
		return lab_samples_add(&traffic->samples, &argument->source);
	case LAB_DROP_SOURCE:
		return lab_samples_drop(&traffic->samples, &argument->source);
	case LAB_TICK:
		return lab_samples_tick(&traffic->samples, &argument->ticks);
	}
	return -ENOTTY;
}

static long lab_traffic_ioctl(struct file *device, unsigned int request,
			      unsigned long address)
{
	size_t size = min(_IOC_SIZE(request), sizeof(union lab_traffic_argument));
	void __user *user = (void __user *)address;
	union lab_traffic_argument argument = {};
	int error;

	if (request == LAB_FORGET) {
		lab_traffic_forget(device->private_data);
		return 0;
	}
	if (request != LAB_PREPARE && copy_from_user(&argument, user, size))
		return -EFAULT;
	mutex_lock(&lab_traffic_mutex);
	if (request == LAB_PREPARE)
		error = lab_flow_prepare(address);
	else
		error = lab_traffic_request(device->private_data, request,
					    &argument);
	mutex_unlock(&lab_traffic_mutex);
	if (!error && _IOC_DIR(request) & _IOC_READ &&
	    copy_to_user(user, &argument, size))
		error = -EFAULT;
	return error;
}

static ssize_t lab_traffic_read(struct file *device, char __user *to,
				size_t room, loff_t *position)
{
	struct lab_traffic *traffic = device->private_data;

	return lab_records_read(&traffic->records, to, room);
}

static __poll_t lab_traffic_poll(struct file *device, poll_table *table)
{
	struct lab_traffic *traffic = device->private_data;

	return lab_records_poll(&traffic->records, device, table);
}

static int lab_traffic_open(struct inode *inode, struct file *device)
{
	struct lab_traffic *traffic = kzalloc(sizeof(*traffic), GFP_KERNEL);

	if (!traffic)
		return -ENOMEM;
	lab_records_init(&traffic->records);
	INIT_LIST_HEAD(&traffic->flows.list);
	traffic->flows.records = &traffic->records;
	traffic->flows.mutex = &lab_traffic_mutex;
	lab_samples_open(&traffic->samples, &traffic->flows);
	device->private_data = traffic;
	return 0;
}

static int lab_traffic_release(struct inode *inode, struct file *device)
{
	struct lab_traffic *traffic = device->private_data;

	lab_traffic_forget(traffic);
	lab_records_free(&traffic->records);
	kfree(traffic);
	return 0;
}

static const struct file_operations lab_traffic_operations = {
	.owner = THIS_MODULE,
	.open = lab_traffic_open,
	.release = lab_traffic_release,
	.unlocked_ioctl = lab_traffic_ioctl,
	.read = lab_traffic_read,
	.poll = lab_traffic_poll,
};

static struct miscdevice lab_traffic_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "lab_traffic",
	.fops = &lab_traffic_operations,
	.mode = 0600,
};

static int __init lab_traffic_init(void)
{
	return misc_register(&lab_traffic_device);
}

static void __exit lab_traffic_exit(void)
{
	misc_deregister(&lab_traffic_device);
	lab_flow_exit();
}

module_init(lab_traffic_init);
module_exit(lab_traffic_exit);

MODULE_DESCRIPTION("Traffic and samples of a user-mode Linux lab, without system calls");
MODULE_LICENSE("GPL");
