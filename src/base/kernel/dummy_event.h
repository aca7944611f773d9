/* SPDX-License-Identifier: MIT */
/* Dummy events: they take no samples. Recorders open them for the records of mappings and threads.
 */
#ifndef PERCH_BASE_DUMMY_EVENT_H
#define PERCH_BASE_DUMMY_EVENT_H

#include <stdbool.h>
#include <perch/abi.h>

static inline bool perch__is_dummy(const struct perch_attr *attr)
{
	return attr->type == PERCH_TYPE_SOFTWARE && attr->config == PERCH_COUNT_SW_DUMMY;
}

#endif
