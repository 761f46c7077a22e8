// SPDX-License-Identifier: GPL-2.0
/* Stores tables in memory and prints them at the end, because writing during a run would slow the lab down. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

static const char names[TABLES][8] = TABLE_NAMES;
static struct {
	char *rows;
	size_t length, room;	/* bytes */
} tables[TABLES];

void record(enum table table, const void *row, size_t size)
{
	size_t needed = tables[table].length + size;

	if (needed > tables[table].room) {
		tables[table].room = tables[table].room ? 2 * needed : 1 << 19;
		tables[table].rows = realloc(tables[table].rows, tables[table].room);
		if (!tables[table].rows)
			die("samples");
	}
	memcpy(tables[table].rows + tables[table].length, row, size);
	tables[table].length = needed;
}

static void record_write(const void *data, size_t length)
{
	if (fwrite(data, 1, length, stdout) != length)
		die("write");
}

void record_print(void)
{
	uint64_t total = 0;

	for (int t = 0; t < TABLES; t++)
		if (tables[t].length)
			total += sizeof(names[t]) + sizeof(total) + tables[t].length;
	record_write(&total, sizeof(total));
	for (int t = 0; t < TABLES; t++) {
		uint64_t length = tables[t].length;

		if (!length)
			continue;
		record_write(names[t], sizeof(names[t]));
		record_write(&length, sizeof(length));
		record_write(tables[t].rows, length);
	}
	if (fflush(stdout))
		die("write");
}

void record_forget(void)
{
	for (int t = 0; t < TABLES; t++)
		tables[t].length = 0;
}
