/* SPDX-License-Identifier: MIT */
/* Builds the case of an open call, as the kernel received it, and explains it. */
#include <errno.h>
#include <string.h>

#include "base/reserved.h"
#include "engine.h"

/* The kernel refuses a larger attr without reading it. */
#define MAX_BYTES 4096

static void find_unknown(struct perch__case *c, const char *bytes, uint32_t size)
{
	for (uint32_t at = sizeof(c->attr); at < size; at++)
		if (bytes[at]) {
			c->unknown_at = at;
			return;
		}
}

/*
 * The kernel reads attr.size bytes; 0 means the first version. After E2BIG it has written its own
 * size there. If the size passed is unknown, the attr is assumed to be a struct perch_attr, because
 * the bytes that caused E2BIG are beyond the written size.
 */
static void copy_attr(struct perch__case *c, const struct perch_attr *attr)
{
	bool overwritten = c->errnum == E2BIG && !c->kernel_size && c->size >= PERCH_ATTR_SIZE_VER0;
	uint32_t size = c->size ? c->size : PERCH_ATTR_SIZE_VER0;

	if (size > MAX_BYTES)
		size = PERCH_ATTR_SIZE_VER0;
	if (!overwritten && size > sizeof(c->attr))
		find_unknown(c, (const char *)attr, size);
	if (size > sizeof(c->attr) || overwritten)
		size = sizeof(c->attr);
	memcpy(&c->attr, attr, size);
	memset((char *)&c->attr + size, 0, sizeof(c->attr) - size);
	c->attr.size = c->size;
}

static void make_case(struct perch__case *c, const struct perch_open_call *call,
		      struct perch_machine *machine, struct perch__shared *shared)
{
	memset(shared, 0, sizeof(*shared));
	c->shared = shared;
	c->call = call;
	c->size = 0;
	c->kernel_size = call->kernel_size;
	c->unknown_at = 0;
	c->pid = call->pid;
	c->cpu = call->cpu;
	c->group_fd = call->group_fd;
	c->flags = call->flags;
	c->errnum = call->errnum;
	c->reached_perf = false;
	c->machine = machine;
	if (!call->attr) {
		memset(&c->attr, 0, sizeof(c->attr));
		return;
	}
	memcpy(&c->size, &call->attr->size, sizeof(c->size));
	copy_attr(c, call->attr);
}

int perch_explain_open_call(const struct perch_open_call *call, const struct perch_probing *probing,
			    struct perch_machine *machine, struct perch_explanation *explanation)
{
	struct perch__result result;
	struct perch_machine *own;
	struct perch__shared shared;
	struct perch__case c;

	if (!call || call->errnum <= 0 || !explanation ||
	    PERCH__CHECK_RESERVED(call, "perch_open_call", NULL) ||
	    PERCH__CHECK_RESERVED(call->leader, "perch_open_call_leader", NULL) ||
	    PERCH__CHECK_RESERVED(probing, "perch_probing", NULL))
		return -EINVAL;
	machine = perch__machine_of(machine, call->from_log, &own);
	make_case(&c, call, machine, &shared);
	perch__evaluate(&c, &result);
	if (probing && machine)
		perch__probe_case(&c, probing, &result);
	perch__compose(&c, &result, explanation);
	perch_machine_free(own);
	return 0;
}

int perch_explain(const struct perch_open_call *call, struct perch_machine *machine,
		  struct perch_error *err)
{
	static const struct perch_probing by_default;
	struct perch_explanation explanation;
	bool may_probe = perch_machine_probing(machine);

	if (!call || call->errnum <= 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "there is no failed call to explain");
	if (!err)
		return -call->errnum;
	perch_explain_open_call(call, may_probe ? &by_default : NULL, machine, &explanation);
	return perch_explanation_error(&explanation, err);
}
