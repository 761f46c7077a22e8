/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint ndm:ndm_decision: one line per decision of tcp_ndm, enough to replay
 * the integer network bit for bit. Its state starts at 0 with decision 0 of each
 * flow and with each new model.
 *
 *	ndm_decision: flow=1 decision=0 x=0,819,... action=-12,340 cwnd=10
 *		srtt_us=40012 model=0 ca=ndm
 *
 * x: the inputs, Q12, in the order of ndm_schema.h; action: the two outputs,
 * Q14; cwnd: packets, before the decision; model: number of the model in use, which
 * increases with each new model; ca: the congestion control.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ndm

#if !defined(NDM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NDM_TRACE_H

#include <linux/tracepoint.h>
#include <net/tcp.h>

#include "ndm/ndm_schema.h"

TRACE_EVENT(ndm_decision,

	TP_PROTO(const char *ca, u32 flow, u32 decision, const s16 *x,
		 const s16 *action, u32 cwnd, u32 srtt_us, u32 model),

	TP_ARGS(ca, flow, decision, x, action, cwnd, srtt_us, model),

	TP_STRUCT__entry(
		__array(char, ca, TCP_CA_NAME_MAX)
		__field(u32, flow)
		__field(u32, decision)
		__field(u32, cwnd)
		__field(u32, srtt_us)
		__field(u32, model)
		__array(s16, x, NDM_INPUTS)
		__array(s16, action, NDM_OUTPUTS)
	),

	TP_fast_assign(
		memcpy(__entry->ca, ca, TCP_CA_NAME_MAX);
		__entry->flow = flow;
		__entry->decision = decision;
		__entry->cwnd = cwnd;
		__entry->srtt_us = srtt_us;
		__entry->model = model;
		memcpy(__entry->x, x, sizeof(__entry->x));
		memcpy(__entry->action, action, sizeof(__entry->action));
	),

	TP_printk("flow=%u decision=%u x=" NDM_INPUTS_FORMAT
		  " action=%d,%d cwnd=%u srtt_us=%u model=%u ca=%s",
		  __entry->flow, __entry->decision, NDM_INPUTS_OF(__entry->x),
		  __entry->action[0], __entry->action[1],
		  __entry->cwnd, __entry->srtt_us, __entry->model, __entry->ca)
);

#endif /* NDM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ndm/tcp
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ndm_trace
#include <trace/define_trace.h>
