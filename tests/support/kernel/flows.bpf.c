// SPDX-License-Identifier: GPL-2.0
/* An iterator of NDM's map ndm_flows: writes a dot for each socket that has a state in it. */
#include <linux/types.h>

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;
struct sock;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop

char LICENSE[] SEC("license") = "GPL";

SEC("iter/bpf_sk_storage_map")
int list_flows(struct bpf_iter__bpf_sk_storage_map *context)
{
	if (context->sk && context->value)
		bpf_seq_write(context->meta->seq, ".", 1);
	return 0;
}
