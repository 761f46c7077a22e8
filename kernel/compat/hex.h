/* SPDX-License-Identifier: GPL-2.0 */
/* hex2bin() has moved to a header of its own, which linux/kernel.h included for some time. */
#ifndef NDM_COMPAT_HEX_H
#define NDM_COMPAT_HEX_H

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/hex.h>
#else
#include <linux/kernel.h>
#endif

#endif /* NDM_COMPAT_HEX_H */
