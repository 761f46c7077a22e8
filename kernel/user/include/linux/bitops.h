/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_USER_LINUX_BITOPS_H
#define NDM_USER_LINUX_BITOPS_H

/* Position of the highest set bit, counted from 1; 0 for 0. */
static inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

#define hweight16(x) __builtin_popcount((unsigned short)(x))

#endif /* NDM_USER_LINUX_BITOPS_H */
