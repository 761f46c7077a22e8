/* SPDX-License-Identifier: GPL-2.0 */
/* What a module has of a socket; a BPF program has bpf/include/compat/socket.h. */
#ifndef NDM_COMPAT_SOCKET_H
#define NDM_COMPAT_SOCKET_H

#include <net/tcp.h>

/* In struct ndm_sock. NULL: there was no memory for it. */
#define NDM_MEMORY_MEMBER struct ndm_memory *memory

static inline u8 ndm_ca_state(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state;
}

#endif /* NDM_COMPAT_SOCKET_H */
