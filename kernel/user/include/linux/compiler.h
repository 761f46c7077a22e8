/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_USER_LINUX_COMPILER_H
#define NDM_USER_LINUX_COMPILER_H

#define __maybe_unused __attribute__((__unused__))
#define __uninitialized

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))

#endif /* NDM_USER_LINUX_COMPILER_H */
