// SPDX-License-Identifier: GPL-2.0
/* NDM as a BPF program: loaded and pinned in PINS, where every later command finds it. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "ndm_bpf_pack.h"

#define PINS "/sys/fs/bpf/ndm"
#define CONTROLS PINS "/controls"
#define CONTROL CONTROLS "/0"		/* the struct_ops map */
#define BUILTIN ".data.model"
#define WATCHED ".data.watched"

static bool verbose_libbpf;

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return level == LIBBPF_WARN && verbose_libbpf ? vfprintf(stderr, format, arguments) : 0;
}

/* Whether it is pinned, by root: the file system may let anyone make a folder. */
static bool bpf_loaded(void)
{
	struct stat status;

	if (!stat(CONTROLS, &status))
		return !status.st_uid;
	if (errno == EACCES)
		fail(PINS ": %s (root is needed)", strerror(errno));
	return false;
}

/* Opens a pinned map. */
static int pinned(const char *name)
{
	char path[sizeof(CONTROLS) + 64];
	int fd;

	snprintf(path, sizeof(path), PINS "/%s", name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		fail("%s: %s (root is needed)", path, strerror(errno));
	return fd;
}

/* The name of the congestion control. NULL: an interrupted load has left none. */
static const char *control_name(void)
{
	static struct bpf_map_info info;
	__u32 size = sizeof(info);
	int fd = bpf_obj_get(CONTROL);

	if (fd < 0)
		return NULL;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		fail(CONTROL ": %s", strerror(errno));
	close(fd);
	return info.name;
}

/* -- load and unload ---------------------------------------------------------- */

static void unpin(void)
{
	static const char *const maps[] = { "models", "counters", "events", "builtin", "watched" };
	char path[sizeof(CONTROLS) + 64];
	unsigned int i;
	__u32 key = 0;
	int fd = bpf_obj_get(CONTROL);

	if (fd < 0 && errno != ENOENT)
		fail(CONTROL ": %s", strerror(errno));
	/*
	 * No connection finds its name from now on. Those that have it keep it to their end. A map
	 * that was not registered yet has nothing to delete.
	 */
	if (fd >= 0 && bpf_map_delete_elem(fd, &key) && errno != ENOENT)
		fail(CONTROL " cannot be unregistered: %s", strerror(errno));
	close(fd);
	unlink(CONTROL);
	for (i = 0; i < ARRAY_SIZE(maps); i++) {
		snprintf(path, sizeof(path), PINS "/%s", maps[i]);
		unlink(path);
	}
	rmdir(CONTROLS);
	rmdir(PINS);
}

static void pin(struct bpf_map *map, const char *name)
{
	char path[sizeof(CONTROLS) + 64];
	int error;

	snprintf(path, sizeof(path), PINS "/%s", name);
	error = map ? bpf_obj_pin(bpf_map__fd(map), path) ? -errno : 0 : -ENOENT;
	if (error) {
		unpin();
		fail("%s: %s", path, strerror(-error));
	}
}

/* A map of a section. libbpf puts the object's name before the section's. */
static struct bpf_map *section_map(struct bpf_object *object, const char *section)
{
	struct bpf_map *map;
	const char *name;

	bpf_object__for_each_map(map, object) {
		name = strchr(bpf_map__name(map), '.');
		if (name && !strcmp(name, section))
			return map;
	}
	return NULL;
}

/* Registers the congestion control. */
static void attach(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		if (bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS)
			continue;
		pin(map, "controls/0");
		if (!bpf_map__attach_struct_ops(map)) {
			int error = errno;

			unpin();
			if (error == EEXIST)
				fail("there is a congestion control %s already: unload the module tcp_ndm first",
				     bpf_map__name(map));
			fail("%s cannot be registered: %s", bpf_map__name(map), strerror(error));
		}
	}
}

/* Says what the largest program has cost the verifier. */
static void print_loaded(struct bpf_object *object, const struct timespec *begin)
{
	struct bpf_prog_info info, largest = {};
	struct bpf_program *program;
	struct timespec end;
	__u32 size;

	bpf_object__for_each_program(program, object) {
		size = sizeof(info);
		memset(&info, 0, size);
		if (!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) &&
		    info.verified_insns > largest.verified_insns)
			largest = info;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("loaded in %.2f s: %s has %u instructions, %u that the verifier has followed\n",
	       end.tv_sec - begin->tv_sec + (end.tv_nsec - begin->tv_nsec) / 1e9,
	       largest.name, largest.xlated_prog_len / 8, largest.verified_insns);
}

static void bpf_load(const char *file)
{
	struct bpf_object *object;
	struct timespec begin;
	int error;

	clock_gettime(CLOCK_MONOTONIC, &begin);

	libbpf_set_print(print_libbpf);
	object = open_object(file);
	verbose_libbpf = true;
	error = bpf_object__load(object);
	if (error == -EPERM)
		fail("the kernel refuses BPF programs: root with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN is needed, and no lockdown for confidentiality");
	if (error)
		fail("%s cannot be loaded: %s", file, strerror(-error));
	if (mkdir(PINS, 0700) || mkdir(CONTROLS, 0700)) {
		error = errno;
		rmdir(PINS);
		fail(PINS ": %s%s", strerror(error), error == EEXIST ?
		     " (left over from a load that was interrupted: ndmctl unload)" :
		     " (mount -t bpf bpf /sys/fs/bpf)");
	}
	pin(bpf_object__find_map_by_name(object, "ndm_models"), "models");
	pin(bpf_object__find_map_by_name(object, "ndm_counters"), "counters");
	pin(bpf_object__find_map_by_name(object, "ndm_events"), "events");
	pin(section_map(object, BUILTIN), "builtin");
	pin(section_map(object, WATCHED), "watched");
	attach(object);
	print_loaded(object, &begin);
}

/* -- models and counters -------------------------------------------------------- */

/* Reads the compiled-in model. */
static void read_builtin(struct ndm_bpf_model *model)
{
	struct bpf_map_info info = {};
	__u32 size = sizeof(info), key = 0;
	int fd = pinned("builtin");

	if (bpf_obj_get_info_by_fd(fd, &info, &size) || info.value_size != sizeof(*model) ||
	    bpf_map_lookup_elem(fd, &key, model))
		fail("the compiled-in model cannot be read: %s", strerror(errno));
	close(fd);
}

static void read_counters(struct ndm_bpf_counters *sum)
{
	int cpus = libbpf_num_possible_cpus(), fd = pinned("counters"), cpu;
	struct ndm_bpf_counters *each = calloc(cpus, sizeof(*each));
	__u32 key = 0;

	if (!each || bpf_map_lookup_elem(fd, &key, each))
		fail("the counters cannot be read: %s", strerror(errno));
	memset(sum, 0, sizeof(*sum));
	for (cpu = 0; cpu < cpus; cpu++) {
		sum->connections += each[cpu].connections;
		sum->decisions += each[cpu].decisions;
		sum->without_state += each[cpu].without_state;
	}
	free(each);
	close(fd);
}

static int bpf_slots(struct slot *slots, int most)
{
	const char *name = control_name();
	struct ndm_bpf_model model;
	__u32 key = 0;
	int fd;

	(void)most;
	if (!name)
		return 0;
	fd = pinned("models");
	if (bpf_map_lookup_elem(fd, &key, &model))
		read_builtin(&model);
	close(fd);
	snprintf(slots->name, sizeof(slots->name), "%.15s", name);
	strcpy(slots->model, model.name);
	digest_text(slots->sha256, model.sha256);
	slots->swaps = model.number;
	slots->counts_connections = true;
	read_counters(&slots->counters);
	return 1;
}

/*
 * Waits until no program reads an element that was replaced before: the next change may reuse its
 * memory. The kernel waits for a grace period of RCU after each update of a map of maps.
 * membarrier() does not where a CPU has nohz_full.
 */
static void wait_for_readers(void)
{
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(__u32), sizeof(__u32), 1, NULL);
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = inner);
	int outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, NULL, sizeof(__u32), sizeof(__u32),
				   1, &options);
	__u32 key = 0;

	if (inner < 0 || outer < 0 || bpf_map_update_elem(outer, &key, &inner, BPF_ANY))
		fail("cannot wait for the model's readers: %s; the model is in use, wait a second before the next one",
		     strerror(errno));
	close(outer);
	close(inner);
}

static void bpf_use(const char *name, const char *file)
{
	const char *control = control_name();
	struct ndm_bpf_model model = {}, before;
	struct model_file read;
	__u32 key = 0;
	int fd = pinned("models");
	int lock = open(PINS, O_RDONLY | O_CLOEXEC);

	if (!control || strcmp(name, control))
		fail("the BPF program has no congestion control %s; only the module adds some", name);
	/* One at a time, or two models could have one number. */
	if (lock < 0 || flock(lock, LOCK_EX))
		fail(PINS ": %s", strerror(errno));

	if (bpf_map_lookup_elem(fd, &key, &before))
		before.number = 0;
	if (!strcmp(file, NDM_BUILTIN)) {
		read_builtin(&model);
	} else {
		read_model(file, &read);
		ndm_bpf_pack(&model.network, &read.content.model);
		memcpy(model.name, read.content.facts.name, sizeof(model.name));
		memcpy(model.sha256, read.content.facts.sha256, sizeof(model.sha256));
	}
	/* The compiled-in model, too, becomes an element: its number must be a new one. */
	model.number = before.number + 1;
	if (bpf_map_update_elem(fd, &key, &model, BPF_ANY))
		fail("the model cannot be changed: %s", strerror(errno));
	wait_for_readers();
	close(lock);
	close(fd);
}

static void bpf_remove(const char *name)
{
	fail("%s is the congestion control of the BPF program: ndmctl unload", name);
}

/* -- events ---------------------------------------------------------------------- */

static const char *traced;
static volatile sig_atomic_t stopped;
static bool discarding;
static unsigned long left;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static int print_event(void *context, void *data, size_t size)
{
	const struct ndm_bpf_event *event = data;
	int i;

	(void)context;
	if (discarding || size < sizeof(*event))
		return 0;
	printf("ndm_decision: flow=%u decision=%u x=", event->flow, event->decision);
	for (i = 0; i < NDM_INPUTS; i++)
		printf("%s%d", i ? "," : "", event->x[i]);
	printf(" action=%d,%d cwnd=%u srtt_us=%u model=%u ca=%s\n", event->action[0],
	       event->action[1], event->cwnd, event->srtt_us, event->model, traced);
	if (left && !--left)
		stopped = 1;
	/* A negative number ends ring_buffer__poll(), which would go on while there are more. */
	return stopped ? -1 : 0;
}

static void set_watched(bool watched)
{
	int fd = pinned("watched");
	__u32 key = 0;

	if (bpf_map_update_elem(fd, &key, &watched, BPF_ANY))
		fail("the events cannot be turned %s: %s", watched ? "on" : "off",
		     strerror(errno));
	close(fd);
}

void trace_bpf(unsigned long count)
{
	struct ring_buffer *ring = ring_buffer__new(pinned("events"), print_event, NULL, NULL);
	struct sigaction action = { .sa_handler = stop };
	int lock = open(CONTROLS, O_RDONLY | O_CLOEXEC);

	/* Each event is read once. */
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB))
		fail("another ndmctl trace is running");
	if (!ring)
		fail("the events cannot be read: %s", strerror(errno));
	/* Also when the reader or the terminal is gone: the program must not go on to write. */
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGPIPE, &action, NULL);
	traced = control_name();
	setlinebuf(stdout);	/* so that a reader has each decision at once */
	discarding = true;	/* of an earlier reader */
	ring_buffer__consume(ring);
	discarding = false;
	left = count;
	set_watched(true);
	while (!stopped && (ring_buffer__poll(ring, 100) >= 0 || errno == EINTR))
		;
	set_watched(false);
	if (!count) {
		stopped = 0;
		ring_buffer__consume(ring);
	}
	ring_buffer__free(ring);
}

const struct way bpf_way = {
	.name = "BPF",
	.loaded = bpf_loaded,
	.load = bpf_load,
	.unload = unpin,
	.slots = bpf_slots,
	.use = bpf_use,
	.remove = bpf_remove,
};
