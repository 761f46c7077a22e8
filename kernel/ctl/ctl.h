/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NDM_CTL_H
#define NDM_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ndm_bpf.h"
#include "ndm/ndm_blob.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The name that stands for the compiled-in model. */
#define NDM_BUILTIN "builtin"

/* The most congestion controls that NDM has: kernel/ndm/tcp/ndm_slot.h. */
#define SLOTS 64

/* One of NDM's congestion controls: its model now, and what it has counted. */
struct slot {
	char name[16];
	char model[NDM_BPF_NAME];
	char sha256[65];	/* of the float policy, hexadecimal */
	__u32 swaps;		/* models taken so far */
	struct ndm_bpf_counters counters;
	bool counts_connections;	/* the module does not */
};

/* A way into the kernel. Functions exit with a message when they cannot do what they are asked to. */
struct way {
	const char *name;
	bool (*loaded)(void);
	void (*load)(const char *file);
	void (*unload)(void);
	int (*slots)(struct slot *slots, int most);	/* returns how many there are */
	/* Without a slot of this name, the module adds it. */
	void (*use)(const char *slot, const char *file);
	void (*remove)(const char *slot);
};

extern const struct way bpf_way, module_way;

/* Ends the program with a message. */
void fail(const char *format, ...) __attribute__((__noreturn__, __format__(__printf__, 1, 2)));

/* Has fail() print what the kernel's log says from now on. */
void follow_kernel_log(void);

/* Runs a program to its end. Returns its status, or -1. */
int run(char *const arguments[]);

/* Opens a file for reading, as fopen() does. Fails for a FIFO and others that could make it wait. */
FILE *open_regular(const char *file);

/* A model file that was read. */
struct model_file {
	struct ndm_described_model content;
	char sha256[65];	/* of the file, hexadecimal */
	const char *signer;	/* signed_by() */
};

/* Reads and checks a model file and its signature; fails when they are refused. */
void read_model(const char *file, struct model_file *model);

/*
 * The name of the administrator's key that has signed a file with this content. NULL: there is
 * neither a signature nor a key. Fails when only one of them is there, or no key has signed it.
 */
const char *signed_by(const char *file, const void *data, size_t size);

/* The file of a model: where `make install-bpf` puts the one of that name, or else @name itself. */
const char *model_file(const char *name);

/* Whether a file's name ends with @suffix, and has more. */
bool has_suffix(const char *name, const char *suffix);

/* Lists the installed models. */
void list_models(void);

/* Says what this machine lacks. */
void doctor(const char *object);

/* Prints a text as a string of JSON. */
void print_json_text(const char *text);

/* A digest of 32 bytes as text. */
void digest_text(char text[65], const __u8 *digest);

/* Opens the object for the running kernel; fails when libbpf does not take it. */
struct bpf_object *open_object(const char *file);

/* A TCP connection. */
struct connection {
	unsigned long long cookie;	/* the kernel's name for it */
	unsigned long long acked;	/* bytes */
	char control[16];
	char peer[64];
	double mbps;			/* acknowledged; filled in by watch() */
	unsigned int rtt_us;
	unsigned int min_rtt_us;
	unsigned int cwnd;
	unsigned int retransmits;
};

/* Lists the established connections of this network namespace. Returns how many there are. */
int connections(struct connection *list, int most);

/* Prints what NDM does each second, until a signal. */
void watch(const struct way *way, bool json);

/* Whether the kernel has a congestion control of this name. */
bool is_available(const char *name);

/* Makes a congestion control the default of this network namespace, or the one before NDM again. */
bool is_default(const char *name);
void default_on(const char *name);
void default_off(void);

/* Has connections to a destination use a congestion control. */
void route_add(const char *destination, const char *name);

/* Prints decisions as the module's tracepoint does, until @count of them or a signal. 0: no end */
void trace_bpf(unsigned long count);

#endif /* NDM_CTL_H */
