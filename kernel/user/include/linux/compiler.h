/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_USER_LINUX_COMPILER_H
#define NDM_USER_LINUX_COMPILER_H

#define __maybe_unused __attribute__((__unused__))

#endif /* NDM_USER_LINUX_COMPILER_H */
