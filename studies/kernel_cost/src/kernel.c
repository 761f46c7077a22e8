// SPDX-License-Identifier: GPL-2.0
/*
 * The parts of the kernel's image that the modules' init and cong_control() need.
 * Built for user space, but without SSE, because kernel code calls it with a stack
 * that is aligned to 8 bytes.
 */
#include <stddef.h>

unsigned long jiffies;
/* At least as large as the kernel's struct module and per-CPU task. */
char __this_module[4096], pcpu_hot[4096];
int signals_enabled;
unsigned int nr_cpu_ids = 1;

/* -- called once, by init -------------------------------------------------- */

#define UNUSED __attribute__((unused))

void *__root_device_register(const char *name UNUSED, void *owner UNUSED)
{
	static char device[4096];

	return device;
}

int kobject_init_and_add(void *folder UNUSED, const void *type UNUSED,
			 void *parent UNUSED, const char *format UNUSED, ...)
{
	return 0;
}

int register_btf_kfunc_id_set(int type UNUSED, const void *set UNUSED)
{
	return 0;
}

int _printk(const char *format UNUSED, ...)
{
	return 0;
}

void mutex_lock(void *lock UNUSED)
{
}

void mutex_unlock(void *lock UNUSED)
{
}

void __init_swait_queue_head(void *queue UNUSED, const char *name UNUSED,
			     void *key UNUSED)
{
}

/* The C library's needs an aligned stack. */
size_t strspn(const char *text, const char *accept)
{
	size_t length = 0;
	const char *known;

	for (; text[length]; length++) {
		for (known = accept; *known && *known != text[length]; known++)
			;
		if (!*known)
			break;
	}
	return length;
}

/* Per-CPU memory: an address of the program, which replay.c maps for %gs too. */
static void *percpu(size_t size, size_t align)
{
	static char memory[65536] __attribute__((aligned(4096)));
	static size_t used;
	size_t at = (used + align - 1) / align * align;

	if (at + size > sizeof(memory))
		return NULL;
	used = at + size;
	return memory + at;
}

/* Since 6.10. */
void *pcpu_alloc_noprof(size_t size, size_t align, unsigned char reserved UNUSED,
			unsigned int gfp UNUSED)
{
	return percpu(size, align);
}

/* Until 6.9. */
void *__alloc_percpu(size_t size, size_t align)
{
	return percpu(size, align);
}

/* -- called by init, and by a connection's init ---------------------------------- */

/* Called each time, as the count begins at 0, not at PREEMPT_NEED_RESCHED as in the kernel. */
void __SCT__preempt_schedule(void)
{
}

/* At least as large as the kernel's; their content is not used. */
char kmalloc_caches[65536];
unsigned long random_kmalloc_seed;

/* The module allocates its slot and model once, and one connection; nothing is freed. */
static void *allocate(size_t size)
{
	static char memory[65536] __attribute__((aligned(64)));	/* all zero */
	static size_t used;
	size_t at = used;

	if (size > sizeof(memory) - used)
		return NULL;
	used += (size + 63) / 64 * 64;
	return memory + at;
}

/* More than two pages. Since 6.10. */
void *__kmalloc_large_noprof(size_t size, unsigned int gfp UNUSED)
{
	return allocate(size);
}

/* Until 6.9. */
void *kmalloc_large(size_t size, unsigned int gfp UNUSED)
{
	return allocate(size);
}

/* Since 6.10. */
void *__kmalloc_cache_noprof(void *cache UNUSED, unsigned int gfp UNUSED, size_t size)
{
	return allocate(size);
}

/* Until 6.9. */
void *kmalloc_trace(void *cache UNUSED, unsigned int gfp UNUSED, size_t size)
{
	return allocate(size);
}

static long copy_text(char *to, const char *from, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		to[i] = from[i];
		if (!from[i])
			return i;
	}
	if (size)
		to[size - 1] = 0;
	return -7;	/* -E2BIG */
}

/* Since 6.9. */
long sized_strscpy(char *to, const char *from, size_t size)
{
	return copy_text(to, from, size);
}

/* Until 6.8. */
long strscpy(char *to, const char *from, size_t size)
{
	return copy_text(to, from, size);
}

/* -- called by cong_control() ---------------------------------------------- */

/* As in a preemptible kernel (PREEMPT_RCU): a counter of the task. */
static int rcu_nesting;

void __rcu_read_lock(void)
{
	*(volatile int *)&rcu_nesting = rcu_nesting + 1;
}

void __rcu_read_unlock(void)
{
	*(volatile int *)&rcu_nesting = rcu_nesting - 1;
}

/* As in lib/math/int_sqrt.c. */
unsigned long int_sqrt(unsigned long x)
{
	unsigned long root = 0, bit;

	if (!x)
		return 0;
	for (bit = 1UL << ((63 - __builtin_clzl(x)) & ~1); bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root += 2 * bit;
		}
		root >>= 1;
	}
	return root;
}

/* User-mode Linux masks signals in critical sections. */
int um_set_signals(int enable)
{
	int before = signals_enabled;

	signals_enabled = enable;
	return before;
}

/*
 * The kernel may replace calls of the first two by one instruction, so its code
 * expects all registers but rax unchanged.
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
    /* Every return in the kernel jumps here. */
    "__x86_return_thunk:\n"
    "	ret\n"
    "	int3\n");

/* Indirect calls use retpolines, as on processors with Spectre. */
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
