// SPDX-License-Identifier: GPL-2.0
/*
 * Which model files may be loaded: all, or those whose SHA-256 the parameter "pin" names.
 *
 * A model decides how fast this machine sends, as code does. In a locked-down kernel, which
 * takes signed modules only, a file's content therefore has to be pinned. Root can change
 * /lib/firmware, and lockdown does not look at what comes from there.
 */
#include <linux/module.h>
#include <linux/security.h>
#include <linux/string.h>

#include "compat/hex.h"
#include "ndm_slot.h"

#define NDM_PINS 16

static char *ndm_pins[NDM_PINS];
static int ndm_pin_count;
module_param_array_named(pin, ndm_pins, charp, &ndm_pin_count, 0444);
MODULE_PARM_DESC(pin, "SHA-256 of each model file that may be loaded (default: any file)");

static u8 ndm_pinned[NDM_PINS][NDM_BLOB_DIGEST];

const char *ndm_pin_init(void)
{
	int i;

	for (i = 0; i < ndm_pin_count; i++)
		if (strlen(ndm_pins[i]) != 2 * NDM_BLOB_DIGEST ||
		    hex2bin(ndm_pinned[i], ndm_pins[i], NDM_BLOB_DIGEST))
			return ndm_pins[i];
	return NULL;
}

const char *ndm_pin_refuses(const u8 *digest)
{
	int i;

	for (i = 0; i < ndm_pin_count; i++)
		if (!memcmp(ndm_pinned[i], digest, NDM_BLOB_DIGEST))
			return NULL;
	if (ndm_pin_count)
		return "its SHA-256 is not one of the parameter pin";
	if (security_locked_down(LOCKDOWN_MODULE_SIGNATURE))
		return "this kernel is locked down: pin its SHA-256 (parameter pin)";
	return NULL;
}
