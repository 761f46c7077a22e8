// SPDX-License-Identifier: GPL-2.0
/*
 * The lab's end of the channel to its host: a Unix stream socket that the process
 * of user-mode Linux inherits as a file descriptor.
 *
 * A read from that descriptor blocks this process and with it virtual time: the
 * guest's clock stands still while the host computes. ndm_schema.h defines the
 * frames.
 *
 * Two users share the channel:
 *
 *	agent		/dev/lab_gate:
 *			read	the next COMMAND: u32 length, then the payload.
 *				It may be read in pieces; no read crosses into
 *				the next frame. Blocks the lab until the host
 *				sends.
 *			write	one REPLY: the whole buffer is its payload.
 *			poll	POLLPRI from an ACTION with stop = 1 until the
 *				next COMMAND has arrived.
 *	tcp_ndm_gym	lab_decide(): sends an OBSERVATION, receives an ACTION,
 *			between a COMMAND and its stop. At other times the
 *			policy holds cwnd; a snapshot always does. After a
 *			PLAN before the COMMAND the rollout (lab_rollout.h)
 *			decides instead of the host and ends the run; a RECORD
 *			is sent before the REPLY.
 *
 * When the host disconnects or breaks the framing, the lab powers off, because
 * it cannot report an error.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <os.h>

#include "lab_rollout.h"
#include "ndm_gym.h"

static int fd = 3;
module_param(fd, int, 0444);
MODULE_PARM_DESC(fd, "the host process's file descriptor of the channel (default 3)");

/* Held for a whole frame, or for an OBSERVATION and its ACTION. */
static DEFINE_SPINLOCK(lab_channel_lock);
static bool lab_failed;

/* Observations are sent: from a COMMAND to its stop or the next COMMAND. */
static bool lab_observing;
static bool lab_stopped;
static DECLARE_WAIT_QUEUE_HEAD(lab_stop_wait);

/* The COMMAND being read: u32 length and payload, lab_command_size bytes in all. */
static DEFINE_MUTEX(lab_command_mutex);
static u8 *lab_command;
static size_t lab_command_size;
static size_t lab_command_read;

static void lab_power_off(struct work_struct *work)
{
	kernel_power_off();
}

static DECLARE_WORK(lab_power_off_work, lab_power_off);

/* Called in any context; a worker powers off, as that sleeps. */
static int lab_fail(const char *why)
{
	if (!READ_ONCE(lab_failed)) {
		WRITE_ONCE(lab_failed, true);
		pr_emerg("the channel failed (%s): powering off\n", why);
		schedule_work(&lab_power_off_work);
	}
	return -EPIPE;
}

static int lab_channel_write(const void *buffer, size_t size)
{
	int n;

	while (size) {
		n = os_write_file(fd, buffer, min_t(size_t, size, INT_MAX));
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return lab_fail("write failed");
		buffer += n;
		size -= n;
	}
	return 0;
}

/* @buffer must have been written before: the host cannot fault in a fresh vmalloc. */
static int lab_channel_read(void *buffer, size_t size)
{
	int n;

	while (size) {
		n = os_read_file(fd, buffer, min_t(size_t, size, INT_MAX));
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return lab_fail(n ? "read failed" : "the host closed it");
		buffer += n;
		size -= n;
	}
	return 0;
}

/* The caller holds lab_channel_lock. */
static void lab_stop_run(void)
{
	lab_observing = false;
	WRITE_ONCE(lab_stopped, true);
	wake_up_interruptible_poll(&lab_stop_wait, EPOLLPRI);
}

static bool lab_decide(enum ndm_gym_model model,
		       const struct ndm_wire_observation *observation,
		       struct ndm_wire_action *action)
{
	struct {
		struct ndm_frame_header header;
		struct ndm_wire_observation payload;
	} question = {
		.header = {
			.length = sizeof(*observation),
			.kind = NDM_FRAME_OBSERVATION,
		},
		.payload = *observation,
	};
	struct {
		struct ndm_frame_header header;
		struct ndm_wire_action payload;
	} answer = {};
	bool decided = false;

	BUILD_BUG_ON(sizeof(question) != sizeof(struct ndm_frame_header) +
		     NDM_WIRE_OBSERVATION_SIZE);
	BUILD_BUG_ON(sizeof(answer) != sizeof(struct ndm_frame_header) +
		     NDM_WIRE_ACTION_SIZE);

	spin_lock_bh(&lab_channel_lock);
	if (!lab_observing || lab_failed)
		goto out;
	if (lab_rollout_runs()) {
		if (!lab_rollout_decide(model, observation, action))
			lab_stop_run();
		decided = true;
		goto out;
	}
	if (model != NDM_GYM_POLICY)
		goto out;
	if (lab_channel_write(&question, sizeof(question)) ||
	    lab_channel_read(&answer, sizeof(answer)))
		goto out;
	if (answer.header.kind != NDM_FRAME_ACTION ||
	    answer.header.length != sizeof(answer.payload)) {
		lab_fail("the host did not answer an OBSERVATION with an ACTION");
		goto out;
	}
	if (answer.payload.stop) {
		lab_stop_run();
		goto out;
	}
	*action = answer.payload;
	decided = true;
out:
	spin_unlock_bh(&lab_channel_lock);
	return decided;
}

static const struct ndm_gym_host lab_gate_host = {
	.decide = lab_decide,
};

static void lab_set_observing(bool observing)
{
	spin_lock_bh(&lab_channel_lock);
	lab_observing = observing;
	if (observing)
		WRITE_ONCE(lab_stopped, false);
	spin_unlock_bh(&lab_channel_lock);
}

static int lab_receive_play(size_t size)
{
	const char *problem;
	u8 *frame;
	int error;

	frame = kvzalloc(max_t(size_t, size, 1), GFP_KERNEL);
	if (!frame)
		return lab_fail("no memory for a PLAN frame");
	error = lab_channel_read(frame, size);
	if (!error) {
		problem = lab_rollout_begin(frame, size);
		if (problem)
			error = lab_fail(problem);
	}
	kvfree(frame);
	return error;
}

static int lab_receive_command(void)
{
	struct ndm_frame_header header = {};
	u8 *frame;
	int error;

	/* The rest of this frame must not be read as an ACTION. */
	lab_set_observing(false);
	error = lab_channel_read(&header, sizeof(header));
	if (!error && header.kind == NDM_FRAME_PLAN &&
	    header.length <= NDM_FRAME_MAX) {
		error = lab_receive_play(header.length);
		if (!error)
			error = lab_channel_read(&header, sizeof(header));
	}
	if (error)
		return error;
	if (header.kind != NDM_FRAME_COMMAND || header.length > NDM_FRAME_MAX)
		return lab_fail("the host sent no COMMAND, or one that is too long");

	frame = kvmalloc(sizeof(u32) + header.length, GFP_KERNEL);
	if (!frame)
		return lab_fail("no memory for a COMMAND");
	memset(frame, 0, sizeof(u32) + header.length);
	memcpy(frame, &header.length, sizeof(u32));
	error = lab_channel_read(frame + sizeof(u32), header.length);
	if (error) {
		kvfree(frame);
		return error;
	}

	kvfree(lab_command);
	lab_command = frame;
	lab_command_size = sizeof(u32) + header.length;
	lab_command_read = 0;
	lab_set_observing(true);
	return 0;
}

/* Once: a program of a user cannot speak in the agent's place, nor after it. */
static int lab_gate_open(struct inode *inode, struct file *file)
{
	static atomic_t opened = ATOMIC_INIT(0);

	return atomic_xchg(&opened, 1) ? -EBUSY : 0;
}

static ssize_t lab_gate_read(struct file *file, char __user *to, size_t size,
			     loff_t *offset)
{
	ssize_t n;

	if (!size)
		return 0;
	n = mutex_lock_interruptible(&lab_command_mutex);
	if (n)
		return n;
	if (lab_command_read == lab_command_size) {
		n = lab_receive_command();
		if (n)
			goto out;
	}
	n = min(size, lab_command_size - lab_command_read);
	if (copy_to_user(to, lab_command + lab_command_read, n))
		n = -EFAULT;
	else
		lab_command_read += n;
out:
	mutex_unlock(&lab_command_mutex);
	/* The agent must not run on without its host. */
	if (READ_ONCE(lab_failed))
		flush_work(&lab_power_off_work);
	return n;
}

/* Sends the rollout's RECORD before the REPLY. */
static int lab_send_record(void)
{
	struct ndm_frame_header header = { .kind = NDM_FRAME_RECORD };
	const void *record;
	size_t size;
	int error;

	if (!lab_rollout_runs())
		return 0;
	lab_observing = false;
	record = lab_rollout_steps(&size);
	header.length = size;
	error = lab_channel_write(&header, sizeof(header));
	if (!error)
		error = lab_channel_write(record, size);
	return error;
}

static ssize_t lab_gate_write(struct file *file, const char __user *from,
			      size_t size, loff_t *offset)
{
	struct ndm_frame_header *frame;
	int error;

	if (size > NDM_FRAME_MAX)
		return -EMSGSIZE;
	frame = kvmalloc(sizeof(*frame) + size, GFP_KERNEL);
	if (!frame)
		return -ENOMEM;
	*frame = (struct ndm_frame_header) {
		.length = size,
		.kind = NDM_FRAME_REPLY,
	};
	if (copy_from_user(frame + 1, from, size)) {
		kvfree(frame);
		return -EFAULT;
	}
	spin_lock_bh(&lab_channel_lock);
	error = lab_send_record();
	if (!error)
		error = lab_channel_write(frame, sizeof(*frame) + size);
	spin_unlock_bh(&lab_channel_lock);
	lab_rollout_end();
	kvfree(frame);
	if (READ_ONCE(lab_failed))
		flush_work(&lab_power_off_work);
	return error ? error : size;
}

static __poll_t lab_gate_poll(struct file *file, struct poll_table_struct *wait)
{
	poll_wait(file, &lab_stop_wait, wait);
	return EPOLLOUT | EPOLLWRNORM | (READ_ONCE(lab_stopped) ? EPOLLPRI : 0);
}

static const struct file_operations lab_gate_operations = {
	.owner = THIS_MODULE,
	.open = lab_gate_open,
	.read = lab_gate_read,
	.write = lab_gate_write,
	.poll = lab_gate_poll,
};

static struct miscdevice lab_gate_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "lab_gate",
	.fops = &lab_gate_operations,
	.mode = 0600,
};

static int __init lab_gate_init(void)
{
	int error;

	/* A blocking read stops virtual time. */
	error = os_set_fd_block(fd, 1);
	if (error) {
		pr_err("fd=%d is unusable (error %d): give the file descriptor of the channel's socket\n",
		       fd, error);
		return error;
	}
	error = misc_register(&lab_gate_device);
	if (error)
		return error;
	error = ndm_gym_set_host(&lab_gate_host);
	if (error)
		misc_deregister(&lab_gate_device);
	return error;
}

static void __exit lab_gate_exit(void)
{
	ndm_gym_set_host(NULL);
	misc_deregister(&lab_gate_device);
	kvfree(lab_command);
	lab_rollout_end();
}

module_init(lab_gate_init);
module_exit(lab_gate_exit);

MODULE_DESCRIPTION("Channel between a user-mode Linux lab and its host");
MODULE_LICENSE("GPL");
