/* SPDX-License-Identifier: GPL-2.0 */
/* A model for the BPF object, in user space. */
#ifndef NDM_BPF_PACK_H
#define NDM_BPF_PACK_H

#include <string.h>

#include "ndm_bpf.h"

/* Packs a model with as many units as the object's loops have. */
static inline void ndm_bpf_pack(struct ndm_network *network, const struct ndm_model *model)
{
	struct ndm_model padded = *model;

	padded.hidden = model->hidden <= NDM_BPF_UNITS_FEW ? NDM_BPF_UNITS_FEW :
							      NDM_BPF_UNITS_MANY;
	ndm_core_prepare(network, &padded);
}

#endif /* NDM_BPF_PACK_H */
