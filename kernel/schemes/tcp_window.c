// SPDX-License-Identifier: GPL-2.0
/*
 * A constant congestion window, to measure a path with.
 *
 *	echo 16 >/sys/module/tcp_window/parameters/packets
 *
 * registers the congestion control cwnd_16. Its cwnd is always 16 packets, with any
 * loss, delay or marks, and without pacing. Any number of windows can be registered,
 * so that windows of several sizes can share a path.
 *
 * The window overrides the kernel's changes: after a time-out it is restored before
 * the first retransmission. ssthresh is the window too, so that no recovery reduces
 * it. Only snd_cwnd_clamp, set by the application or the kernel's memory limits, can
 * make it smaller.
 *
 * Use it in a lab only: it never yields to congestion.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <net/tcp.h>

#include "compat/cong_control.h"

#define WINDOW_MAX 1000000	/* packets; cwnd_1000000 has 12 characters */

/* One congestion control; window_of() finds it by icsk_ca_ops. */
struct window {
	struct tcp_congestion_ops ops;
	struct list_head list;
	u32 packets;
};

/* Protected by the module's parameter lock. */
static LIST_HEAD(window_list);
static u32 window_at_load;	/* parameter of insmod, 0: none */
static bool window_loaded;	/* between init and exit */

static u32 window_of(const struct sock *sk)
{
	const struct window *window =
		container_of(inet_csk(sk)->icsk_ca_ops, struct window, ops);

	return min(window->packets, tcp_sk(sk)->snd_cwnd_clamp);
}

static void window_init(struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), window_of(sk));
}

static void NDM_CONG_CONTROL(window_cong_control)
{
	tcp_snd_cwnd_set(tcp_sk(sk), window_of(sk));
}

static u32 window_ssthresh(struct sock *sk)
{
	return window_of(sk);
}

/* Restores the window after a time-out. */
static void window_set_state(struct sock *sk, u8 state)
{
	if (state == TCP_CA_Loss)
		tcp_snd_cwnd_set(tcp_sk(sk), window_of(sk));
}

static const struct tcp_congestion_ops window_ops = {
	.init = window_init,
	.ssthresh = window_ssthresh,
	.undo_cwnd = window_ssthresh,
	.cong_control = window_cong_control,
	.set_state = window_set_state,
	.owner = THIS_MODULE,
};

static int window_register(u32 packets)
{
	struct window *window;
	int err;

	list_for_each_entry(window, &window_list, list)
		if (window->packets == packets)
			return 0;
	window = kzalloc(sizeof(*window), GFP_KERNEL);
	if (!window)
		return -ENOMEM;
	window->ops = window_ops;
	window->packets = packets;
	snprintf(window->ops.name, sizeof(window->ops.name), "cwnd_%u",
		 packets);
	err = tcp_register_congestion_control(&window->ops);
	if (err) {
		kfree(window);
		return err;
	}
	list_add(&window->list, &window_list);
	return 0;
}

/* insmod sets parameters before init and may still fail: init registers this window. */
static int window_packets_set(const char *text, const struct kernel_param *param)
{
	int length = strcspn(text, "\n");
	unsigned int packets;

	if (kstrtouint(text, 10, &packets) || packets < 1 ||
	    packets > WINDOW_MAX) {
		pr_err("%s=%.*s is refused: it must be a whole number from 1 to %u\n",
		       param->name, min(length, 32), text, WINDOW_MAX);
		return -EINVAL;
	}
	if (window_loaded)
		return window_register(packets);
	window_at_load = packets;
	return 0;
}

static const struct kernel_param_ops window_packets_ops = {
	.set = window_packets_set,
};

module_param_cb(packets, &window_packets_ops, NULL, 0200);
MODULE_PARM_DESC(packets,
		 "registers cwnd_N, a constant window of N packets, 1 to 1000000; each write registers one more");

static int __init tcp_window_init(void)
{
	int err = 0;

	BUILD_BUG_ON(sizeof("cwnd_" __stringify(WINDOW_MAX)) >
		     TCP_CA_NAME_MAX);
	kernel_param_lock(THIS_MODULE);
	window_loaded = true;
	if (window_at_load)
		err = window_register(window_at_load);
	kernel_param_unlock(THIS_MODULE);
	return err;
}

/* Sockets hold a reference to the module, so none uses a window now. */
static void __exit tcp_window_exit(void)
{
	struct window *window, *next;

	kernel_param_lock(THIS_MODULE);
	window_loaded = false;
	list_for_each_entry_safe(window, next, &window_list, list) {
		tcp_unregister_congestion_control(&window->ops);
		kfree(window);
	}
	kernel_param_unlock(THIS_MODULE);
}

module_init(tcp_window_init);
module_exit(tcp_window_exit);

MODULE_DESCRIPTION("Constant TCP congestion windows, to measure paths with");
MODULE_LICENSE("GPL");
