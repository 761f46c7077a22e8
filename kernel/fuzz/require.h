/* SPDX-License-Identifier: GPL-2.0 */
/* Invariants of a fuzz target: libFuzzer stores the input that violates one. */
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
