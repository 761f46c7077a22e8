/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_BPF_LINUX_COMPILER_H
#define NDM_BPF_LINUX_COMPILER_H

#include_next <linux/compiler.h>

/* A program of BPF calls few functions, and each with at most five arguments. */
#define inline inline __attribute__((__always_inline__))
#undef __always_inline
#define __always_inline inline
#undef __noinline
#define __noinline __attribute__((__noinline__))
#define noinline __noinline

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))

#endif /* NDM_BPF_LINUX_COMPILER_H */
