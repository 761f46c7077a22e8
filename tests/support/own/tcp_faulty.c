// SPDX-License-Identifier: GPL-2.0
/* Two congestion controls that a user might bring; one breaks the kernel. */
#include <linux/module.h>
#include <linux/string.h>
#include <linux/version.h>
#include <net/tcp.h>

#define FAULT_AFTER_PACKETS 500

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "oops: write to address 8; hang: never let go of the CPU; none");

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static void faulty_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#else
static void faulty_cong_control(struct sock *sk, const struct rate_sample *rs)
#endif
{
	if (tcp_sk(sk)->delivered < FAULT_AFTER_PACKETS)
		return;
	if (!strcmp(fault, "oops"))
		WRITE_ONCE(*(int *)8, 1);
	while (!strcmp(fault, "hang"))
		cpu_relax();
}

static struct tcp_congestion_ops faulty __read_mostly = {
	.name = "faulty",
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_control = faulty_cong_control,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static struct tcp_congestion_ops second __read_mostly = {
	.name = "second",
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init faulty_register(void)
{
	int err = tcp_register_congestion_control(&faulty);

	if (err)
		return err;
	err = tcp_register_congestion_control(&second);
	if (err)
		tcp_unregister_congestion_control(&faulty);
	return err;
}

static void __exit faulty_unregister(void)
{
	tcp_unregister_congestion_control(&second);
	tcp_unregister_congestion_control(&faulty);
}

module_init(faulty_register);
module_exit(faulty_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A broken congestion control that a user might bring");
