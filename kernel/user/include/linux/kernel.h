/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_USER_LINUX_KERNEL_H
#define NDM_USER_LINUX_KERNEL_H

#include <linux/types.h>

#define min_t(type, a, b)			\
	({					\
		type min_a_ = (a);		\
		type min_b_ = (b);		\
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define max_t(type, a, b)			\
	({					\
		type max_a_ = (a);		\
		type max_b_ = (b);		\
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})
#define min(a, b)				\
	({					\
		__typeof__(a) min_a_ = (a);	\
		__typeof__(b) min_b_ = (b);	\
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define max(a, b)				\
	({					\
		__typeof__(a) max_a_ = (a);	\
		__typeof__(b) max_b_ = (b);	\
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})
#define clamp_t(type, value, low, high)		\
	min_t(type, max_t(type, value, low), high)

/* The largest y with y * y <= x, as in lib/math/int_sqrt.c. */
static inline unsigned long int_sqrt(unsigned long x)
{
	unsigned long y = 0, bit;

	for (bit = 1UL << 31; bit; bit >>= 1)
		if ((y | bit) * (y | bit) <= x)
			y |= bit;
	return y;
}

#endif /* NDM_USER_LINUX_KERNEL_H */
