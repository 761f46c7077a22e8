// SPDX-License-Identifier: GPL-2.0
/*
 * A constant congestion window: the yardstick that a path is measured with.
 *
 *	echo 16 >/sys/module/tcp_window/parameters/packets
 *
 * registers the congestion control cwnd_16, whose cwnd is 16 packets from the
 * first ACK to the last, whatever is lost, delayed or marked, and whose sending
 * is clocked by ACKs alone, without pacing. As many windows can be registered as
 * there are connections to try them: windows of several sizes meet on one path.
 *
 * What the kernel does to a window by itself is undone: a time-out takes it to
 * what is in flight plus 1, here it is whole again before the first segment is
 * sent again. ssthresh is the window too, so that no recovery has less to return
 * to. Only a clamp, the application's or that of memory, is below it.
 *
 * This is no congestion control for a network: nothing makes it give way.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <net/tcp.h>

#include "compat/cong_control.h"

#define WINDOW_MAX 1000000	/* packets; cwnd_1000000 has 12 characters */

/* One congestion control. Its sockets find it through icsk_ca_ops. */
struct window {
	struct tcp_congestion_ops ops;
	struct list_head list;
	u32 packets;
};

/* All of this under the module's parameter lock. */
static LIST_HEAD(windows);
static u32 window_at_load;	/* given to insmod, 0 for none */
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

/* The kernel has just taken the window away. */
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

	list_for_each_entry(window, &windows, list)
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
	list_add(&window->list, &windows);
	return 0;
}

/*
 * insmod sets parameters before init, and may fail after that: nothing must be
 * registered by then.
 */
static int packets_set(const char *text, const struct kernel_param *param)
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

static const struct kernel_param_ops packets_ops = {
	.set = packets_set,
};

module_param_cb(packets, &packets_ops, NULL, 0200);
MODULE_PARM_DESC(packets,
		 "registers cwnd_N, a constant window of N packets, 1 to 1000000; write again for further ones");

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

/* No socket uses any of them: each holds a reference to the module. */
static void __exit tcp_window_exit(void)
{
	struct window *window, *next;

	kernel_param_lock(THIS_MODULE);
	window_loaded = false;
	list_for_each_entry_safe(window, next, &windows, list) {
		tcp_unregister_congestion_control(&window->ops);
		kfree(window);
	}
	kernel_param_unlock(THIS_MODULE);
}

module_init(tcp_window_init);
module_exit(tcp_window_exit);

MODULE_DESCRIPTION("A constant TCP congestion window, to measure paths with");
MODULE_LICENSE("GPL");
