// SPDX-License-Identifier: GPL-2.0
/*
 * NDM: TCP congestion control by a small recurrent network.
 *
 * Once per control interval (a packet-timed round trip, at least 1 ms):
 *
 *	x    = ten scale-free measurements of the interval	ndm_features.h
 *	h'   = tanh(W x + U h + b)				ndm_core.h
 *	y    = clamp(V h' + c, -1, 1)
 *	cwnd = cwnd * 2^y[0]					ndm_control.h
 *	rate = 1.25 * 2^y[1] * cwnd / srtt
 *
 * h, the memory, starts at zero with each connection. All arithmetic is on
 * integers: int16 weights, 64-bit sums, tables for tanh and 2^y. The weights are
 * trained on this very code (tcp_ndm_gym) and come with ndm_weights.h.
 *
 * The model compiled in can be exchanged while connections run:
 *
 *	echo fiber.bin > /sys/module/tcp_ndm/parameters/model
 *
 * has the firmware loader fetch the file (/lib/firmware/fiber.bin), which
 * ndm_blob.h reads; "builtin" goes back. Every connection, old ones too, asks
 * the new model from its next decision on, and its memory begins anew: a state
 * means nothing to other weights. A file that is refused changes nothing.
 *
 * What is loaded is told under /sys/module/tcp_ndm/parameters/; every decision
 * can be seen, and computed again, through the tracepoint ndm:ndm_decision (of a
 * variant: NAME:ndm_decision).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <crypto/sha2.h>
#include <linux/device.h>
#include <linux/firmware.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <linux/sysfs.h>

#include "ndm_blob.h"
#include "ndm_control.h"
#include "ndm_core.h"
#include "ndm_weights.h"

/*
 * The name of the congestion control, and of the tracepoint's system: modules
 * with other models have other names, so that they can be loaded side by side
 * (NDM_VARIANT in Kbuild).
 */
#ifndef NDM_ALGORITHM
#define NDM_ALGORITHM ndm
#endif

#define CREATE_TRACE_POINTS
#include "ndm_trace.h"

#define BUILTIN "builtin"

/* A model that connections ask, and where it comes from. */
struct ndm_loaded {
	const struct ndm_model *model;
	u8 number;		/* counts on with each model, and wraps */
	char file[64];
	struct ndm_blob_facts facts;
	struct ndm_model from_file;
	struct rcu_head rcu;
};

static struct ndm_loaded builtin = {
	.model = &ndm_model,
	.file = BUILTIN,
	.facts = {
		.name = NDM_MODEL_NAME,
		.profile = NDM_MODEL_PROFILE,
		.revision = NDM_MODEL_GIT_REVISION,
		.decisions = NDM_MODEL_DECISIONS,
		.envelope = NDM_MODEL_ENVELOPE,
	},
};

static struct ndm_loaded __rcu *active = RCU_INITIALIZER(&builtin);

static DEFINE_MUTEX(swapping);		/* one change of active at a time */
static struct device *firmware_device;	/* NULL until tcp_ndm_init() */
static unsigned int swaps, refused;

static DEFINE_PER_CPU(u64, decisions);
static atomic_t flows = ATOMIC_INIT(0);

/* -- another model -------------------------------------------------------- */

static struct ndm_loaded *read_file(const char *file)
{
	const struct firmware *firmware;
	u8 digest[NDM_BLOB_DIGEST];
	struct ndm_loaded *loaded;
	const char *problem;
	size_t content;
	int err;

	err = request_firmware_direct(&firmware, file, firmware_device);
	if (err) {
		pr_err("model %s is not there (%d)\n", file, err);
		return ERR_PTR(err);
	}
	err = -ENOMEM;
	loaded = kzalloc(sizeof(*loaded), GFP_KERNEL);
	if (!loaded)
		goto release;

	err = -EINVAL;
	problem = "it has not the size of a model";
	if (firmware->size < NDM_BLOB_DIGEST || firmware->size > NDM_BLOB_MAX)
		goto refuse;
	content = firmware->size - NDM_BLOB_DIGEST;
	sha256(firmware->data, content, digest);
	problem = "its SHA-256 does not match its content";
	if (memcmp(digest, firmware->data + content, sizeof(digest)))
		goto refuse;
	problem = ndm_blob_parse(firmware->data, firmware->size,
				 &loaded->from_file, &loaded->facts);
	if (problem)
		goto refuse;
	loaded->model = &loaded->from_file;
	strscpy(loaded->file, file, sizeof(loaded->file));
	release_firmware(firmware);
	return loaded;

refuse:
	pr_err("model %s is refused: %s\n", file, problem);
	kfree(loaded);
release:
	release_firmware(firmware);
	return ERR_PTR(err);
}

/* Make the file, or BUILTIN, the model that is asked from now on. */
static int swap_model(const char *file)
{
	struct ndm_loaded *next = &builtin;
	struct ndm_loaded *last;

	mutex_lock(&swapping);
	if (strcmp(file, BUILTIN)) {
		next = read_file(file);
		if (IS_ERR(next)) {
			refused++;
			mutex_unlock(&swapping);
			return PTR_ERR(next);
		}
	}
	last = rcu_dereference_protected(active, lockdep_is_held(&swapping));
	if (next != last) {
		/* The builtin one is no other than before for who reads it. */
		WRITE_ONCE(next->number, last->number + 1);
		rcu_assign_pointer(active, next);
		if (last != &builtin)
			kfree_rcu(last, rcu);
		swaps++;
		pr_info("model %s, %s of %llu decisions, is in use\n", file,
			next->facts.name, next->facts.decisions);
	}
	mutex_unlock(&swapping);
	return 0;
}

/* -- what can be read, and the one thing that can be set ------------------- */

static char wanted[64] = BUILTIN;	/* on insmod's command line */

static int model_set(const char *value, const struct kernel_param *param)
{
	char file[sizeof(wanted)];

	if (strscpy(file, value, sizeof(file)) < 0)
		return -ENAMETOOLONG;
	strim(file);
	if (!*file || *file == '/' || strstr(file, ".."))
		return -EINVAL;
	if (!firmware_device) {
		strscpy(wanted, file, sizeof(wanted));
		return 0;
	}
	return swap_model(file);
}

enum fact { FILE_NAME, NAME, SHA256, PROFILE, ENVELOPE, DECISIONS_SEEN };

/* What a parameter points to, to say which fact it is. */
static const enum fact facts[] = {
	FILE_NAME, NAME, SHA256, PROFILE, ENVELOPE, DECISIONS_SEEN,
};

static int fact_get(char *buffer, const struct kernel_param *param)
{
	const struct ndm_loaded *loaded;
	int length = 0;

	rcu_read_lock();
	loaded = rcu_dereference(active);
	switch (*(const enum fact *)param->arg) {
	case FILE_NAME:
		length = sysfs_emit(buffer, "%s\n", loaded->file);
		break;
	case NAME:
		length = sysfs_emit(buffer, "%s\n", loaded->facts.name);
		break;
	case SHA256:
		if (loaded == &builtin)
			length = sysfs_emit(buffer, "%s\n", NDM_MODEL_SHA256);
		else
			length = sysfs_emit(buffer, "%*phN\n",
					    (int)sizeof(loaded->facts.sha256),
					    loaded->facts.sha256);
		break;
	case PROFILE:
		length = sysfs_emit(buffer, "%s\n", loaded->facts.profile);
		break;
	case ENVELOPE:
		length = sysfs_emit(buffer, "%s\n", loaded->facts.envelope);
		break;
	case DECISIONS_SEEN:
		length = sysfs_emit(buffer, "%llu\n", loaded->facts.decisions);
		break;
	}
	rcu_read_unlock();
	return length;
}

static int format_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", __stringify(NDM_WEIGHTS_FORMAT));
}

static int decisions_get(char *buffer, const struct kernel_param *param)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(decisions, cpu);
	return sysfs_emit(buffer, "%llu\n", sum);
}

/* Facts and counters, not settings: they can be read, never set. */
static int fact_set(const char *value, const struct kernel_param *fact)
{
	pr_err("%s comes with the model and cannot be set\n", fact->name);
	return -EPERM;
}

static const struct kernel_param_ops model_ops = {
	.set = model_set,
	.get = fact_get,
};

static const struct kernel_param_ops fact_ops = {
	.set = fact_set,
	.get = fact_get,
};

static const struct kernel_param_ops format_ops = {
	.set = fact_set,
	.get = format_get,
};

static const struct kernel_param_ops decisions_ops = {
	.set = fact_set,
	.get = decisions_get,
};

module_param_cb(model, &model_ops, (void *)&facts[FILE_NAME], 0644);
MODULE_PARM_DESC(model, "model in use: a file for the firmware loader, or builtin (default)");
module_param_cb(model_name, &fact_ops, (void *)&facts[NAME], 0444);
MODULE_PARM_DESC(model_name, "name of the trained model (read only)");
module_param_cb(model_sha256, &fact_ops, (void *)&facts[SHA256], 0444);
MODULE_PARM_DESC(model_sha256, "SHA-256 of its weights before quantization (read only)");
module_param_cb(model_profile, &fact_ops, (void *)&facts[PROFILE], 0444);
MODULE_PARM_DESC(model_profile, "what it was trained for (read only)");
module_param_cb(model_envelope, &fact_ops, (void *)&facts[ENVELOPE], 0444);
MODULE_PARM_DESC(model_envelope, "ranges of the paths that it was trained on (read only)");
module_param_cb(model_decisions, &fact_ops, (void *)&facts[DECISIONS_SEEN], 0444);
MODULE_PARM_DESC(model_decisions, "decisions that it saw in training (read only)");
module_param_cb(weights_format, &format_ops, NULL, 0444);
MODULE_PARM_DESC(weights_format, "version of the layout of its weights (read only)");
module_param_cb(decisions, &decisions_ops, NULL, 0444);
MODULE_PARM_DESC(decisions, "decisions taken since the module was loaded (read only)");
module_param_named(model_swaps, swaps, uint, 0444);
MODULE_PARM_DESC(model_swaps, "how often another model was taken into use (read only)");
module_param_named(models_refused, refused, uint, 0444);
MODULE_PARM_DESC(models_refused, "how many files were not there or no model (read only)");

/* -- on a socket ----------------------------------------------------------- */

struct ndm_network_sock {
	struct ndm_sock sock;	/* first: ndm_control.h finds it there */
	s16 h[NDM_HIDDEN_MAX];	/* (H) recurrent state, Q15 */
};

static void network_decide(struct sock *sk, u32 decision,
			   const struct ndm_interval *interval, s16 *actions)
{
	struct ndm_network_sock *ndm = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct ndm_loaded *loaded;
	u8 number;

	rcu_read_lock();
	loaded = rcu_dereference(active);
	number = READ_ONCE(loaded->number);
	if (ndm->sock.model != number) {
		memset(ndm->h, 0, sizeof(ndm->h));
		ndm->sock.model = number;
	}
	ndm_core_step(loaded->model, ndm->h, interval->x, actions);
	rcu_read_unlock();
	this_cpu_inc(decisions);
	trace_ndm_decision(ndm->sock.flow, decision, interval->x, actions,
			   tcp_snd_cwnd(tp), tp->srtt_us >> 3, number);
}

static void NDM_CONG_CONTROL(network_cong_control)
{
	ndm_control(sk, rs, network_decide);
}

static void network_init(struct sock *sk)
{
	struct ndm_network_sock *ndm = inet_csk_ca(sk);

	ndm_sock_init(sk, &flows);
	memset(ndm->h, 0, sizeof(ndm->h));
}

static struct tcp_congestion_ops ndm __read_mostly = {
	.init = network_init,
	.ssthresh = ndm_ssthresh,
	.undo_cwnd = ndm_undo_cwnd,
	.cong_control = network_cong_control,
	NDM_TX_START_OP,
	.set_state = ndm_set_state,
	.get_info = ndm_get_info,
	.owner = THIS_MODULE,
	.name = __stringify(NDM_ALGORITHM),
};

/* Nobody asks the model any more. */
static void forget(void)
{
	struct ndm_loaded *loaded = rcu_dereference_protected(active, true);

	root_device_unregister(firmware_device);
	if (loaded != &builtin)
		kfree(loaded);
}

static int __init tcp_ndm_init(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct ndm_network_sock) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(offsetof(struct ndm_network_sock, sock) != 0);
	BUILD_BUG_ON(NDM_MODEL_ACC_MAX >= 1LL << 62);
	BUILD_BUG_ON(sizeof(__stringify(NDM_ALGORITHM)) > TCP_CA_NAME_MAX);
	firmware_device = root_device_register(KBUILD_MODNAME);
	if (IS_ERR(firmware_device))
		return PTR_ERR(firmware_device);
	err = swap_model(wanted);
	if (!err)
		err = tcp_register_congestion_control(&ndm);
	if (err)
		forget();
	return err;
}

static void __exit tcp_ndm_exit(void)
{
	tcp_unregister_congestion_control(&ndm);
	forget();
}

module_init(tcp_ndm_init);
module_exit(tcp_ndm_exit);

MODULE_DESCRIPTION("NDM TCP congestion control: a small recurrent network");
MODULE_LICENSE("GPL");
