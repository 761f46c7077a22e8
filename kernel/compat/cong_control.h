/* SPDX-License-Identifier: GPL-2.0 */
/* Linux 6.10 added the ACK and its flags to the arguments of cong_control(). */
#ifndef NDM_COMPAT_CONG_CONTROL_H
#define NDM_COMPAT_CONG_CONTROL_H

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define NDM_CONG_CONTROL(name) \
	name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#define NDM_CALL_CONG_CONTROL(ops) ((ops)->cong_control(sk, ack, flag, rs))
#else
#define NDM_CONG_CONTROL(name) \
	name(struct sock *sk, const struct rate_sample *rs)
#define NDM_CALL_CONG_CONTROL(ops) ((ops)->cong_control(sk, rs))
#endif

#endif /* NDM_COMPAT_CONG_CONTROL_H */
