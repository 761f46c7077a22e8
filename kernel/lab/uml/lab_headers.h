/* SPDX-License-Identifier: GPL-2.0 */
/* What most files of the kernel include, compiled once: see cc.sh. */
#include "linux/compiler-version.h"
#include "linux/kconfig.h"
#include "linux/compiler_types.h"

/* macros of headers name them; each file brings its own afterwards */
#define KBUILD_MODFILE "lab"
#define KBUILD_BASENAME "lab"
#define KBUILD_MODNAME "lab"
#define __KBUILD_MODNAME kmod_lab

#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pagemap.h>
#include <linux/proc_fs.h>
#include <net/netfilter/nf_conntrack.h>
#include <net/pkt_cls.h>
#include <net/tcp.h>

#undef KBUILD_MODFILE
#undef KBUILD_BASENAME
#undef KBUILD_MODNAME
#undef __KBUILD_MODNAME
