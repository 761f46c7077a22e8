// SPDX-License-Identifier: GPL-2.0
/* The slots of tcp_ndm: add, replace, remove and show them. See ndm_slot.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <crypto/sha2.h>
#include <linux/capability.h>
#include <linux/device.h>
#include <linux/firmware.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "ndm_slot.h"

/* Protects the slots, and what follows. */
static DEFINE_MUTEX(ndm_mutex);
static struct ndm_slot *ndm_slots[NDM_SLOTS];	/* the first is "ndm" */
static int ndm_slot_count;
static const struct tcp_congestion_ops *ndm_ops;	/* NULL before init and after exit */
static const struct ndm_described_model *ndm_builtin;
static struct device *ndm_device;	/* the firmware loader needs one */

/* -- models ----------------------------------------------------------------- */

static const char *ndm_check_file(const char *file)
{
	if (*file == '/' || strstr(file, ".."))
		return "its name must be relative to /lib/firmware and without ..";
	if (strlen(file) >= NDM_FILE_MAX)
		return "its name must have less than 64 characters";
	return NULL;
}

/* @digest: filled with the SHA-256 of the content */
static int ndm_read_file(const char *file, struct ndm_described_model *model, u8 *digest)
{
	const struct firmware *firmware;
	const char *problem;
	size_t content;
	int err;

	err = request_firmware_direct(&firmware, file, ndm_device);
	if (err) {
		pr_err("model %s was not found (error %d): put it into /lib/firmware\n",
		       file, err);
		return err;
	}
	problem = "its size is not that of a model";
	if (firmware->size < NDM_BLOB_DIGEST || firmware->size > NDM_BLOB_MAX)
		goto release;
	content = firmware->size - NDM_BLOB_DIGEST;
	sha256(firmware->data, content, digest);
	problem = "its SHA-256 does not match its content";
	if (memcmp(digest, firmware->data + content, NDM_BLOB_DIGEST))
		goto release;
	problem = ndm_pin_refuses(digest);
	if (!problem)
		problem = ndm_blob_parse(firmware->data, firmware->size,
					 &model->model, &model->facts);
release:
	release_firmware(firmware);
	if (!problem)
		return 0;
	pr_err("model %s is refused: %s\n", file, problem);
	return -EINVAL;
}

static struct ndm_loaded *ndm_load(const char *file)
{
	struct ndm_loaded *loaded = kzalloc(sizeof(*loaded), GFP_KERNEL);
	int err = 0;

	if (!loaded)
		return ERR_PTR(-ENOMEM);
	loaded->described = ndm_builtin;
	if (strcmp(file, NDM_BUILTIN)) {
		loaded->described = &loaded->from_file;
		err = ndm_read_file(file, &loaded->from_file, loaded->digest);
	}
	if (err) {
		kfree(loaded);
		return ERR_PTR(err);
	}
	ndm_core_prepare(&loaded->network, &loaded->described->model);
	strscpy(loaded->file, file, sizeof(loaded->file));
	return loaded;
}

static struct ndm_loaded *ndm_active(const struct ndm_slot *slot)
{
	return rcu_dereference_protected(slot->active, lockdep_is_held(&ndm_mutex));
}

static void ndm_replace_model(struct ndm_slot *slot, struct ndm_loaded *next)
{
	struct ndm_loaded *last = ndm_active(slot);

	next->number = last->number + 1;
	rcu_assign_pointer(slot->active, next);
	kfree_rcu(last, rcu);
	slot->swaps++;
}

/* -- the folder in sysfs --------------------------------------------------- */

static struct ndm_slot *ndm_folder_slot(struct kobject *kobj)
{
	return container_of(kobj, struct ndm_slot, folder);
}

static u64 ndm_decisions(const struct ndm_slot *slot)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(slot->decisions, cpu));
	return sum;
}

/* A file with one value of "slot", of "loaded", its model in use, or of that model's "facts". */
#define NDM_VALUE(name, format, ...)					     \
static ssize_t ndm_##name##_show(struct kobject *kobj,			     \
				 struct kobj_attribute *attr, char *text)    \
{									     \
	const struct ndm_slot *slot = ndm_folder_slot(kobj);		     \
	const struct ndm_blob_facts *facts __maybe_unused;		     \
	const struct ndm_loaded *loaded;				     \
	ssize_t length;							     \
									     \
	rcu_read_lock();						     \
	loaded = rcu_dereference(slot->active);				     \
	facts = &loaded->described->facts;				     \
	length = sysfs_emit(text, format "\n", __VA_ARGS__);		     \
	rcu_read_unlock();						     \
	return length;							     \
}									     \
static struct kobj_attribute ndm_##name##_attr =			     \
	__ATTR(name, 0444, ndm_##name##_show, NULL)

NDM_VALUE(model, "%s", loaded->file);
NDM_VALUE(name, "%s", facts->name);
NDM_VALUE(profile, "%s", facts->profile);
NDM_VALUE(envelope, "%s", facts->envelope);
NDM_VALUE(revision, "%s", facts->revision);
NDM_VALUE(sha256, "%*phN", (int)sizeof(facts->sha256), facts->sha256);
NDM_VALUE(content_sha256, "%*phN", (int)sizeof(loaded->digest), loaded->digest);
NDM_VALUE(trained_decisions, "%llu", facts->decisions);
NDM_VALUE(format, "%d", NDM_MODEL_FORMAT);

NDM_VALUE(decisions, "%llu", ndm_decisions(slot));
NDM_VALUE(without_state, "%d", atomic_read(&slot->without_state));
NDM_VALUE(model_swaps, "%u", READ_ONCE(slot->swaps));
NDM_VALUE(models_refused, "%u", READ_ONCE(slot->refused));

static struct attribute *ndm_fact_attrs[] = {
	&ndm_model_attr.attr,
	&ndm_name_attr.attr,
	&ndm_profile_attr.attr,
	&ndm_envelope_attr.attr,
	&ndm_revision_attr.attr,
	&ndm_sha256_attr.attr,
	&ndm_content_sha256_attr.attr,
	&ndm_trained_decisions_attr.attr,
	&ndm_format_attr.attr,
	NULL
};

static const struct attribute_group ndm_facts_group = {
	.attrs = ndm_fact_attrs,
};

static struct attribute *ndm_counter_attrs[] = {
	&ndm_decisions_attr.attr,
	&ndm_without_state_attr.attr,
	&ndm_model_swaps_attr.attr,
	&ndm_models_refused_attr.attr,
	NULL
};

static const struct attribute_group ndm_counters_group = {
	.name = "counters",
	.attrs = ndm_counter_attrs,
};

static const struct attribute_group *ndm_slot_groups[] = {
	&ndm_facts_group,
	&ndm_counters_group,
	NULL
};

static void ndm_folder_release(struct kobject *kobj)
{
	complete(&ndm_folder_slot(kobj)->folder_released);
}

static const struct kobj_type ndm_folder_type = {
	.sysfs_ops = &kobj_sysfs_ops,
	.release = ndm_folder_release,
	.default_groups = ndm_slot_groups,
};

static int ndm_folder_add(struct ndm_slot *slot)
{
	memset(&slot->folder, 0, sizeof(slot->folder));
	init_completion(&slot->folder_released);
	return kobject_init_and_add(&slot->folder, &ndm_folder_type,
				    &THIS_MODULE->mkobj.kobj, "%s",
				    slot->ops.name);
}

/* Waits for the last reader of the folder. */
static void ndm_folder_del(struct ndm_slot *slot)
{
	kobject_put(&slot->folder);
	wait_for_completion(&slot->folder_released);
}

/* -- slots ------------------------------------------------------------------- */

static const char *ndm_check_name(const char *name)
{
	if (strcmp(name, "ndm") && (strncmp(name, "ndm_", 4) || !name[4]))
		return "it must be ndm or begin with ndm_";
	if (strlen(name) >= TCP_CA_NAME_MAX)
		return "a congestion control's name has at most 15 characters";
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
		return "it has other characters than lower-case letters, digits and underscores";
	return NULL;
}

static struct ndm_slot *ndm_find_slot(const char *name)
{
	int i;

	for (i = 0; i < ndm_slot_count; i++)
		if (!strcmp(ndm_slots[i]->ops.name, name))
			return ndm_slots[i];
	return NULL;
}

/* A slot that no socket can have had. */
static void ndm_free_slot(struct ndm_slot *slot)
{
	kfree(ndm_active(slot));
	free_percpu(slot->decisions);
	kfree(slot);
}

static struct ndm_slot *ndm_new_slot(const char *name, struct ndm_loaded *model)
{
	struct ndm_slot *slot = kzalloc(sizeof(*slot), GFP_KERNEL);

	if (!slot)
		return NULL;
	slot->decisions = alloc_percpu(unsigned long);
	if (!slot->decisions) {
		kfree(slot);
		return NULL;
	}
	slot->ops = *ndm_ops;
	strscpy(slot->ops.name, name, sizeof(slot->ops.name));
	RCU_INIT_POINTER(slot->active, model);
	return slot;
}

/* Sockets may use the slot at once, so this comes last. */
static int ndm_register(struct ndm_slot *slot)
{
	int err = ndm_folder_add(slot);

	if (!err)
		err = tcp_register_congestion_control(&slot->ops);
	if (err) {
		pr_err("%s cannot be registered (error %d)\n", slot->ops.name, err);
		ndm_folder_del(slot);
	}
	slot->registered = !err;
	return err;
}

static void ndm_unregister(struct ndm_slot *slot)
{
	tcp_unregister_congestion_control(&slot->ops);
	ndm_folder_del(slot);
	slot->registered = false;
}

static int ndm_add_slot(const char *name, struct ndm_loaded *model)
{
	struct ndm_slot *slot;
	int err;

	if (ndm_slot_count == NDM_SLOTS) {
		pr_err("%s is refused: there have been %d slots, which is the most; unload the module first\n",
		       name, NDM_SLOTS);
		kfree(model);
		return -ENOSPC;
	}
	slot = ndm_new_slot(name, model);
	if (!slot) {
		kfree(model);
		return -ENOMEM;
	}
	err = ndm_register(slot);
	if (err)
		ndm_free_slot(slot);
	else
		ndm_slots[ndm_slot_count++] = slot;
	return err;
}

static int ndm_set_slot(const char *name, const char *file)
{
	const char *problem = ndm_check_name(name);
	struct ndm_loaded *model;
	struct ndm_slot *slot;
	int err = 0;

	if (problem) {
		pr_err("slot %.64s is refused: %s\n", name, problem);
		return -EINVAL;
	}
	problem = ndm_check_file(file);
	if (problem) {
		pr_err("model %.64s is refused: %s\n", file, problem);
		return -EINVAL;
	}
	model = ndm_load(file);
	slot = ndm_find_slot(name);
	if (IS_ERR(model)) {
		if (slot)
			slot->refused++;
		return PTR_ERR(model);
	}
	if (!slot) {
		err = ndm_add_slot(name, model);
	} else {
		ndm_replace_model(slot, model);
		if (!slot->registered)
			err = ndm_register(slot);
	}
	if (!err)
		pr_info("%s: uses model %s (%s, trained for %llu decisions)\n",
			name, file, model->described->facts.name,
			model->described->facts.decisions);
	return err;
}

static int ndm_remove_slot(const char *name)
{
	struct ndm_slot *slot = ndm_find_slot(name);

	if (!slot || !slot->registered) {
		pr_err("there is no slot %.64s\n", name);
		return -ENOENT;
	}
	if (slot == ndm_slots[0]) {
		pr_err("slot %s stays as long as the module\n", name);
		return -EBUSY;
	}
	ndm_unregister(slot);
	pr_info("%s: removed\n", name);
	return 0;
}

/* -- the parameter "slots" ---------------------------------------------------- */

/* Carries out "+NAME FILE" or "-NAME". @text: is changed */
static int ndm_command(char *text)
{
	char *file = strim(text);
	char *name = strsep(&file, " ");

	if (!ndm_ops) {
		pr_err("slots is written after the module was loaded, not while it is\n");
		return -EINVAL;
	}
	if (*name == '+' && file)
		return ndm_set_slot(name + 1, skip_spaces(file));
	if (*name == '-' && !file)
		return ndm_remove_slot(name + 1);
	pr_err("slots takes +NAME FILE or -NAME\n");
	return -EINVAL;
}

static int ndm_slots_set(const char *text, const struct kernel_param *param)
{
	char *copy;
	int err;

	/* The file is root's, also for a root without capabilities or of another user namespace. */
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	copy = kstrdup(text, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	mutex_lock(&ndm_mutex);
	err = ndm_command(copy);
	mutex_unlock(&ndm_mutex);
	kfree(copy);
	return err;
}

static const struct kernel_param_ops ndm_slots_ops = {
	.set = ndm_slots_set,
};

module_param_cb(slots, &ndm_slots_ops, NULL, 0200);
MODULE_PARM_DESC(slots, "+NAME FILE: add the congestion control NAME with a model file of the firmware loader, or replace its model; -NAME: remove it");

/* -- init and exit ------------------------------------------------------------- */

int ndm_slots_init(const struct tcp_congestion_ops *ops,
		   const struct ndm_described_model *builtin)
{
	int err;

	ndm_device = root_device_register(KBUILD_MODNAME);
	if (IS_ERR(ndm_device))
		return PTR_ERR(ndm_device);
	mutex_lock(&ndm_mutex);
	ndm_ops = ops;
	ndm_builtin = builtin;
	err = ndm_set_slot("ndm", NDM_BUILTIN);
	if (err)
		ndm_ops = NULL;
	mutex_unlock(&ndm_mutex);
	if (err)
		root_device_unregister(ndm_device);
	return err;
}

void ndm_slots_exit(void)
{
	int i;

	mutex_lock(&ndm_mutex);
	ndm_ops = NULL;
	for (i = 0; i < ndm_slot_count; i++) {
		if (ndm_slots[i]->registered)
			ndm_unregister(ndm_slots[i]);
		ndm_free_slot(ndm_slots[i]);
	}
	ndm_slot_count = 0;
	mutex_unlock(&ndm_mutex);
	root_device_unregister(ndm_device);
}
