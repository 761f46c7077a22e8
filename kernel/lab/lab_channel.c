// SPDX-License-Identifier: GPL-2.0
/*
 * The lab's end of the channel to its host: one Unix stream socket, which
 * user-mode Linux inherits as a file descriptor of its own process.
 *
 * A read from that descriptor blocks the process that is the lab, and with it
 * virtual time: the guest does not age while the host thinks. Frames and their
 * kinds are in ndm_schema.h.
 *
 * Two users share the channel:
 *
 *	agent		/dev/lab_gate:
 *			read	the next COMMAND as u32 length, then so many
 *				bytes. A large one may be read in pieces; no
 *				read crosses into the next frame. Blocks the
 *				lab until the host sends.
 *			write	one REPLY: the whole buffer is its payload.
 *			poll	POLLPRI from an ACTION with stop = 1 until the
 *				next COMMAND has arrived.
 *	tcp_ndm_gym	exchange(): one OBSERVATION out, one ACTION in. Only
 *			between a COMMAND and its stop; else cwnd is held.
 *			A snapshot's decision is not asked for: it holds cwnd.
 *			After a PLAY in front of the COMMAND nothing is asked:
 *			the rollout (lab_rollout.h) decides, ends the run,
 *			and one RECORD goes out in front of the REPLY.
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
MODULE_PARM_DESC(fd, "file descriptor of the host that carries the channel (default 3)");

/* Whole frames only: held while one is written, or written and answered. */
static DEFINE_SPINLOCK(channel_lock);
static bool host_gone;

/* Observations are sent: after a COMMAND, until its stop or the next COMMAND. */
static bool asking;
static bool stopped;
static DECLARE_WAIT_QUEUE_HEAD(stop_wait);

/* The COMMAND being read: u32 length and payload, command_size bytes in all. */
static DEFINE_MUTEX(command_mutex);
static u8 *command;
static size_t command_size;
static size_t command_taken;

static void power_off(struct work_struct *work)
{
	kernel_power_off();
}

static DECLARE_WORK(power_off_work, power_off);

/* From any context; power-off sleeps, so it is left to a worker. */
static int end_of_host(const char *why)
{
	if (!READ_ONCE(host_gone)) {
		WRITE_ONCE(host_gone, true);
		pr_emerg("the host is gone (%s): powering off\n", why);
		schedule_work(&power_off_work);
	}
	return -EPIPE;
}

static int channel_write(const void *buffer, size_t size)
{
	int n;

	while (size) {
		n = os_write_file(fd, buffer, min_t(size_t, size, INT_MAX));
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return end_of_host("write failed");
		buffer += n;
		size -= n;
	}
	return 0;
}

/* @buffer must have been touched: the host cannot fault in a fresh vmalloc. */
static int channel_read(void *buffer, size_t size)
{
	int n;

	while (size) {
		n = os_read_file(fd, buffer, min_t(size_t, size, INT_MAX));
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return end_of_host(n ? "read failed" : "end of file");
		buffer += n;
		size -= n;
	}
	return 0;
}

/* Caller holds channel_lock. */
static void stop_run(void)
{
	asking = false;
	WRITE_ONCE(stopped, true);
	wake_up_interruptible_poll(&stop_wait, EPOLLPRI);
}

static bool exchange(enum ndm_gym_model model,
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

	spin_lock_bh(&channel_lock);
	if (!asking || host_gone)
		goto out;
	if (lab_rollout_runs()) {
		if (!lab_rollout_decide(model, observation, action))
			stop_run();
		decided = true;
		goto out;
	}
	if (model != NDM_GYM_POLICY)
		goto out;
	if (channel_write(&question, sizeof(question)) ||
	    channel_read(&answer, sizeof(answer)))
		goto out;
	if (answer.header.kind != NDM_FRAME_ACTION ||
	    answer.header.length != sizeof(answer.payload)) {
		end_of_host("an observation was answered by something else than an action");
		goto out;
	}
	if (answer.payload.stop) {
		stop_run();
		goto out;
	}
	*action = answer.payload;
	decided = true;
out:
	spin_unlock_bh(&channel_lock);
	return decided;
}

static const struct ndm_gym_host gate_host = {
	.decide = exchange,
};

static void set_asking(bool value)
{
	spin_lock_bh(&channel_lock);
	asking = value;
	if (value)
		WRITE_ONCE(stopped, false);
	spin_unlock_bh(&channel_lock);
}

static int receive_play(size_t size)
{
	const char *problem;
	u8 *frame;
	int error;

	frame = kvzalloc(max_t(size_t, size, 1), GFP_KERNEL);
	if (!frame)
		return end_of_host("no memory for what is to be played");
	error = channel_read(frame, size);
	if (!error) {
		problem = lab_rollout_begin(frame, size);
		if (problem)
			error = end_of_host(problem);
	}
	kvfree(frame);
	return error;
}

static int receive_command(void)
{
	struct ndm_frame_header header = {};
	u8 *frame;
	int error;

	/* The rest of this frame must not be read as an ACTION. */
	set_asking(false);
	error = channel_read(&header, sizeof(header));
	if (!error && header.kind == NDM_FRAME_PLAY &&
	    header.length <= NDM_FRAME_MAX) {
		error = receive_play(header.length);
		if (!error)
			error = channel_read(&header, sizeof(header));
	}
	if (error)
		return error;
	if (header.kind != NDM_FRAME_COMMAND || header.length > NDM_FRAME_MAX)
		return end_of_host("a command was expected");

	frame = kvmalloc(sizeof(u32) + header.length, GFP_KERNEL);
	if (!frame)
		return end_of_host("no memory for a command");
	memset(frame, 0, sizeof(u32) + header.length);
	memcpy(frame, &header.length, sizeof(u32));
	error = channel_read(frame + sizeof(u32), header.length);
	if (error) {
		kvfree(frame);
		return error;
	}

	kvfree(command);
	command = frame;
	command_size = sizeof(u32) + header.length;
	command_taken = 0;
	set_asking(true);
	return 0;
}

static ssize_t gate_read(struct file *file, char __user *to, size_t size,
			 loff_t *offset)
{
	ssize_t n;

	if (!size)
		return 0;
	n = mutex_lock_interruptible(&command_mutex);
	if (n)
		return n;
	if (command_taken == command_size) {
		n = receive_command();
		if (n)
			goto out;
	}
	n = min(size, command_size - command_taken);
	if (copy_to_user(to, command + command_taken, n))
		n = -EFAULT;
	else
		command_taken += n;
out:
	mutex_unlock(&command_mutex);
	/* The agent does not outlive the host by a single instruction. */
	if (READ_ONCE(host_gone))
		flush_work(&power_off_work);
	return n;
}

/* What the rollout has recorded goes in front of the REPLY. */
static int send_record(void)
{
	struct ndm_frame_header header = { .kind = NDM_FRAME_RECORD };
	const void *record;
	size_t size;
	int error;

	if (!lab_rollout_runs())
		return 0;
	asking = false;
	record = lab_rollout_steps(&size);
	header.length = size;
	error = channel_write(&header, sizeof(header));
	if (!error)
		error = channel_write(record, size);
	return error;
}

static ssize_t gate_write(struct file *file, const char __user *from,
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
	spin_lock_bh(&channel_lock);
	error = send_record();
	if (!error)
		error = channel_write(frame, sizeof(*frame) + size);
	spin_unlock_bh(&channel_lock);
	lab_rollout_end();
	kvfree(frame);
	if (READ_ONCE(host_gone))
		flush_work(&power_off_work);
	return error ? error : size;
}

static __poll_t gate_poll(struct file *file, struct poll_table_struct *wait)
{
	poll_wait(file, &stop_wait, wait);
	return EPOLLOUT | EPOLLWRNORM | (READ_ONCE(stopped) ? EPOLLPRI : 0);
}

static const struct file_operations gate_operations = {
	.owner = THIS_MODULE,
	.read = gate_read,
	.write = gate_write,
	.poll = gate_poll,
};

static struct miscdevice gate_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "lab_gate",
	.fops = &gate_operations,
	.mode = 0600,
};

static int __init lab_gate_init(void)
{
	int error;

	/* A blocking read is what stops virtual time. */
	error = os_set_fd_block(fd, 1);
	if (error) {
		pr_err("file descriptor %d of the host cannot be used (error %d): start the lab with the channel there, or pass fd=\n",
		       fd, error);
		return error;
	}
	error = misc_register(&gate_device);
	if (error)
		return error;
	error = ndm_gym_set_host(&gate_host);
	if (error)
		misc_deregister(&gate_device);
	return error;
}

static void __exit lab_gate_exit(void)
{
	ndm_gym_set_host(NULL);
	misc_deregister(&gate_device);
	kvfree(command);
	lab_rollout_end();
}

module_init(lab_gate_init);
module_exit(lab_gate_exit);

MODULE_DESCRIPTION("Channel between a user-mode Linux lab and its host");
MODULE_LICENSE("GPL");
