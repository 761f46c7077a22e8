/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who decides for the learning flows of a run without asking the host: a model,
 * noise that the host has drawn, and a record of what came of it. Beside them
 * there may be flows of a second model, a snapshot: without noise or record.
 *
 * An answer from the host takes as long as the packets of a round trip do. So a
 * training hands the policy over, and gets whole episodes back.
 */
#ifndef LAB_PLAYER_H
#define LAB_PLAYER_H

#include "ndm_gym.h"

/* Of each model; flows beyond hold their windows, unrecorded. */
#define LAB_PLAYER_FLOWS 64

/**
 * lab_player_begin - play from now on
 * @frame: a payload of NDM_FRAME_PLAY; copied
 * @size: its bytes
 *
 * Context: may sleep; nobody may be playing.
 * Return: NULL, or why the frame is none.
 */
const char *lab_player_begin(const void *frame, size_t size);

/* Whether there is a run to be played. */
bool lab_player_plays(void);

/**
 * lab_player_decide - decide for one flow, and record it if it learns
 * @model: whose flow it is
 * @observation: what it sees
 * @action: filled in
 *
 * Context: any; calls must not overlap.
 * Return: whether the run goes on; when not, this was its last decision.
 */
bool lab_player_decide(enum ndm_gym_model model,
		       const struct ndm_wire_observation *observation,
		       struct ndm_wire_action *action);

/* What has been recorded, @size bytes of it; lab_player_end() takes it away. */
const void *lab_player_record(size_t *size);
void lab_player_end(void);

#endif /* LAB_PLAYER_H */
