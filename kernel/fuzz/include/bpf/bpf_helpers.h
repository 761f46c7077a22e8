/* SPDX-License-Identifier: GPL-2.0 */
/* Stands in for libbpf's header where the fuzzer compiles the BPF program for its own machine. */
#ifndef NDM_FUZZ_BPF_HELPERS_H
#define NDM_FUZZ_BPF_HELPERS_H

#include <linux/types.h>

#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name
#define SEC(name) __attribute__((__used__))
#define __kconfig
#define __ksym

#define NDM_READ_CONTEXT(to, ctx, offset) ((to) = *(const void *const *)((ctx) + (offset) / 8))

void *bpf_map_lookup_elem(void *map, const void *key);
void *bpf_sk_storage_get(void *map, void *sk, void *value, u64 flags);
void *bpf_ringbuf_reserve(void *ring, u64 size, u64 flags);
void bpf_ringbuf_submit(void *data, u64 flags);
long bpf_probe_read_kernel(void *to, u32 size, const void *from);
u64 bpf_jiffies64(void);

#endif /* NDM_FUZZ_BPF_HELPERS_H */
