/* SPDX-License-Identifier: GPL-2.0 */
/* What a module has of a socket; a BPF program has bpf/include/compat/socket.h. */
#ifndef NDM_COMPAT_SOCKET_H
#define NDM_COMPAT_SOCKET_H

#include <net/tcp.h>

/* The member of struct ndm_sock for struct ndm_memory. NULL: there was no memory for it. */
#define NDM_MEMORY(name) struct ndm_memory *name

static inline u8 ndm_ca_state(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_state;
}

#endif /* NDM_COMPAT_SOCKET_H */
