// SPDX-License-Identifier: GPL-2.0
/* A congestion control that a user might bring as a BPF object: it leaves the first window, ten packets, as it is. */
#include <linux/types.h>

#include <linux/bpf.h>
#include <linux/compiler.h>
#include <net/tcp.h>

char LICENSE[] SEC("license") = "GPL";

SEC("struct_ops/cong_control")
int ten_control(u64 *ctx)
{
	return 0;
}

SEC("struct_ops/ssthresh")
u32 ten_ssthresh(u64 *ctx)
{
	return 2;
}

SEC("struct_ops/undo_cwnd")
u32 ten_undo(u64 *ctx)
{
	return 10;
}

SEC(".struct_ops")
struct tcp_congestion_ops ten = {
	.ssthresh = (void *)ten_ssthresh,
	.cong_control = (void *)ten_control,
	.undo_cwnd = (void *)ten_undo,
	.name = "ten",
};
