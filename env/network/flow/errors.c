// SPDX-License-Identifier: GPL-2.0
/* Errors: each one ends the program, and the guest's agent reports what it has printed. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

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
