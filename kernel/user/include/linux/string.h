/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_USER_LINUX_STRING_H
#define NDM_USER_LINUX_STRING_H

#include <string.h>

#endif /* NDM_USER_LINUX_STRING_H */
