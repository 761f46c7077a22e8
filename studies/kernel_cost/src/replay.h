/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the two halves of the replay program: socket.c, core.c and
 * the module under test are built with the kernel's headers and flags, replay.c with
 * those of user space.
 */
#ifndef NDM_REPLAY_H
#define NDM_REPLAY_H

/* A call of cong_control() with this kernel's arguments. */
struct replay_call {
	void *function;
	unsigned long arguments[4];
};

/* -- socket.c -- */
extern const unsigned long replay_event_size;
/* Calls the module's init and selects a congestion control; returns 0 or an error. */
int replay_open(const char *name);
/* Begins a new connection. */
void replay_begin(void);
/* Sets the socket as at the event. True for an ACK: replay_call is then to be called. */
int replay_event(const void *event);
extern struct replay_call replay_call;
/* NDM's decisions in this connection; 0 for another congestion control. */
unsigned int replay_decisions(void);

/* -- core.c -- */
/* Runs the network alone for @steps decisions with @hidden units. */
void replay_core(unsigned int hidden, unsigned int steps);

/* -- the module -- */
int init_module(void);

#endif /* NDM_REPLAY_H */
