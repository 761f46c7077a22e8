// SPDX-License-Identifier: GPL-2.0
/* ndmctl: load NDM, as a BPF program or as the module tcp_ndm, and choose its models. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"

#ifndef NDM_OBJECT
#define NDM_OBJECT "/usr/lib/ndm/ndm.bpf.o"
#endif

static const char usage[] =
	"usage: ndmctl COMMAND\n"
	"\n"
	"  load [OBJECT]      load NDM as a BPF program (default: " NDM_OBJECT ")\n"
	"  load --module      load the module tcp_ndm\n"
	"  unload             unload what is loaded; open BPF connections keep it to their end\n"
	"  status [--json]    congestion controls, their models and decisions\n"
	"  models             the installed models\n"
	"  use MODEL [NAME]   another model, for open connections too: a file, an installed one,\n"
	"                     or builtin; NAME: the congestion control (default: ndm), which\n"
	"                     the module adds if there is none of this name, such as ndm_mine\n"
	"  remove NAME        remove a congestion control that was added; who has it keeps it\n"
	"  verify FILE        whether a model file is sound, and which key has signed it\n"
	"  watch [--json]     connections, rates, RTTs and interventions, each second\n"
	"  trace [COUNT]      print decisions as they are taken (BPF only)\n"
	"  default on|off     for all new connections of this network namespace, or as before\n"
	"  route add PREFIX [NAME]  for new connections to a destination (ip route ... congctl)\n"
	"  doctor             what this machine has and lacks for NDM\n";

static int kernel_log = -1;

void follow_kernel_log(void)
{
	kernel_log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	lseek(kernel_log, 0, SEEK_END);
}

/* Prints the messages since follow_kernel_log(): "priority,number,time,flags;message", one a read. */
static void print_kernel_log(void)
{
	char record[8192], *message;
	ssize_t size;

	while ((size = read(kernel_log, record, sizeof(record) - 1)) > 0) {
		record[size] = 0;
		message = strchr(record, ';');
		if (message)
			fprintf(stderr, "kernel: %.*s\n", (int)strcspn(message + 1, "\n"), message + 1);
	}
}

void fail(const char *format, ...)
{
	va_list arguments;

	fputs("ndmctl: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	print_kernel_log();
	exit(1);
}

int run(char *const arguments[])
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		execvp(arguments[0], arguments);
		_exit(127);
	}
	return child < 0 || waitpid(child, &status, 0) < 0 ? -1 : status;
}

static const struct way *loaded_way(void)
{
	if (bpf_way.loaded())
		return &bpf_way;
	if (module_way.loaded())
		return &module_way;
	if (is_available("ndm"))
		fail("/sys/fs/bpf has nothing of NDM, which is loaded: it belongs to another mount namespace (in place of ip netns exec NAME: nsenter --net=/run/netns/NAME)");
	fail("NDM is not loaded: ndmctl load");
}

/* The module and the BPF program are for Linux 6.1 and later. */
static void require_kernel(void)
{
	struct utsname kernel;
	int major, minor;

	if (!uname(&kernel) && sscanf(kernel.release, "%d.%d", &major, &minor) == 2 &&
	    (major < 6 || (major == 6 && minor < 1)))
		fail("Linux %s is too old: NDM needs 6.1 or later", kernel.release);
}

static void load(int count, char **arguments)
{
	bool module = count && !strcmp(arguments[0], "--module");
	const struct way *way = module ? &module_way : &bpf_way;

	require_kernel();
	if (way->loaded())
		fail("NDM is loaded already: ndmctl status");
	way->load(count ? arguments[0] : NDM_OBJECT);
}

void print_json_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_json(const struct way *way, const struct slot *slots, int count)
{
	int i;

	printf("{\"loaded\": \"%s\", \"controls\": [", way->name);
	for (i = 0; i < count; i++) {
		printf("%s{\"name\": \"%s\", \"model\": ", i ? ", " : "", slots[i].name);
		print_json_text(slots[i].model);
		printf(", \"policy_sha256\": \"%s\", \"swaps\": %u, \"decisions\": %llu, \"without_state\": %llu",
		       slots[i].sha256, slots[i].swaps, slots[i].counters.decisions,
		       slots[i].counters.without_state);
		if (slots[i].counts_connections)
			printf(", \"opened\": %llu", slots[i].counters.connections);
		printf("}");
	}
	printf("]}\n");
}

static void print_status(const struct way *way, const struct slot *slots, int count)
{
	int i;

	printf("NDM is loaded as %s\n\n", way == &bpf_way ? "a BPF program" : "the module tcp_ndm");
	printf("%-15s  %-20s  %-12s  %6s  %12s\n", "name", "model", "policy", "swaps",
	       "decisions");
	for (i = 0; i < count; i++)
		printf("%-15s  %-20s  %-12.12s  %6u  %12llu\n", slots[i].name, slots[i].model,
		       slots[i].sha256, slots[i].swaps, slots[i].counters.decisions);
}

static void status(int count, char **arguments)
{
	struct slot slots[SLOTS];
	const struct way *way = loaded_way();
	int number = way->slots(slots, SLOTS);

	if (count && !strcmp(arguments[0], "--json"))
		print_json(way, slots, number);
	else
		print_status(way, slots, number);
}

/* The congestion control with a name, or the first one. */
static const char *choose_slot(const char *name)
{
	static struct slot slots[SLOTS];
	int count = loaded_way()->slots(slots, SLOTS), i;

	for (i = 0; i < count; i++)
		if (!name || !strcmp(slots[i].name, name))
			return slots[i].name;
	if (name)
		fail("there is no congestion control %s here: ndmctl status", name);
	fail("no congestion control of NDM is loaded");
}

static void use(int count, char **arguments)
{
	if (!count)
		fail("use: which model? a file, or " NDM_BUILTIN);
	loaded_way()->use(count < 2 ? choose_slot(NULL) : arguments[1], model_file(arguments[0]));
}

static void remove_command(int count, char **arguments)
{
	if (!count)
		fail("remove: which congestion control?");
	loaded_way()->remove(choose_slot(arguments[0]));
}

static void verify(int count, char **arguments)
{
	struct model_file model;
	const struct ndm_blob_facts *facts = &model.content.facts;
	char policy[65];

	if (!count)
		fail("verify: which file?");
	read_model(model_file(arguments[0]), &model);
	digest_text(policy, facts->sha256);
	printf("%s is a sound model: %s, %u units, trained for %llu decisions on %s\n"
	       "SHA-256 of the file, for pin=:           %s\n"
	       "SHA-256 of the policy, as status has it: %s\n"
	       "Signature:                               %s\n",
	       arguments[0], facts->name, model.content.model.hidden,
	       (unsigned long long)facts->decisions, facts->profile, model.sha256, policy,
	       model.signer ? model.signer : "none");
}

static bool is_own_default(void)
{
	struct slot slots[SLOTS];
	int count = loaded_way()->slots(slots, SLOTS), i;

	for (i = 0; i < count; i++)
		if (is_default(slots[i].name))
			return true;
	return false;
}

static void unload(int count, char **arguments)
{
	(void)count;
	(void)arguments;
	/* The default holds it: new connections would go on to use it. */
	if (is_own_default())
		fail("NDM is the default of new connections: ndmctl default off");
	loaded_way()->unload();
}

static void trace(int count, char **arguments)
{
	if (loaded_way() != &bpf_way)
		fail("the module has tracepoints: /sys/kernel/tracing/events/ndm");
	trace_bpf(count ? strtoul(arguments[0], NULL, 10) : 0);
}

static void models(int count, char **arguments)
{
	(void)count;
	(void)arguments;
	list_models();
}

static void doctor_command(int count, char **arguments)
{
	(void)count;
	(void)arguments;
	doctor(NDM_OBJECT);
}

static void watch_command(int count, char **arguments)
{
	watch(loaded_way(), count && !strcmp(arguments[0], "--json"));
}

static void default_command(int count, char **arguments)
{
	if (count && !strcmp(arguments[0], "on"))
		default_on(choose_slot(NULL));
	else if (count && !strcmp(arguments[0], "off") && is_own_default())
		default_off();
	else if (count && !strcmp(arguments[0], "off"))
		fail("NDM is not the default of new connections");
	else
		fail("default: on or off?");
}

static void route_command(int count, char **arguments)
{
	if (count < 2 || strcmp(arguments[0], "add"))
		fail("route: add PREFIX, such as ndmctl route add 198.51.100.0/24");
	route_add(arguments[1], choose_slot(count > 2 ? arguments[2] : NULL));
}

static const struct {
	const char *name;
	void (*run)(int count, char **arguments);
	int most;	/* arguments */
} commands[] = {
	{ "load", load, 1 },	 { "unload", unload, 0 }, { "status", status, 1 },
	{ "use", use, 2 },	 { "remove", remove_command, 1 }, { "verify", verify, 1 }, { "trace", trace, 1 },
	{ "watch", watch_command, 1 }, { "default", default_command, 1 },
	{ "route", route_command, 3 },	 { "models", models, 0 }, { "doctor", doctor_command, 0 },
};

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		fputs(usage, argc < 2 ? stderr : stdout);
		return argc < 2 ? 2 : 0;
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name)) {
			if (argc - 2 > commands[i].most)
				fail("%s: %s is one argument too many", argv[1],
				     argv[2 + commands[i].most]);
			commands[i].run(argc - 2, argv + 2);
			if (fflush(stdout) || ferror(stdout))
				fail("the standard output: %s", strerror(errno));
			return 0;
		}
	fprintf(stderr, "ndmctl: there is no command %s\n\n%s", argv[1], usage);
	return 2;
}
