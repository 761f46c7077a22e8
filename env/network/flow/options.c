// SPDX-License-Identifier: GPL-2.0
/* What a run's line says about all of its flows, and the names in it. */
#include <string.h>

#include "flow.h"

int ends_with_reset;

enum kind parse_kind(const char *name)
{
	static const char *const names[] = { [BULK] = "bulk", [STREAM] = "stream", [REQUEST] = "request", [WEB] = "web" };

	for (int kind = BULK; kind <= WEB; kind++)
		if (!strcmp(name, names[kind]))
			return kind;
	bad(name);
}

int parse_ending(const char *name)
{
	ends_with_reset = !strcmp(name, "reset");
	return ends_with_reset || !strcmp(name, "deliver");
}
