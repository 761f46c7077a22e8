/* SPDX-License-Identifier: GPL-2.0 */
/* What a BPF program has of a socket; a module has kernel/compat/socket.h. */
#ifndef NDM_BPF_COMPAT_SOCKET_H
#define NDM_BPF_COMPAT_SOCKET_H

#include <net/tcp.h>

/* In struct ndm_sock, not beside it: a map's value can hold no pointer to it. */
#define NDM_MEMORY_MEMBER struct ndm_memory memory[1]

#endif /* NDM_BPF_COMPAT_SOCKET_H */
