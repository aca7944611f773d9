/* SPDX-License-Identifier: MIT */
/* Events over descriptors that were opened elsewhere: before an exec, or in another process. */
#include <errno.h>
#include <stdio.h>

#include "internal.h"

#define MAX_WORDS (16384 / sizeof(uint64_t)) /* of a read(2) of a group: a limit of the kernel */

static int not_an_event(int fd, int rc, struct perch_machine *machine, struct perch_error *err)
{
	struct perch_explanation explanation;
	const struct perch_operation operation = { .kind = PERCH_OPERATION_IOCTL,
						   .errnum = -rc,
						   .request = PERCH_IOC_ID,
						   .other_fd = -1 };

	if (!err)
		return rc;
	perch_explain_operation(&operation, machine, &explanation);
	perch_explanation_error(&explanation, err);
	perch_error_prefix(err, "descriptor %d: ", fd);
	return rc;
}

int perch__check_descriptor(int fd, const struct perch_attr *attr, struct perch_machine *machine,
			    struct perch_error *err)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);
	uint64_t words[MAX_WORDS], id;
	size_t expected;
	ssize_t got;
	int rc;

	if ((attr->read_format & PERCH__TIMES) != PERCH__TIMES) {
		perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"attr.read_format must have TOTAL_TIME_ENABLED and TOTAL_TIME_RUNNING (currently 0x%llx)",
			(unsigned long long)attr->read_format);
		perch_error_field(err, "read_format", NULL);
		perch_error_remedy(err, "pass the attr that was opened: perch_counter_attr()");
		return -EINVAL;
	}
	rc = perch__control(calls, fd, PERCH_IOC_ID, (unsigned long)&id);
	if (rc)
		return not_an_event(fd, rc, machine, err);
	got = calls->read(calls->context, fd, words, sizeof(words));
	if (got <= 0) /* a pinned event in error state, or a group that a child has changed */
		return 0;
	expected = perch__read_words(attr->read_format,
				     attr->read_format & PERCH_FORMAT_GROUP ? words[0] : 1);
	if ((size_t)got == expected * sizeof(*words))
		return 0;
	perch_error_set(
		err, EINVAL, PERCH_ERROR_USAGE,
		"attr.read_format 0x%llx is not that of descriptor %d: reading it returned %zd bytes instead of %zu",
		(unsigned long long)attr->read_format, fd, got, expected * sizeof(*words));
	perch_error_field(err, "read_format", NULL);
	perch_error_remedy(err, "pass the attr that was opened: perch_counter_attr()");
	return -EINVAL;
}

void perch__adopt(struct perch__opened *opened, int fd, const struct perch_attr *attr,
		  const char *name)
{
	char text[sizeof(opened->name)];

	opened->fd = fd;
	opened->attr = *attr;
	perch__set_name(opened, name ? name : perch_attr_name(attr, text, sizeof(text)));
}
