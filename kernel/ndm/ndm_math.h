/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixed-point functions of the network, the features and the control loop.
 *
 * Plain integer C for the kernel and for user space, where kernel/user/include has
 * the few kernel functions needed. "Qn" means n fraction bits. The worst errors are
 * measured over the whole range by tests/kernel/ndm.
 */
#ifndef NDM_MATH_H
#define NDM_MATH_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "ndm_tables.h"

/*
 * tanh(x): x and the result are Q15, |x| at most 8 << 15.
 * Worst error: 1.54 units of 2^-15 (4.7e-5). Monotonic; ndm_tanh(-x) = -ndm_tanh(x).
 */
static inline s16 ndm_tanh(s32 x)
{
	const int shift = 15 - NDM_TANH_STEPS_LOG2;
	s32 sign = x >> 31;	/* 0 or -1 */
	s32 magnitude = min_t(s32, x < 0 ? -x : x, NDM_TANH_LIMIT << 15);
	s32 fraction = magnitude & ((1 << shift) - 1);
	s32 i = magnitude >> shift;
	s32 y = ndm_tanh_table[i];

	/* At the last entry the fraction is 0 and there is no next entry. */
	if (fraction)
		y += ((ndm_tanh_table[i + 1] - y) * fraction +
		      (1 << (shift - 1))) >> shift;
	return (y ^ sign) - sign;
}

/*
 * 2^x: x is Q14 in [-1, 1], the result Q16: 32768 to 131072.
 * Exact at -1, 0 and 1. Worst error: 1.34 units of 2^-16, relative 3.1e-5.
 */
static inline u32 ndm_exp2(s16 x)
{
	const int shift = 14 - NDM_EXP2_STEPS_LOG2;
	s32 clamped = clamp_t(s32, x, -(1 << 14), 1 << 14);
	u32 fraction = clamped & ((1 << shift) - 1);
	u32 i = (clamped & ((1 << 14) - 1)) >> shift;
	u32 y = ndm_exp2_table[i];

	if (clamped == 1 << 14)
		return 2 << 16;
	y += ((ndm_exp2_table[i + 1] - y) * fraction +
	      (1 << (shift - 1))) >> shift;
	return clamped < 0 ? (y + 1) >> 1 : y;
}

/*
 * The quarter octave of a / b: floor(4 log2(a / b)), -128 to 127. 0 counts as 1.
 * The thresholds have 30 fraction bits; a ratio within 5e-10 of one may be off by one.
 */
static inline s32 ndm_quarter_octave(u32 a, u32 b)
{
	int octave = fls(a ? a : 1) - fls(b ? b : 1);
	/* Both scaled to [2^31, 2^32), then a to [b, 2b): at most 2^33. */
	u64 wide_a = (u64)(a ? a : 1) << (32 - fls(a ? a : 1));
	u64 wide_b = (u64)(b ? b : 1) << (32 - fls(b ? b : 1));
	int quarter = 0;

	if (wide_a < wide_b) {
		wide_a <<= 1;
		octave--;
	}
	/* Both products stay below 2^63. */
	while (quarter < 3 &&
	       wide_a << 30 >= wide_b * ndm_quarter_octave_table[quarter])
		quarter++;
	return 4 * octave + quarter;
}

#endif /* NDM_MATH_H */
