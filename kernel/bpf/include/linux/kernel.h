/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_BPF_LINUX_KERNEL_H
#define NDM_BPF_LINUX_KERNEL_H

#include <linux/compiler.h>

#define int_sqrt ndm_branching_int_sqrt
#include_next <linux/kernel.h>
#undef int_sqrt

#define max3(a, b, c) max(max(a, b), c)

/*
 * The largest y with y * y <= x, for x below 2^62. Without branches, and as a global function
 * the verifier examines it once.
 */
__noinline u32 int_sqrt(u32 x)
{
	u64 y = 0, bit;

	for (bit = 1UL << 15; bit; bit >>= 1)
		/* all bits set if the square is too large */
		y |= bit & ~(((s64)x - (s64)((y | bit) * (y | bit))) >> 63);
	return y;
}

#endif /* NDM_BPF_LINUX_KERNEL_H */
