/* SPDX-License-Identifier: GPL-2.0 */
/* What must always hold, in a fuzz target: libFuzzer keeps the input where it does not. */
#ifndef NDM_FUZZ_REQUIRE_H
#define NDM_FUZZ_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "%s:%d: %s does not hold\n",	\
				__FILE__, __LINE__, #condition);	\
			abort();					\
		}							\
	} while (0)

#endif /* NDM_FUZZ_REQUIRE_H */
