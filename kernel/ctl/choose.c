// SPDX-License-Identifier: GPL-2.0
/* For whom NDM is: all new connections of this network namespace, or those to a destination. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"

#define DEFAULT "/proc/sys/net/ipv4/tcp_congestion_control"
#define BEFORE "/run/ndm-default"	/* the default before NDM was */
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

void default_on(const char *name)
{
	char before[32];

	if (read_line(DEFAULT, before, sizeof(before)) && strcmp(before, name) &&
	    !write_line(BEFORE, before))
		fail(BEFORE ": %s", strerror(errno));
	if (!write_line(DEFAULT, name))
		fail(DEFAULT ": %s%s", strerror(errno), errno == EPERM ?
		     " (a container takes only what the machine allows: sysctl net.ipv4.tcp_allowed_congestion_control)" :
		     "");
	printf("new connections use %s; ndmctl default off: %s again\n", name, before);
}

void default_off(void)
{
	char before[32] = USUAL;

	read_line(BEFORE, before, sizeof(before));
	if (!write_line(DEFAULT, before))
		fail(DEFAULT ": %s", strerror(errno));
	unlink(BEFORE);
	printf("new connections use %s\n", before);
}

/* Runs ip; returns its status. */
static int run_ip(char **arguments)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		execvp("ip", arguments);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -1;
	return status;
}

/* The first line of what ip prints, with the words of the route. */
static bool ask_ip(const char *question, const char *destination, char *line, size_t size)
{
	char command[256];
	FILE *stream;
	bool answered;

	snprintf(command, sizeof(command), "ip route %s %s 2>/dev/null", question, destination);
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

/*
 * Adds congctl to the route of a destination: the route itself where there is one, else a new one
 * as the route that leads there now.
 */
void route_add(const char *destination, const char *name)
{
	char line[1024], *words[64] = { "ip", "route" }, *word, *save;
	char address[64];
	bool exact;
	int count = 2;

	check_destination(destination);
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
		/* Of the answer to "get", only how to go there. */
		if (!exact && strcmp(word, "via") && strcmp(word, "dev")) {
			strtok_r(NULL, " ", &save);
			continue;
		}
		if (!strcmp(word, "congctl")) {
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
	if (run_ip(words))
		fail("ip has refused the route to %s", destination);
	printf("new connections to %s use %s\n", destination, name);
}
