// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's Cubic with TCP's internal pacing, to measure the cost of pacing. For
 * `make -C studies bench-kernel`, in the lab only; tcp_cubic.c comes from the kernel's source.
 */
#include <linux/module.h>

/* Replace the module's init and exit. */
#undef module_init
#undef module_exit
#define module_init(function)
#define module_exit(function)
#include "tcp_cubic.c"
#undef module_init
#undef module_exit

static void paced_init(struct sock *sk)
{
	cubictcp_init(sk);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

int init_module(void);
int __init init_module(void)
{
	cubictcp.init = paced_init;
	strscpy(cubictcp.name, "cubic_paced");
	return cubictcp_register();
}

void cleanup_module(void);
void __exit cleanup_module(void)
{
	cubictcp_unregister();
}
