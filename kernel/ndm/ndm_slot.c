// SPDX-License-Identifier: GPL-2.0
/* The models of tcp_ndm: loading, exchanging and showing them. See ndm_slot.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <crypto/sha2.h>
#include <linux/device.h>
#include <linux/firmware.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "ndm_slot.h"

static DEFINE_MUTEX(swapping);		/* one change of a slot's model at a time */
static struct device *device;

/* -- another model --------------------------------------------------------- */

static const char *check_name(const char *file)
{
	if (!*file)
		return "it has no name";
	if (*file == '/' || strstr(file, ".."))
		return "it is not below the folders of the firmware loader";
	if (strlen(file) >= sizeof_field(struct ndm_loaded, file))
		return "its name is too long";
	return NULL;
}

static struct ndm_loaded *read_file(const char *file)
{
	const struct firmware *firmware;
	u8 digest[NDM_BLOB_DIGEST];
	struct ndm_loaded *loaded;
	const char *problem;
	size_t content;
	int err;

	err = request_firmware_direct(&firmware, file, device);
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
				 &loaded->from_file.model,
				 &loaded->from_file.facts);
	if (problem)
		goto refuse;
	loaded->is = &loaded->from_file;
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

static void take_into_use(struct ndm_slot *slot, struct ndm_loaded *next)
{
	struct ndm_loaded *last;

	last = rcu_dereference_protected(slot->active,
					 lockdep_is_held(&swapping));
	if (next == last)
		return;
	/* The builtin one is no other than before for who reads it. */
	WRITE_ONCE(next->number, (last->number + 1) % 64);
	rcu_assign_pointer(slot->active, next);
	if (last != &slot->builtin)
		kfree_rcu(last, rcu);
	slot->swaps++;
	pr_info("%s: model %s, %s of %llu decisions, is in use\n",
		slot->ops.name, next->file, next->is->facts.name,
		next->is->facts.decisions);
}

int ndm_slot_load(struct ndm_slot *slot, const char *file)
{
	const char *problem = check_name(file);
	struct ndm_loaded *next;
	int err = 0;

	if (problem) {
		pr_err("a model is refused: %s\n", problem);
		return -EINVAL;
	}
	mutex_lock(&swapping);
	next = strcmp(file, NDM_BUILTIN) ? read_file(file) : &slot->builtin;
	if (IS_ERR(next)) {
		slot->refused++;
		err = PTR_ERR(next);
	} else {
		take_into_use(slot, next);
	}
	mutex_unlock(&swapping);
	return err;
}

/* -- its folder ------------------------------------------------------------ */

static struct ndm_slot *slot_of(struct kobject *kobj)
{
	return container_of(kobj, struct ndm_slot, folder);
}

static ssize_t model_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *text, size_t count)
{
	char *file = kstrndup(text, count, GFP_KERNEL);
	int err;

	if (!file)
		return -ENOMEM;
	err = ndm_slot_load(slot_of(kobj), strim(file));
	kfree(file);
	return err ? err : count;
}

static ssize_t model_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *text)
{
	ssize_t length;

	rcu_read_lock();
	length = sysfs_emit(text, "%s\n",
			    rcu_dereference(slot_of(kobj)->active)->file);
	rcu_read_unlock();
	return length;
}

static struct kobj_attribute model_attr = __ATTR_RW(model);

/* A fact about the model in use; "facts" is what they are read from. */
#define NDM_FACT(name, format, ...)					     \
static ssize_t name##_show(struct kobject *kobj,			     \
			   struct kobj_attribute *attr, char *text)	     \
{									     \
	const struct ndm_blob_facts *facts;				     \
	ssize_t length;							     \
									     \
	rcu_read_lock();						     \
	facts = &rcu_dereference(slot_of(kobj)->active)->is->facts;	     \
	length = sysfs_emit(text, format "\n", __VA_ARGS__);		     \
	rcu_read_unlock();						     \
	return length;							     \
}									     \
static struct kobj_attribute name##_attr = __ATTR_RO(name)

NDM_FACT(name, "%s", facts->name);
NDM_FACT(profile, "%s", facts->profile);
NDM_FACT(envelope, "%s", facts->envelope);
NDM_FACT(revision, "%s", facts->revision);
NDM_FACT(sha256, "%*phN", (int)sizeof(facts->sha256), facts->sha256);
NDM_FACT(trained_decisions, "%llu", facts->decisions);

static ssize_t format_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *text)
{
	return sysfs_emit(text, "%d\n", NDM_MODEL_FORMAT);
}

static struct kobj_attribute format_attr = __ATTR_RO(format);

static struct attribute *fact_attrs[] = {
	&model_attr.attr,
	&name_attr.attr,
	&profile_attr.attr,
	&envelope_attr.attr,
	&revision_attr.attr,
	&sha256_attr.attr,
	&trained_decisions_attr.attr,
	&format_attr.attr,
	NULL
};

static const struct attribute_group facts_group = {
	.attrs = fact_attrs,
};

static ssize_t decisions_show(struct kobject *kobj, struct kobj_attribute *attr,
			      char *text)
{
	const struct ndm_slot *slot = slot_of(kobj);
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(slot->decisions, cpu));
	return sysfs_emit(text, "%llu\n", sum);
}

static struct kobj_attribute decisions_attr = __ATTR_RO(decisions);

static ssize_t guard_interventions_show(struct kobject *kobj,
					struct kobj_attribute *attr, char *text)
{
	return sysfs_emit(text, "%d\n",
			  atomic_read(&slot_of(kobj)->interventions));
}

static struct kobj_attribute guard_interventions_attr =
	__ATTR_RO(guard_interventions);

static ssize_t model_swaps_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(slot_of(kobj)->swaps));
}

static struct kobj_attribute model_swaps_attr = __ATTR_RO(model_swaps);

static ssize_t models_refused_show(struct kobject *kobj,
				   struct kobj_attribute *attr, char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(slot_of(kobj)->refused));
}

static struct kobj_attribute models_refused_attr = __ATTR_RO(models_refused);

static struct attribute *counter_attrs[] = {
	&decisions_attr.attr,
	&guard_interventions_attr.attr,
	&model_swaps_attr.attr,
	&models_refused_attr.attr,
	NULL
};

static const struct attribute_group counters_group = {
	.name = "counters",
	.attrs = counter_attrs,
};

static const struct attribute_group *groups[] = {
	&facts_group,
	&counters_group,
	NULL
};

static void folder_release(struct kobject *kobj)
{
	complete(&slot_of(kobj)->folder_is_gone);
}

static const struct kobj_type folder_type = {
	.sysfs_ops = &kobj_sysfs_ops,
	.release = folder_release,
	.default_groups = groups,
};

/* -- from the module's init and exit ---------------------------------------- */

int ndm_slot_init(struct ndm_slot *slot,
		  const struct ndm_described_model *model)
{
	int err;

	slot->decisions = alloc_percpu(u64);
	if (!slot->decisions)
		return -ENOMEM;
	slot->builtin.is = model;
	strscpy(slot->builtin.file, NDM_BUILTIN, sizeof(slot->builtin.file));
	RCU_INIT_POINTER(slot->active, &slot->builtin);
	init_completion(&slot->folder_is_gone);
	err = kobject_init_and_add(&slot->folder, &folder_type,
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
	wait_for_completion(&slot->folder_is_gone);
	last = rcu_dereference_protected(slot->active, true);
	if (last != &slot->builtin)
		kfree(last);
	free_percpu(slot->decisions);
}

int ndm_slot_device_add(void)
{
	device = root_device_register(KBUILD_MODNAME);
	return PTR_ERR_OR_ZERO(device);
}

void ndm_slot_device_del(void)
{
	root_device_unregister(device);
}
