// SPDX-License-Identifier: GPL-2.0
/* Plays a model for the learning flows of one run; see lab_player.h. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lab_player.h"
#include "ndm_blob.h"

struct player {
	struct ndm_described_model is;
	struct ndm_wire_play plan;
	s16 h[LAB_PLAYER_FLOWS][NDM_HIDDEN_MAX];	/* Q15 */
	u32 first_flow;			/* flows count up; 0: none seen yet */
	u64 end_us;
	s16 *noise;			/* [flows][decisions][NDM_OUTPUTS], Q14 */
	struct ndm_wire_step *steps;
	u32 recorded;
};

static struct player *player;

/* Flows count on from run to run: those up to the former are of earlier runs. */
static u32 earlier_flows, newest_flow;

void lab_player_end(void)
{
	if (!player)
		return;
	kvfree(player->steps);
	kvfree(player->noise);
	kvfree(player);
	player = NULL;
}

bool lab_player_plays(void)
{
	return player;
}

const void *lab_player_record(size_t *size)
{
	*size = player->recorded * sizeof(*player->steps);
	return player->steps;
}

static size_t noise_size(const struct ndm_wire_play *plan)
{
	return array3_size(plan->flows, plan->decisions,
			   NDM_OUTPUTS * sizeof(s16));
}

static const char *take(struct player *next, const void *frame, size_t size)
{
	const struct ndm_wire_play *plan = &next->plan;
	const u8 *model = frame + sizeof(*plan);
	const char *problem;
	size_t steps;

	memcpy(&next->plan, frame, sizeof(*plan));
	steps = size_mul(plan->steps, sizeof(*next->steps));
	if (!plan->steps || steps > NDM_FRAME_MAX)
		return "it is to record too much or nothing";
	if (size != size_add(size_add(sizeof(*plan), plan->model_bytes),
			     noise_size(plan)))
		return "it has not the size that it says";
	problem = ndm_blob_parse(model, plan->model_bytes, &next->is.model,
				 &next->is.facts);
	if (problem)
		return problem;
	/* Touched before the host reads or writes it. */
	next->noise = kvzalloc(max(noise_size(plan), sizeof(s16)), GFP_KERNEL);
	next->steps = kvzalloc(steps, GFP_KERNEL);
	if (!next->noise || !next->steps)
		return "there is no memory for it";
	memcpy(next->noise, model + plan->model_bytes, noise_size(plan));
	return NULL;
}

const char *lab_player_begin(const void *frame, size_t size)
{
	const char *problem;

	lab_player_end();
	if (size < sizeof(struct ndm_wire_play))
		return "it is too short";
	player = kvzalloc(sizeof(*player), GFP_KERNEL);
	if (!player)
		return "there is no memory for it";
	problem = take(player, frame, size);
	if (problem)
		lab_player_end();
	earlier_flows = newest_flow;
	return problem;
}

/* Which of the run's flows this is, from 0. */
static u32 index_of(u32 flow)
{
	if (!player->first_flow)
		player->first_flow = flow;
	return flow - player->first_flow;
}

static const s16 *noise_of(u32 flow, u32 decision)
{
	static const s16 silence[NDM_OUTPUTS];
	const struct ndm_wire_play *plan = &player->plan;

	if (flow >= plan->flows || decision >= plan->decisions)
		return silence;
	return player->noise +
	       ((size_t)flow * plan->decisions + decision) * NDM_OUTPUTS;
}

static void play(u32 flow, struct ndm_wire_step *step)
{
	const struct ndm_wire_observation *seen = &step->observation;
	const s16 *noise = noise_of(flow, seen->decision);
	s16 mean[NDM_OUTPUTS];
	int k;

	ndm_core_step(&player->is.model, player->h[flow], seen->features, mean);
	for (k = 0; k < NDM_OUTPUTS; k++)
		step->action.actions[k] = clamp_t(s32, mean[k] + noise[k],
						  S16_MIN, S16_MAX);
}

bool lab_player_decide(const struct ndm_wire_observation *observation,
		       struct ndm_wire_action *action)
{
	struct ndm_wire_step *step;
	u32 flow;
	int k;

	*action = (struct ndm_wire_action) {};
	if (observation->flow <= earlier_flows)
		return true;
	flow = index_of(observation->flow);
	if (flow >= LAB_PLAYER_FLOWS)
		return true;
	if (!player->end_us)
		player->end_us = observation->now_us + player->plan.duration_us;
	step = &player->steps[player->recorded++];
	step->observation = *observation;
	play(flow, step);
	for (k = 0; k < NDM_OUTPUTS; k++)
		action->actions[k] = clamp_t(s16, step->action.actions[k],
					     -(1 << NDM_ACTION_FRAC),
					     1 << NDM_ACTION_FRAC);
	newest_flow = max(newest_flow, observation->flow);
	return player->recorded < player->plan.steps &&
	       observation->now_us < player->end_us &&
	       observation->cwnd <= player->plan.most_cwnd;
}
