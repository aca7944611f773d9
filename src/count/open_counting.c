/* SPDX-License-Identifier: MIT */
/* Opening what will be read: what reading relies on is never optional. */
#include <errno.h>

#include "internal.h"

bool perch__any_feature(const struct perch_attr *attr)
{
	const unsigned char *bytes = (const unsigned char *)attr;

	for (size_t i = 0; i < sizeof(*attr); i++)
		if (bytes[i])
			return true;
	return false;
}

void perch__add_features(struct perch_attr *sum, const struct perch_attr *parts)
{
	unsigned char *to = (unsigned char *)sum;
	const unsigned char *from = (const unsigned char *)parts;

	for (size_t i = 0; i < sizeof(*sum); i++)
		to[i] |= from[i];
}

/* Where members may leave, their ids tell who is who of the rest. */
uint64_t perch__group_format(const struct perch_attr *attr)
{
	return PERCH_FORMAT_GROUP | (attr->remove_on_exec ? PERCH_FORMAT_ID : 0);
}

static int open_once(struct perch_attr *attr, const struct perch_attr *optional,
		     struct perch_attr *missing_features, const struct perch_target *target,
		     int group_fd, struct perch_machine *machine, struct perch_error *err)
{
	struct perch_attr may_go, gone;
	int fd;

	if (!optional)
		return perch_open(attr, target, group_fd, 0, machine, err);
	may_go = *optional;
	may_go.read_format &= ~(uint64_t)(PERCH__TIMES | PERCH_FORMAT_GROUP);
	fd = perch_open_optional(attr, &may_go, &gone, target, group_fd, 0, machine, err);
	if (fd >= 0)
		perch__add_features(missing_features, &gone);
	return fd;
}

int perch__open_counting(struct perch_attr *attr, const struct perch_attr *optional,
			 struct perch_attr *missing_features, const struct perch_target *target,
			 int group_fd, struct perch_machine *machine, struct perch_error *err)
{
	int fd = open_once(attr, optional, missing_features, target, group_fd, machine, err), other;
	struct perch_attr single;

	if (fd != -EINVAL || group_fd >= 0 || !attr->inherit ||
	    !(attr->read_format & PERCH_FORMAT_GROUP))
		return fd;
	single = *attr;
	single.read_format &= ~(uint64_t)PERCH_FORMAT_GROUP;
	other = open_once(&single, optional, missing_features, target, -1, machine, NULL);
	if (other < 0)
		return fd;
	*attr = single;
	return other;
}
