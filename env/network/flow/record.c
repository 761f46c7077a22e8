// SPDX-License-Identifier: GPL-2.0
/* Stores tables of doubles in memory and prints them at the end, because writing during a run would slow the lab down. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

static const char names[TABLES][8] = { "sender", "receiver", "sent", "received", "latency", "buckets", "queue", "ports" };
static struct {
	double *values;
	size_t count, room;
} tables[TABLES];

void record(enum table table, const double *row, size_t columns)
{
	size_t needed = tables[table].count + columns;

	if (needed > tables[table].room) {
		tables[table].room = tables[table].room ? 2 * needed : 1 << 16;
		tables[table].values = realloc(tables[table].values, tables[table].room * sizeof(*row));
		if (!tables[table].values)
			die("samples");
	}
	memcpy(tables[table].values + tables[table].count, row, columns * sizeof(*row));
	tables[table].count = needed;
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
		if (tables[t].count)
			total += sizeof(names[t]) + sizeof(total) + tables[t].count * sizeof(double);
	record_write(&total, sizeof(total));
	for (int t = 0; t < TABLES; t++) {
		uint64_t length = tables[t].count * sizeof(double);

		if (!length)
			continue;
		record_write(names[t], sizeof(names[t]));
		record_write(&length, sizeof(length));
		record_write(tables[t].values, length);
	}
	if (fflush(stdout))
		die("write");
}

void record_forget(void)
{
	for (int t = 0; t < TABLES; t++)
		tables[t].count = 0;
}
