// SPDX-License-Identifier: GPL-2.0
/* NDM as the module tcp_ndm: its files in /sys/module. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

#define MODULE "/sys/module/tcp_ndm"
#define COMMANDS MODULE "/parameters/slots"
#define FIRMWARE "/lib/firmware/"

static bool module_loaded(void)
{
	return !access(MODULE, F_OK);
}

/* Runs a program for the module. @hint: why it may fail */
static void run_for_module(char *program, const char *hint)
{
	char *arguments[] = { program, "tcp_ndm", NULL };

	follow_kernel_log();
	if (run(arguments))
		fail("%s tcp_ndm has failed: %s", program, hint);
}

static bool is_locked_down(void)
{
	FILE *stream = fopen("/sys/kernel/security/lockdown", "r");
	char text[64] = "";

	if (!stream)
		return false;
	if (!fgets(text, sizeof(text), stream))
		text[0] = 0;
	fclose(stream);
	return text[0] && !strstr(text, "[none]");
}

static void module_load(const char *file)
{
	const char *hint = "is it installed (make install, or the package ndm-tcp-dkms)?";

	(void)file;
	if (bpf_way.loaded())
		hint = "a BPF program may have its name already: ndmctl unload";
	else if (is_locked_down())
		hint = "this kernel is locked down: is the module signed? The BPF program needs no signature (ndmctl load)";
	run_for_module("modprobe", hint);
}

static void module_unload(void)
{
	run_for_module("rmmod", "a connection may use it");
}

/* Reads a file of a slot's folder, without the end of the line. */
static void read_text(const char *slot, const char *name, char *text, size_t size)
{
	char path[256];
	FILE *stream;

	snprintf(path, sizeof(path), MODULE "/%s/%s", slot, name);
	stream = fopen(path, "r");
	if (!stream || !fgets(text, size, stream))
		fail("%s: %s", path, strerror(errno));
	text[strcspn(text, "\n")] = 0;
	fclose(stream);
}

static unsigned long long read_number(const char *slot, const char *name)
{
	char text[32];

	read_text(slot, name, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

static int is_slot(const struct dirent *entry)
{
	char path[512];

	snprintf(path, sizeof(path), MODULE "/%s/trained_decisions", entry->d_name);
	return !access(path, F_OK);
}

static int module_slots(struct slot *slots, int most)
{
	struct dirent **entries;
	int count = scandir(MODULE, &entries, is_slot, alphasort), i;

	if (count < 0)
		fail(MODULE ": %s", strerror(errno));
	for (i = 0; i < count && i < most; i++) {
		const char *name = entries[i]->d_name;

		snprintf(slots[i].name, sizeof(slots[i].name), "%.15s", name);
		read_text(name, "name", slots[i].model, sizeof(slots[i].model));
		read_text(name, "sha256", slots[i].sha256, sizeof(slots[i].sha256));
		slots[i].swaps = read_number(name, "counters/model_swaps");
		slots[i].counts_connections = false;
		memset(&slots[i].counters, 0, sizeof(slots[i].counters));
		slots[i].counters.decisions = read_number(name, "counters/decisions");
		slots[i].counters.without_state = read_number(name, "counters/without_state");
	}
	return i;
}

/* Writes to the module's parameter "slots". */
static void command(const char *text)
{
	FILE *stream = fopen(COMMANDS, "w");

	if (!stream)
		fail(COMMANDS ": %s", strerror(errno));
	follow_kernel_log();
	fputs(text, stream);
	if (fclose(stream))
		fail("the module has refused \"%s\": %s", text, strerror(errno));
}

static void module_use(const char *slot, const char *file)
{
	struct model_file model;
	char text[512];

	if (strcmp(file, NDM_BUILTIN)) {
		if (strncmp(file, FIRMWARE, strlen(FIRMWARE)))
			fail("the module takes models from " FIRMWARE ": copy %s there", file);
		read_model(file, &model);
		file += strlen(FIRMWARE);
	}
	snprintf(text, sizeof(text), "+%s %s", slot, file);
	command(text);
}

static void module_remove(const char *slot)
{
	char text[32];

	snprintf(text, sizeof(text), "-%s", slot);
	command(text);
}

const struct way module_way = {
	.name = "module",
	.loaded = module_loaded,
	.load = module_load,
	.unload = module_unload,
	.slots = module_slots,
	.use = module_use,
	.remove = module_remove,
};
