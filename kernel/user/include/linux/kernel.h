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
#define clamp_t(type, value, low, high)		\
	min_t(type, max_t(type, value, low), high)

#endif /* NDM_USER_LINUX_KERNEL_H */
