/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_BPF_LINUX_JIFFIES_H
#define NDM_BPF_LINUX_JIFFIES_H

#include <bpf/bpf_helpers.h>

#define tcp_jiffies32 ((u32)bpf_jiffies64())

#endif /* NDM_BPF_LINUX_JIFFIES_H */
