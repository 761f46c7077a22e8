/* SPDX-License-Identifier: GPL-2.0 */
/* Written by make export-weights and make module MODELS=. The models in tcp_ndm, ndm's first. */
#ifndef NDM_WEIGHTS_H
#define NDM_WEIGHTS_H

#include "models/mixed.h"

#define NDM_MODELS(each) each(mixed)

#endif /* NDM_WEIGHTS_H */
