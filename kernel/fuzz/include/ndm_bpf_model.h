/* SPDX-License-Identifier: GPL-2.0 */
/* The compiled-in model, which bpf_fuzz.c fills. kernel/bpf/model.c writes the real one. */
#define NDM_BPF_CONTROL ndm
#define NDM_BPF_CONTROL_TEXT "ndm"

struct ndm_bpf_model ndm_builtin;
