// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel's image would have for the modules: only what their init and
 * cong_control() need. Built for user space, but without SSE, because kernel
 * code calls it with a stack that is aligned to 8 bytes.
 */
#include <stddef.h>

unsigned long jiffies;
/* The kernel's struct module and per-CPU task are smaller. */
char __this_module[4096], pcpu_hot[4096];
int signals_enabled;
unsigned int nr_cpu_ids = 1;

/* -- called once, by init -------------------------------------------------- */

void *__root_device_register(const char *name, void *owner)
{
	static char device[4096];

	(void)name;
	(void)owner;
	return device;
}

int register_btf_kfunc_id_set(int type, const void *set)
{
	(void)type;
	(void)set;
	return 0;
}

int _printk(const char *format, ...)
{
	(void)format;
	return 0;
}

void mutex_lock(void *lock)
{
	(void)lock;
}

void mutex_unlock(void *lock)
{
	(void)lock;
}

/* -- called by cong_control() ---------------------------------------------- */

/* Of a kernel that is preempted (PREEMPT_RCU): one counter of the task. */
static int rcu_nesting;

void __rcu_read_lock(void)
{
	*(volatile int *)&rcu_nesting = rcu_nesting + 1;
}

void __rcu_read_unlock(void)
{
	*(volatile int *)&rcu_nesting = rcu_nesting - 1;
}

/* User-mode Linux masks signals around what must not be interrupted. */
int um_set_signals(int enable)
{
	int before = signals_enabled;

	signals_enabled = enable;
	return before;
}

/*
 * The kernel replaces calls of the first two by one instruction where the
 * processor has it. Its code expects all registers but rax back.
 */
asm(".text\n"
    ".globl __sw_hweight32, __sw_hweight16, __x86_return_thunk\n"
    "__sw_hweight32:\n"
    "	popcntl %edi, %eax\n"
    "	ret\n"
    "__sw_hweight16:\n"
    "	movzwl %di, %eax\n"
    "	popcntl %eax, %eax\n"
    "	ret\n"
    /* Every ret of the kernel is a jump to this one. */
    "__x86_return_thunk:\n"
    "	ret\n"
    "	int3\n");

/* An indirect call goes through a retpoline, as on the processors with Spectre. */
#define THUNK(register)					\
	asm(".globl __x86_indirect_thunk_" #register "\n"	\
	    "__x86_indirect_thunk_" #register ":\n"		\
	    "	call 1f\n"				\
	    "2:	pause\n"				\
	    "	lfence\n"				\
	    "	jmp 2b\n"				\
	    "1:	mov %" #register ", (%rsp)\n"		\
	    "	ret\n")

THUNK(rax); THUNK(rbx); THUNK(rcx); THUNK(rdx); THUNK(rsi); THUNK(rdi);
THUNK(rbp); THUNK(r8); THUNK(r9); THUNK(r10); THUNK(r11); THUNK(r12);
THUNK(r13); THUNK(r14); THUNK(r15);
