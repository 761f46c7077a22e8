// SPDX-License-Identifier: GPL-2.0
/* The models of tcp_ndm: load, replace and show them. See ndm_slot.h. */
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

/* Serialises changes of the slots' models. */
static DEFINE_MUTEX(ndm_swap_mutex);
static struct device *ndm_device;

/* -- load and replace a model ---------------------------------------------- */

static const char *ndm_check_name(const char *file)
{
	if (!*file)
		return "it has no name";
	if (*file == '/' || strstr(file, ".."))
		return "its name must be relative to /lib/firmware and without ..";
	if (strlen(file) >= sizeof_field(struct ndm_loaded, file))
		return "its name must have less than 64 characters";
	return NULL;
}

static struct ndm_loaded *ndm_read_file(const char *file)
{
	const struct firmware *firmware;
	u8 digest[NDM_BLOB_DIGEST];
	struct ndm_loaded *loaded;
	const char *problem;
	size_t content;
	int err;

	err = request_firmware_direct(&firmware, file, ndm_device);
	if (err) {
		pr_err("model %s was not found (error %d): put it into /lib/firmware\n",
		       file, err);
		return ERR_PTR(err);
	}
	err = -ENOMEM;
	loaded = kzalloc(sizeof(*loaded), GFP_KERNEL);
	if (!loaded)
		goto release;

	err = -EINVAL;
	problem = "its size is not that of a model";
	if (firmware->size < NDM_BLOB_DIGEST || firmware->size > NDM_BLOB_MAX)
		goto refuse;
	content = firmware->size - NDM_BLOB_DIGEST;
	sha256(firmware->data, content, digest);
	problem = "its SHA-256 does not match its content";
	if (memcmp(digest, firmware->data + content, sizeof(digest)))
		goto refuse;
	problem = ndm_pin_refuses(digest);
	if (problem)
		goto refuse;
	problem = ndm_blob_parse(firmware->data, firmware->size,
				 &loaded->from_file.model,
				 &loaded->from_file.facts);
	if (problem)
		goto refuse;
	loaded->described = &loaded->from_file;
	ndm_core_prepare(&loaded->network, &loaded->from_file.model);
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

static void ndm_swap_model(struct ndm_slot *slot, struct ndm_loaded *next)
{
	struct ndm_loaded *last;

	last = rcu_dereference_protected(slot->active,
					 lockdep_is_held(&ndm_swap_mutex));
	if (next == last)
		return;
	/* The builtin model may have readers: only its number changes. */
	WRITE_ONCE(next->number, last->number + 1);
	rcu_assign_pointer(slot->active, next);
	if (last != &slot->builtin)
		kfree_rcu(last, rcu);
	slot->swaps++;
	pr_info("%s: uses model %s (%s, trained for %llu decisions)\n",
		slot->ops.name, next->file, next->described->facts.name,
		next->described->facts.decisions);
}

int ndm_slot_load(struct ndm_slot *slot, const char *file)
{
	const char *problem = ndm_check_name(file);
	struct ndm_loaded *next;
	int err = 0;

	if (problem) {
		pr_err("model %.64s is refused: %s\n", file, problem);
		return -EINVAL;
	}
	mutex_lock(&ndm_swap_mutex);
	next = strcmp(file, NDM_BUILTIN) ? ndm_read_file(file) : &slot->builtin;
	if (IS_ERR(next)) {
		slot->refused++;
		err = PTR_ERR(next);
	} else {
		ndm_swap_model(slot, next);
	}
	mutex_unlock(&ndm_swap_mutex);
	return err;
}

/* -- the folder in sysfs --------------------------------------------------- */

static struct ndm_slot *ndm_folder_slot(struct kobject *kobj)
{
	return container_of(kobj, struct ndm_slot, folder);
}

static ssize_t ndm_model_store(struct kobject *kobj,
			       struct kobj_attribute *attr,
			       const char *text, size_t count)
{
	char *file;
	int err;

	/* The file is root's, also for a root without capabilities or of another user namespace. */
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	file = kstrndup(text, count, GFP_KERNEL);
	if (!file)
		return -ENOMEM;
	err = ndm_slot_load(ndm_folder_slot(kobj), strim(file));
	kfree(file);
	return err ? err : count;
}

static ssize_t ndm_model_show(struct kobject *kobj, struct kobj_attribute *attr,
			      char *text)
{
	ssize_t length;

	rcu_read_lock();
	length = sysfs_emit(text, "%s\n",
			    rcu_dereference(ndm_folder_slot(kobj)->active)->file);
	rcu_read_unlock();
	return length;
}

static struct kobj_attribute ndm_model_attr =
	__ATTR(model, 0644, ndm_model_show, ndm_model_store);

static u64 ndm_decisions(const struct ndm_slot *slot)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(slot->decisions, cpu));
	return sum;
}

/* A file with one value of "slot" or of "facts", the origin of the model in use. */
#define NDM_VALUE(name, format, ...)					     \
static ssize_t ndm_##name##_show(struct kobject *kobj,			     \
				 struct kobj_attribute *attr, char *text)    \
{									     \
	const struct ndm_slot *slot = ndm_folder_slot(kobj);		     \
	const struct ndm_blob_facts *facts __maybe_unused;		     \
	ssize_t length;							     \
									     \
	rcu_read_lock();						     \
	facts = &rcu_dereference(slot->active)->described->facts;	     \
	length = sysfs_emit(text, format "\n", __VA_ARGS__);		     \
	rcu_read_unlock();						     \
	return length;							     \
}									     \
static struct kobj_attribute ndm_##name##_attr =			     \
	__ATTR(name, 0444, ndm_##name##_show, NULL)

NDM_VALUE(name, "%s", facts->name);
NDM_VALUE(profile, "%s", facts->profile);
NDM_VALUE(envelope, "%s", facts->envelope);
NDM_VALUE(revision, "%s", facts->revision);
NDM_VALUE(sha256, "%*phN", (int)sizeof(facts->sha256), facts->sha256);
NDM_VALUE(trained_decisions, "%llu", facts->decisions);
NDM_VALUE(format, "%d", NDM_MODEL_FORMAT);

NDM_VALUE(decisions, "%llu", ndm_decisions(slot));
NDM_VALUE(guard_starving, "%d", atomic_read(&slot->starved));
NDM_VALUE(model_swaps, "%u", READ_ONCE(slot->swaps));
NDM_VALUE(models_refused, "%u", READ_ONCE(slot->refused));

static struct attribute *ndm_fact_attrs[] = {
	&ndm_model_attr.attr,
	&ndm_name_attr.attr,
	&ndm_profile_attr.attr,
	&ndm_envelope_attr.attr,
	&ndm_revision_attr.attr,
	&ndm_sha256_attr.attr,
	&ndm_trained_decisions_attr.attr,
	&ndm_format_attr.attr,
	NULL
};

static const struct attribute_group ndm_facts_group = {
	.attrs = ndm_fact_attrs,
};

static struct attribute *ndm_counter_attrs[] = {
	&ndm_decisions_attr.attr,
	&ndm_guard_starving_attr.attr,
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

/* -- called by the module's init and exit ----------------------------------- */

int ndm_slot_init(struct ndm_slot *slot,
		  const struct ndm_described_model *model)
{
	int err;

	slot->decisions = alloc_percpu(unsigned long);
	if (!slot->decisions)
		return -ENOMEM;
	slot->builtin.described = model;
	ndm_core_prepare(&slot->builtin.network, &model->model);
	strscpy(slot->builtin.file, NDM_BUILTIN, sizeof(slot->builtin.file));
	RCU_INIT_POINTER(slot->active, &slot->builtin);
	init_completion(&slot->folder_released);
	err = kobject_init_and_add(&slot->folder, &ndm_folder_type,
				   &THIS_MODULE->mkobj.kobj, "%s",
				   slot->ops.name);
	if (err)
		ndm_slot_exit(slot);
	return err;
}

void ndm_slot_exit(struct ndm_slot *slot)
{
	struct ndm_loaded *last;

	kobject_put(&slot->folder);
	wait_for_completion(&slot->folder_released);
	last = rcu_dereference_protected(slot->active, true);
	if (last != &slot->builtin)
		kfree(last);
	free_percpu(slot->decisions);
}

int ndm_slot_device_add(void)
{
	ndm_device = root_device_register(KBUILD_MODNAME);
	return PTR_ERR_OR_ZERO(ndm_device);
}

void ndm_slot_device_del(void)
{
	root_device_unregister(ndm_device);
}
