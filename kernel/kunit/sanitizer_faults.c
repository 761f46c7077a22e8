// SPDX-License-Identifier: GPL-2.0
/*
 * One fault for each sanitizer, to test that the sanitizer kernel reports it:
 *
 *	insmod sanitizer_faults.ko fault=kasan|ubsan|lockdep|kmemleak|warning
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *fault = "";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "kasan, ubsan, lockdep, kmemleak or warning");

#define FAULT_BYTES 24

/* Written to keep the compiler from removing the faults. */
static unsigned int sink;

static DEFINE_SPINLOCK(first);
static DEFINE_SPINLOCK(second);

static int read_beyond(void)
{
	char *memory = kmalloc(FAULT_BYTES, GFP_KERNEL);
	unsigned int beyond = FAULT_BYTES + 1;

	if (!memory)
		return -ENOMEM;
	OPTIMIZER_HIDE_VAR(beyond);
	WRITE_ONCE(sink, memory[beyond]);
	kfree(memory);
	return 0;
}

static void nest(spinlock_t *outer, spinlock_t *inner)
{
	spin_lock(outer);
	spin_lock(inner);
	spin_unlock(inner);
	spin_unlock(outer);
}

static int __init sanitizer_faults_init(void)
{
	unsigned int shift = 40;

	OPTIMIZER_HIDE_VAR(shift);
	if (!strcmp(fault, "kasan"))
		return read_beyond();
	if (!strcmp(fault, "ubsan")) {
		WRITE_ONCE(sink, 1U << shift);
	} else if (!strcmp(fault, "lockdep")) {
		nest(&first, &second);
		nest(&second, &first);
	} else if (!strcmp(fault, "kmemleak")) {
		WRITE_ONCE(sink, !kmalloc(FAULT_BYTES, GFP_KERNEL));
	} else if (!strcmp(fault, "warning")) {
		WARN(1, "a warning, as requested");
	} else {
		pr_err("fault=%s is invalid: use kasan, ubsan, lockdep, kmemleak or warning\n",
		       fault);
		return -EINVAL;
	}
	return 0;
}

static void __exit sanitizer_faults_exit(void)
{
}

module_init(sanitizer_faults_init);
module_exit(sanitizer_faults_exit);

MODULE_DESCRIPTION("Faults that the sanitizers must find");
MODULE_LICENSE("GPL");
