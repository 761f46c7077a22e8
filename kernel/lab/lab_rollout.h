/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rollout inside the lab's kernel: a model decides for the learner flows of a
 * run, with exploration noise that the host has drawn, and their steps are
 * recorded. Flows of a second model, a snapshot, may run beside them; these have
 * no noise and are not recorded.
 *
 * To ask the host costs as much time as to simulate the packets of a round trip.
 * So the host sends the policy once and receives whole episodes.
 */
#ifndef LAB_ROLLOUT_H
#define LAB_ROLLOUT_H

#include "ndm_gym.h"

/* Of each model; flows beyond hold their windows, unrecorded. */
#define LAB_ROLLOUT_FLOWS 64

/**
 * lab_rollout_begin - start a rollout
 * @frame: a payload of NDM_FRAME_PLAY; copied
 * @size: its bytes
 *
 * Context: may sleep; no rollout may be running.
 * Return: NULL, or why the frame is refused.
 */
const char *lab_rollout_begin(const void *frame, size_t size);

/* Whether a rollout is running. */
bool lab_rollout_runs(void);

/**
 * lab_rollout_decide - decide for one flow, and record the step of a learner
 * @model: the flow's model
 * @observation: the flow's observation
 * @action: filled in
 *
 * Context: any; calls must not overlap.
 * Return: whether the run goes on; when not, this was its last decision.
 */
bool lab_rollout_decide(enum ndm_gym_model model,
			const struct ndm_wire_observation *observation,
			struct ndm_wire_action *action);

/* The recorded steps, @size bytes; valid until lab_rollout_end(). */
const void *lab_rollout_steps(size_t *size);
void lab_rollout_end(void);

#endif /* LAB_ROLLOUT_H */
