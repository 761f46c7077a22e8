/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_USER_LINUX_LIMITS_H
#define NDM_USER_LINUX_LIMITS_H

#define U8_MAX ((u8)~0U)
#define U16_MAX ((u16)~0U)
#define U32_MAX ((u32)~0U)
#define S16_MAX ((s16)(U16_MAX >> 1))

#endif /* NDM_USER_LINUX_LIMITS_H */
