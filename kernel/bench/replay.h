/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the two halves of the replay program: socket.c, core.c and the module
 * under test have the kernel's headers and flags, replay.c those of user space.
 */
#ifndef NDM_REPLAY_H
#define NDM_REPLAY_H

/* A call of cong_control(), with the arguments that this kernel gives it. */
struct replay_call {
	void *function;
	unsigned long arguments[4];
};

/* -- socket.c -- */
extern const unsigned long replay_event_size;
/* The module's own init; then the congestion control of that name is played. */
int replay_open(const char *name);
/* A new connection. */
void replay_begin(void);
/* The socket as it was at the event. True for an ACK: replay_call follows. */
int replay_event(const void *event);
extern struct replay_call replay_call;
/* Of this connection by NDM; 0 for another congestion control. */
unsigned int replay_decisions(void);

/* -- core.c -- */
/* steps decisions of the network alone with the first @hidden units. */
void replay_core(unsigned int hidden, unsigned int steps);

/* -- the module -- */
int init_module(void);

#endif /* NDM_REPLAY_H */
