/* SPDX-License-Identifier: GPL-2.0 */
/* Written by make export-weights and make module MODEL=. The model that is compiled in. */
#ifndef NDM_WEIGHTS_H
#define NDM_WEIGHTS_H

#include "models/mixed.h"

#define NDM_BUILTIN_MODEL ndm_model_mixed

#endif /* NDM_WEIGHTS_H */
