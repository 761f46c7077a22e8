/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A slot: one congestion control of the module, "ndm" or "ndm_NAME", and the model
 * that its connections use.
 *
 *	echo "+ndm_mine mine.bin" > /sys/module/tcp_ndm/parameters/slots
 *	echo "-ndm_mine" > /sys/module/tcp_ndm/parameters/slots
 *
 * "+" gives a slot the model of /lib/firmware/mine.bin, which the firmware loader
 * reads and ndm_blob.h parses; a slot that does not exist is added. In
 * place of a file, "builtin" is the compiled-in model, with which "ndm" begins. Open
 * connections use a new model from their next decision on, with their state reset to
 * zero: it has no meaning for other weights. A refused file changes nothing. "-"
 * removes a slot, except "ndm".
 *
 * /sys/module/tcp_ndm/NAME/ describes the model of each slot; counters/ shows its
 * activity.
 *
 * Lifetime. A socket, open, closed or listening, may point at the operations in a
 * slot, and so may the default of a network namespace. They take a reference to the
 * module, not to the slot, and without init() having run. So a slot that is removed
 * only loses its name and its folder. Its memory and its last model stay, for the
 * sockets that use them, until the module is unloaded, which no socket outlives.
 * "+" with its name takes it up again, and no other name does. NDM_SLOTS bounds what
 * this keeps.
 */
#ifndef NDM_SLOT_H
#define NDM_SLOT_H

#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <net/tcp.h>

#include "ndm/ndm_blob.h"

#define NDM_BUILTIN "builtin"

/* Names of slots until the module is unloaded, about 8 KB each. */
#define NDM_SLOTS 64

/* Characters of a model file's name, with a zero. */
#define NDM_FILE_MAX 64

/* A model in use, and the file that it comes from. */
struct ndm_loaded {
	struct rcu_head rcu;	/* kfree_rcu() wants it near the beginning */
	const struct ndm_described_model *described;
	struct ndm_network network;
	u32 number;		/* increases with each model of the slot */
	char file[NDM_FILE_MAX];
	u8 digest[NDM_BLOB_DIGEST];	/* SHA-256 of the file's content; 0: compiled in */
	struct ndm_described_model from_file;
};

struct ndm_slot {
	struct tcp_congestion_ops ops;	/* ndm_slot_of() finds the slot by it */
	struct ndm_loaded __rcu *active;
	unsigned long __percpu *decisions;
	atomic_t without_state;		/* connections that run Reno, without memory for a state */
	struct kobject folder;		/* in sysfs, while registered */
	struct completion folder_released;
	/* under the mutex of ndm_slot.c */
	bool registered;
	unsigned int swaps, refused;
};

static inline struct ndm_slot *ndm_slot_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct ndm_slot, ops);
}

/*
 * Registers "ndm" with the compiled-in model. @ops: of all slots, without a name. Returns 0 or
 * a negative errno.
 */
int ndm_slots_init(const struct tcp_congestion_ops *ops,
		   const struct ndm_described_model *builtin);

/* Removes all slots and their memory: no socket uses them any more. */
void ndm_slots_exit(void);

/* Reads the parameter "pin". Returns its first text that is no SHA-256; NULL if all are. */
const char *ndm_pin_init(void);

/* Why a model file with this SHA-256 may not be loaded; NULL: it may. */
const char *ndm_pin_refuses(const u8 *digest);

#endif /* NDM_SLOT_H */
