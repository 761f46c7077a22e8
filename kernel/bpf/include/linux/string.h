/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_BPF_LINUX_STRING_H
#define NDM_BPF_LINUX_STRING_H

#define memcpy __builtin_memcpy
#define memset __builtin_memset

#endif /* NDM_BPF_LINUX_STRING_H */
