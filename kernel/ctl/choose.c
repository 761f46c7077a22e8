// SPDX-License-Identifier: GPL-2.0
/* For whom NDM is: all new connections of this network namespace, or those to a destination. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

#define DEFAULT "/proc/sys/net/ipv4/tcp_congestion_control"
#define AVAILABLE "/proc/sys/net/ipv4/tcp_available_congestion_control"
#define BEFORE "/run/ndm-default-%lu"	/* the default before NDM, of a network namespace */
#define USUAL "cubic"

/* Reads a line; false if there is no such file. */
static bool read_line(const char *file, char *line, size_t size)
{
	FILE *stream = fopen(file, "r");
	bool read = stream && fgets(line, size, stream);

	if (stream)
		fclose(stream);
	if (read)
		line[strcspn(line, "\n")] = 0;
	return read;
}

static bool write_line(const char *file, const char *line)
{
	FILE *stream = fopen(file, "w");

	return stream && fputs(line, stream) >= 0 && !fclose(stream);
}

static const char *before_file(void)
{
	static char file[64];
	struct stat namespace;

	if (stat("/proc/self/ns/net", &namespace))
		fail("/proc/self/ns/net: %s", strerror(errno));
	snprintf(file, sizeof(file), BEFORE, (unsigned long)namespace.st_ino);
	return file;
}

bool is_default(const char *name)
{
	char now[32];

	return read_line(DEFAULT, now, sizeof(now)) && !strcmp(now, name);
}

bool is_available(const char *name)
{
	char line[1024], *word, *save;

	if (!read_line(AVAILABLE, line, sizeof(line)))
		return false;
	for (word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (!strcmp(word, name))
			return true;
	return false;
}

void default_on(const char *name)
{
	char before[32];

	if (is_default(name)) {
		printf("new connections use %s already\n", name);
		return;
	}
	if (!read_line(DEFAULT, before, sizeof(before)))
		fail(DEFAULT ": %s", strerror(errno));
	if (!write_line(DEFAULT, name))
		fail(DEFAULT ": %s%s", strerror(errno), errno == EPERM ?
		     " (a container takes only what the machine allows: sysctl net.ipv4.tcp_allowed_congestion_control)" :
		     "");
	if (!write_line(before_file(), before))
		fprintf(stderr, "ndmctl: %s: %s; ndmctl default off will set " USUAL "\n", before_file(),
			strerror(errno));
	printf("new connections use %s; ndmctl default off: %s again\n", name, before);
}

void default_off(void)
{
	char before[32] = USUAL;

	if (!read_line(before_file(), before, sizeof(before)))
		strcpy(before, USUAL);
	if (!write_line(DEFAULT, before))
		fail(DEFAULT ": %s", strerror(errno));
	unlink(before_file());
	printf("new connections use %s\n", before);
}

/* The first line of what ip prints, with the words of the route. */
static bool ask_ip(const char *question, const char *destination, char *line, size_t size)
{
	char command[256];
	FILE *stream;
	bool answered;

	snprintf(command, sizeof(command), "ip %s route %s %s 2>/dev/null",
		 strchr(destination, ':') ? "-6" : "-4", question, destination);
	stream = popen(command, "r");
	answered = stream && fgets(line, size, stream);
	if (stream)
		pclose(stream);
	line[answered ? strcspn(line, "\n") : 0] = 0;
	return answered;
}

/* An address or a prefix, and nothing that a shell would take for something else. */
static void check_destination(const char *text)
{
	if (!*text || strspn(text, "0123456789abcdefABCDEF.:/") != strlen(text))
		fail("%s is no destination: an address or a prefix, such as 198.51.100.0/24", text);
}

/* Whether a word of a route, with the one behind it, is not for a new one. */
static bool is_dropped(const char *word, bool exact)
{
	static const char *const states[] = { "congctl", "expires", "uid", "users", "age" };
	unsigned int i;

	/* Of the answer to "get", only how to go there. */
	if (!exact)
		return strcmp(word, "via") && strcmp(word, "dev") && strcmp(word, "src");
	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (!strcmp(word, states[i]))
			return true;
	return false;
}

/* Whether a word stands alone. */
static bool is_flag(const char *word)
{
	static const char *const flags[] = { "linkdown", "dead", "offload", "trap", "cache", "onlink" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (!strcmp(word, flags[i]))
			return true;
	return false;
}

/*
 * Adds congctl to the route of a destination: the route itself where there is one, else a new one
 * as the route that leads there now.
 */
void route_add(const char *destination, const char *name)
{
	char line[1024], *words[64] = { "ip", "-4", "route" }, *word, *save;
	char address[64];
	bool exact;
	int count = 3;

	check_destination(destination);
	if (strchr(destination, ':'))
		words[1] = "-6";
	exact = ask_ip("show exact", destination, line, sizeof(line));
	words[count++] = exact ? "change" : "add";
	words[count++] = (char *)destination;
	if (!exact) {
		snprintf(address, sizeof(address), "%.*s", (int)strcspn(destination, "/"), destination);
		if (!ask_ip("get", address, line, sizeof(line)))
			fail("no route leads to %s", destination);
	}
	word = strtok_r(line, " ", &save);	/* the destination */
	while ((word = strtok_r(NULL, " ", &save)) && count < 60) {
		if (is_flag(word)) {
			if (!strcmp(word, "onlink"))
				words[count++] = word;
			continue;
		}
		if (is_dropped(word, exact)) {
			strtok_r(NULL, " ", &save);
			continue;
		}
		words[count++] = word;
		word = strtok_r(NULL, " ", &save);
		if (word)
			words[count++] = word;
	}
	words[count++] = "congctl";
	words[count++] = (char *)name;
	words[count] = NULL;
	follow_kernel_log();
	if (run(words))
		fail("ip has refused the route to %s", destination);
	printf("new connections to %s use %s%s\n", destination, name, exact ? "" :
	       "; the route has today's gateway: when that changes, delete it and add it again");
}
