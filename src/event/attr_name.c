/* SPDX-License-Identifier: MIT */
/* The name of the event of an attr. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

static void generic_name(const struct perch_attr *attr, char *buffer, size_t size)
{
	uint64_t config = attr->config;
	const struct perch_event_name *name;

	if (attr->type == PERCH_TYPE_HARDWARE)
		config &= PERCH_HW_EVENT_MASK;
	for (size_t i = 0; (name = perch_event_get_name(i)); i++)
		if (name->type == attr->type && name->config == config) {
			snprintf(buffer, size, "%s", name->name);
			return;
		}
	snprintf(buffer, size, "%s 0x%" PRIx64,
		 attr->type == PERCH_TYPE_HARDWARE ? "unknown-hardware" : "unknown-software",
		 attr->config);
}

static void breakpoint_name(const struct perch_attr *attr, char *buffer, size_t size)
{
	snprintf(buffer, size, "mem:0x%" PRIx64 ":%s%s%s", attr->bp_addr,
		 attr->bp_type & PERCH_BREAKPOINT_R ? "r" : "",
		 attr->bp_type & PERCH_BREAKPOINT_W ? "w" : "",
		 attr->bp_type & PERCH_BREAKPOINT_X ? "x" : "");
}

static void plain_name(const struct perch_attr *attr, char *buffer, size_t size)
{
	switch (attr->type) {
	case PERCH_TYPE_HARDWARE:
	case PERCH_TYPE_SOFTWARE:
		generic_name(attr, buffer, size);
		break;
	case PERCH_TYPE_HW_CACHE:
		if (!perch_cache_event_name(attr->config, buffer, size))
			snprintf(buffer, size, "invalid-cache 0x%" PRIx64, attr->config);
		break;
	case PERCH_TYPE_RAW:
		snprintf(buffer, size, "raw 0x%" PRIx64, attr->config);
		break;
	case PERCH_TYPE_TRACEPOINT:
		snprintf(buffer, size, "tracepoint %" PRIu64, attr->config);
		break;
	case PERCH_TYPE_BREAKPOINT:
		breakpoint_name(attr, buffer, size);
		break;
	default:
		snprintf(buffer, size, "type %" PRIu32 " config 0x%" PRIx64, attr->type,
			 attr->config);
	}
}

/* exclude_guest without exclude_host is not shown: most versions of perf set it on every event. */
static void write_modifiers(const struct perch_attr *attr, char text[12])
{
	if (attr->exclude_user || attr->exclude_kernel || attr->exclude_hv) {
		if (!attr->exclude_kernel)
			*text++ = 'k';
		if (!attr->exclude_user)
			*text++ = 'u';
		if (!attr->exclude_hv)
			*text++ = 'h';
	}
	for (unsigned i = 0; i < attr->precise_ip; i++)
		*text++ = 'p';
	if (attr->exclude_host && !attr->exclude_guest)
		*text++ = 'G';
	if (attr->exclude_idle)
		*text++ = 'I';
	*text = '\0';
}

const char *perch_attr_name(const struct perch_attr *attr, char *buffer, size_t size)
{
	char modifiers[12];
	size_t used;

	if (!size)
		return buffer;
	plain_name(attr, buffer, size);
	write_modifiers(attr, modifiers);
	used = strlen(buffer);
	if (modifiers[0])
		snprintf(buffer + used, size - used, ":%s", modifiers);
	return buffer;
}
