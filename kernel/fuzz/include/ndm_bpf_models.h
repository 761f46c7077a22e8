/* SPDX-License-Identifier: GPL-2.0 */
/* Compiled-in models, which bpf_fuzz.c fills. kernel/bpf/models.c writes the real ones. */
#define NDM_BPF_BUILTINS 2

struct ndm_bpf_model ndm_builtins[NDM_BPF_BUILTINS];

#define NDM_BPF_ALL_OPS \
	NDM_BPF_OPS(0, ndm); \
	NDM_BPF_OPS(1, ndm_other);
