// SPDX-License-Identifier: GPL-2.0
/*
 * Replays recorded ACKs to the congestion control that it is linked to. Each command prints lines:
 *
 *	replay SCHEME calls EVENTS		none, for callgrind: call_deciding() calls cong_control() for ACKs with
 *						a decision, call_waiting() for the others
 *	replay SCHEME step EVENTS EVERY		for each EVERY-th ACK: its instructions, and 1 with a decision
 *	replay SCHEME decide EVENTS BATCHES	for each batch of all decisions: ns per decision, and the
 *						part of these ns that sets the socket
 *	replay SCHEME cold EVENTS CALLS		for each of CALLS decisions whose code and data are in no cache near
 *						the processor: ns, including the clock
 *	replay SCHEME clock EVENTS CALLS	the same without a call: ns of the clock
 *	replay SCHEME core HIDDEN BATCHES	for each batch: ns per step of the network alone
 *	replay SCHEME tracepoint		for each branch to the tracepoint: the bytes of its code
 *
 * `step` counts with the processor's trap flag, which stops it after each instruction (SIGTRAP).
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "replay.h"

#define PAGE 4096ul
#define CORE_STEPS 1000u
#define CACHES (16ul << 20) /* more than a core's own */

static const char *events;
static size_t events_count;

static void fail(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* -- what the kernel does when it loads a module ------------------------------------------------------------------ */

extern char __executable_start[], etext[], end[];
extern uint64_t __start___mcount_loc[] __attribute__((weak)), __stop___mcount_loc[] __attribute__((weak));

/* Replaces the calls of ftrace by no-ops, as in a running kernel without tracing. */
static void turn_off_ftrace(void)
{
	static const unsigned char nop[5] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	char *first = (char *)((uintptr_t)__executable_start & -PAGE);

	if (&__start___mcount_loc[0] == &__stop___mcount_loc[0])
		return;
	if (mprotect(first, end - first, PROT_READ | PROT_WRITE | PROT_EXEC))
		fail("cannot write the program's own code");
	for (uint64_t *site = __start___mcount_loc; site < __stop___mcount_loc; site++)
		memcpy((void *)*site, nop, sizeof(nop));
}

/* Per-CPU variables are at gs + their address: map zeros, as large as the program. */
static void map_percpu_area(void)
{
	size_t size = (uintptr_t)end + PAGE;
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED || syscall(SYS_arch_prctl, ARCH_SET_GS, area))
		fail("no area for per-CPU variables");
}

static void crashed(int signal)
{
	static const char text[] = "replay: the module used something of the kernel that kernel.c does not have\n";
	ssize_t written = write(2, text, sizeof(text) - 1);

	(void)signal;
	(void)written;
	_exit(3);
}

/* -- one ACK ------------------------------------------------------------------------------------------------------- */

/*
 * Each calls call->function, the last one with a trap after each instruction. The others are identical, so that
 * callgrind counts them separately.
 */
void call_plain(const struct replay_call *call);
void call_waiting(const struct replay_call *call);
void call_deciding(const struct replay_call *call);
void call_stepped(const struct replay_call *call);
asm(".text\n"
    ".macro BEGIN name\n"
    "	.globl \\name\n"
    "	.type \\name, @function\n"
    "	\\name:\n"
    "	mov (%rdi), %rax\n"
    "	mov 16(%rdi), %rsi\n"
    "	mov 24(%rdi), %rdx\n"
    "	mov 32(%rdi), %rcx\n"
    "	mov 8(%rdi), %rdi\n"
    ".endm\n"
    ".macro END name\n"
    "	ret\n"
    "	.size \\name, . - \\name\n"
    ".endm\n"
    ".irp name, call_plain, call_waiting, call_deciding\n"
    "	BEGIN \\name\n"
    "	call *%rax\n"
    "	END \\name\n"
    ".endr\n"
    "	BEGIN call_stepped\n"
    "	pushf\n"
    "	orl $0x100, (%rsp)\n"
    "	popf\n"
    "	call *%rax\n"
    "	pushf\n"
    "	andl $~0x100, (%rsp)\n"
    "	popf\n"
    "	END call_stepped\n");
/* Stops outside the function: call, pushf, andl, popf. */
#define STEPS_BESIDES 4u

static volatile unsigned int steps;

static void stepped(int signal)
{
	(void)signal;
	steps++;
}

/* -- commands ------------------------------------------------------------------------------------------------------ */

/* Marks the events that are ACKs with a decision; returns their number. */
static size_t find_decisions(unsigned char *decides)
{
	unsigned int before = 0;
	size_t count = 0;

	replay_begin();
	for (size_t i = 0; i < events_count; i++) {
		decides[i] = 0;
		if (!replay_event(events + i * replay_event_size))
			continue;
		call_plain(&replay_call);
		decides[i] = replay_decisions() != before;
		count += decides[i];
		before = replay_decisions();
	}
	return count;
}

static void play_calls(const unsigned char *decides)
{
	replay_begin();
	for (size_t i = 0; i < events_count; i++) {
		if (!replay_event(events + i * replay_event_size))
			continue;
		if (decides[i])
			call_deciding(&replay_call);
		else
			call_waiting(&replay_call);
	}
}

static void play_steps(const unsigned char *decides, unsigned int every)
{
	unsigned int acks = 0;

	replay_begin();
	for (size_t i = 0; i < events_count; i++) {
		if (!replay_event(events + i * replay_event_size))
			continue;
		if (acks++ % every) {
			call_plain(&replay_call);
			continue;
		}
		steps = 0;
		call_stepped(&replay_call);
		printf("%u %u\n", steps - STEPS_BESIDES, decides[i]);
	}
}

/* CPU time of this program. */
static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static void nothing(const struct replay_call *call)
{
	(void)call;
	asm volatile("");
}

/* The time of these events, all in one connection, ns. */
static double time_events(const size_t *indices, size_t count, void (*call)(const struct replay_call *call))
{
	double began;

	replay_begin();
	replay_event(events); /* init */
	began = now_ns();
	for (size_t i = 0; i < count; i++) {
		replay_event(events + indices[i] * replay_event_size);
		call(&replay_call);
	}
	return now_ns() - began;
}

static void expect_decisions(size_t count)
{
	if (replay_decisions() == count)
		return;
	fprintf(stderr, "replay: the record's decisions alone gave %u decisions instead of %zu\n",
		replay_decisions(), count);
	exit(1);
}

static size_t *list_decisions(const unsigned char *decides, size_t count)
{
	size_t *indices = calloc(count + 1, sizeof(*indices)), n = 0;

	if (!indices)
		fail("no memory");
	if (!count) {
		fprintf(stderr, "replay: this record has no decision\n");
		exit(1);
	}
	for (size_t i = 0; i < events_count; i++)
		if (decides[i])
			indices[n++] = i;
	return indices;
}

static void time_decisions(const size_t *indices, size_t count, int batches)
{
	while (batches--) {
		double total_ns = time_events(indices, count, call_plain);

		expect_decisions(count);
		printf("%.2f %.2f\n", total_ns / count, time_events(indices, count, nothing) / count);
	}
}

/* Fills the caches near the processor with other data. */
static void fill_caches(void)
{
	static volatile char data[CACHES];

	for (size_t i = 0; i < CACHES; i += 64)
		data[i]++;
}

static void time_cold(const size_t *indices, size_t count, int calls, void (*call)(const struct replay_call *call))
{
	for (int i = 0; i < calls; i++) {
		struct timespec begun, ended;

		if (i % count == 0) {
			replay_begin();
			replay_event(events); /* init */
		}
		fill_caches();
		/* after fill_caches(), because the kernel, too, has just used the socket */
		replay_event(events + indices[i % count] * replay_event_size);
		clock_gettime(CLOCK_MONOTONIC, &begun);
		call(&replay_call);
		clock_gettime(CLOCK_MONOTONIC, &ended);
		printf("%.0f\n", (ended.tv_sec - begun.tv_sec) * 1e9 + ended.tv_nsec - begun.tv_nsec);
	}
}

static void time_core(unsigned int hidden, int batches)
{
	while (batches--) {
		double began = now_ns();

		replay_core(hidden, CORE_STEPS);
		printf("%.2f\n", (now_ns() - began) / CORE_STEPS);
	}
}

/* The kernel's struct jump_entry: relative addresses of a branch, its target and the key that enables it. */
struct jump_entry {
	int32_t code, target;
	int64_t key;
};

extern struct jump_entry __start___jump_table[] __attribute__((weak)), __stop___jump_table[] __attribute__((weak));
/* The key is in the first bytes of the tracepoint. */
extern char __tracepoint_ndm_decision[] __attribute__((weak));
#define TRACEPOINT_HEAD 64

static void show_tracepoint(void)
{
	for (struct jump_entry *entry = __start___jump_table; entry < __stop___jump_table; entry++) {
		char *key = (char *)&entry->key + (entry->key & ~3ll);
		unsigned char *code = (unsigned char *)&entry->code + entry->code;

		if (key < __tracepoint_ndm_decision || key >= __tracepoint_ndm_decision + TRACEPOINT_HEAD)
			continue;
		for (int i = 0; i < 5; i++)
			printf("%02x%c", code[i], i < 4 ? ' ' : '\n');
	}
}

static void read_events(const char *name)
{
	int fd = open(name, O_RDONLY);
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		fail(name);
	if (!status.st_size || status.st_size % replay_event_size) {
		fprintf(stderr, "replay: %s has %lld bytes, not a multiple of an event's %lu bytes\n", name,
			(long long)status.st_size, replay_event_size);
		exit(1);
	}
	events = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (events == MAP_FAILED)
		fail(name);
	events_count = status.st_size / replay_event_size;
	close(fd);
}

static int usage(void)
{
	fprintf(stderr, "usage: replay SCHEME calls EVENTS | step EVENTS EVERY | decide EVENTS BATCHES |\n"
			"       cold EVENTS CALLS | clock EVENTS CALLS | core HIDDEN BATCHES | tracepoint\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	unsigned char *decides;
	size_t decisions;
	int number = argc > 4 ? atoi(argv[4]) : 0;
	int err;

	signal(SIGTRAP, stepped);
	signal(SIGSEGV, crashed);
	if (argc == 3 && !strcmp(what, "tracepoint")) {
		show_tracepoint();
		return 0;
	}
	if (argc < 4 || (argc > 4 && number < 1))
		return usage();
	map_percpu_area();
	turn_off_ftrace();
	err = replay_open(argv[1]);
	if (err) {
		fprintf(stderr, "replay: the module's init for %s failed with error %d\n", argv[1], err);
		return 1;
	}
	if (argc == 5 && !strcmp(what, "core")) {
		time_core(atoi(argv[3]), number);
		return 0;
	}
	read_events(argv[3]);
	decides = malloc(events_count);
	if (!decides)
		fail("no memory");
	decisions = find_decisions(decides);
	if (argc == 4 && !strcmp(what, "calls"))
		play_calls(decides);
	else if (argc == 5 && !strcmp(what, "step"))
		play_steps(decides, number);
	else if (argc == 5 && !strcmp(what, "decide"))
		time_decisions(list_decisions(decides, decisions), decisions, number);
	else if (argc == 5 && !strcmp(what, "cold"))
		time_cold(list_decisions(decides, decisions), decisions, number, call_plain);
	else if (argc == 5 && !strcmp(what, "clock"))
		time_cold(list_decisions(decides, decisions), decisions, number, nothing);
	else
		return usage();
	return 0;
}
