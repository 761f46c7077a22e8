// SPDX-License-Identifier: GPL-2.0
/*
 * What every file of the traffic program needs: errors, and the words of a run's line.
 *
 * An error ends the program. The guest's agent reports what the program has printed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

int ends_with_reset;

void die(const char *what)
{
	fail("%s: %s", what, strerror(errno));
}

void fail(const char *format, ...)
{
	va_list arguments;

	fputs("flow: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

void bad(const char *text)
{
	fprintf(stderr, "flow: bad argument %s\n", text);
	exit(2);
}

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
