/* SPDX-License-Identifier: GPL-2.0 */
/* BPF has no instruction that counts bits, and no branches are quicker for the verifier. */
#ifndef NDM_BPF_LINUX_BITOPS_H
#define NDM_BPF_LINUX_BITOPS_H

#include <linux/types.h>

static inline u32 ndm_bits(u32 x)
{
	x -= x >> 1 & 0x55555555;
	x = (x & 0x33333333) + (x >> 2 & 0x33333333);
	x = (x + (x >> 4)) & 0x0f0f0f0f;
	return x * 0x01010101 >> 24;
}

/* Position of the highest set bit, counted from 1; 0 for 0. */
static inline int fls(u32 x)
{
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	return ndm_bits(x);
}

static inline u32 hweight16(u16 x)
{
	return ndm_bits(x);
}

#endif /* NDM_BPF_LINUX_BITOPS_H */
