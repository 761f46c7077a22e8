// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that the kernel keeps the floating point registers of a process: over system calls, page faults, signals and
 * switches to other processes and threads, each of which has values of its own. Prints how many checks it made.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 200
#define PAGE 4096

static volatile int signalled;

/* Calls the kernel with `value` in an xmm register; returns what it has afterwards. A third argument is no signal. */
static uint64_t across_call(uint64_t value, long number, long one, long two)
{
	uint64_t after;
	long result;

	asm volatile("movq %[value], %%xmm7\n\tsyscall\n\tmovq %%xmm7, %[after]"
		     : [after] "=r"(after), "=a"(result)
		     : [value] "r"(value), "a"(number), "D"(one), "S"(two), "d"(-1L)
		     : "rcx", "r11", "xmm7", "memory");
	return after;
}

static uint64_t across_fault(uint64_t value, char *page)
{
	uint64_t after;

	asm volatile("movq %[value], %%xmm7\n\tmovb $1, (%[page])\n\tmovq %%xmm7, %[after]"
		     : [after] "=&r"(after)
		     : [value] "r"(value), [page] "r"(page)
		     : "xmm7", "memory");
	return after;
}

static void handle(int number)
{
	uint64_t other = 0xdeadbeef;

	(void)number;
	asm volatile("movq %0, %%xmm7" : : "r"(other) : "xmm7");
	signalled++;
}

static void check(uint64_t value, uint64_t after, const char *what)
{
	if (value != after) {
		printf("%s: %llx became %llx\n", what, (unsigned long long)value, (unsigned long long)after);
		exit(1);
	}
}

static void *keep(void *seed)
{
	char *pages = mmap(NULL, ROUNDS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t value = (uintptr_t)seed * 1000003 + round;

		check(value, across_call(value, SYS_getppid, 0, 0), "system call");
		check(value, across_call(value, SYS_sched_yield, 0, 0), "switch");
		check(value, across_call(value, SYS_tgkill, getpid(), gettid()), "failed call");
		check(value, across_fault(value, pages + round * PAGE), "page fault");
	}
	return NULL;
}

static void keep_over_signals(void)
{
	for (uint64_t value = 1; value <= ROUNDS; value++)
		check(value, across_call(value, SYS_kill, getpid(), SIGUSR1), "signal");
}

int main(void)
{
	pthread_t threads[3];
	int status = 0;

	signal(SIGUSR1, handle);
	for (int child = 0; child < 3; child++)
		if (!fork()) {
			keep((void *)(uintptr_t)(10 + child));
			return 0;
		}
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, keep, (void *)(uintptr_t)(20 + i));
	keep_over_signals();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	while (wait(&status) > 0)
		if (status)
			return 1;
	printf("%d rounds, %d signals\n", 6 * ROUNDS, signalled);
	return 0;
}
