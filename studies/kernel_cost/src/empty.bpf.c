// SPDX-License-Identifier: GPL-2.0
/* A congestion control that does nothing: what each call of a BPF program costs. */
#include <linux/types.h>

#include <linux/bpf.h>
#include <linux/compiler.h>
#include <net/tcp.h>

char LICENSE[] SEC("license") = "GPL";

SEC("struct_ops/cong_control")
int ndm_empty_control(u64 *ctx)
{
	return 0;
}

SEC("struct_ops/ssthresh")
u32 ndm_empty_ssthresh(u64 *ctx)
{
	return 2;
}

SEC("struct_ops/undo_cwnd")
u32 ndm_empty_undo(u64 *ctx)
{
	return 10;
}

SEC(".struct_ops")
struct tcp_congestion_ops ndm_empty = {
	.ssthresh = (void *)ndm_empty_ssthresh,
	.cong_control = (void *)ndm_empty_control,
	.undo_cwnd = (void *)ndm_empty_undo,
	.name = "ndm_empty",
};
