/* SPDX-License-Identifier: GPL-2.0 */
/* As bpf_helpers.h. */
#define BPF_CORE_READ_BITFIELD(structure, member) ((structure)->member)
