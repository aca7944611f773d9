/* SPDX-License-Identifier: MIT */
/* What an attr is made of, as text. */
#include <stdio.h>

#include "internal.h"

const char *perch_format_attr_features(const struct perch_attr *attr, char *buffer, size_t size)
{
	struct perch_attr_part part[PERCH_MOST_ATTR_PARTS];
	size_t used = 0, nr;

	if (!size)
		return buffer;
	buffer[0] = '\0';
	nr = perch_attr_split(attr, part, PERCH__NR(part));
	for (size_t i = 0; i < nr && used + 1 < size; i++) {
		const struct perch_attr_bit *bit = part[i].bit;
		int length = snprintf(buffer + used, size - used, "%s%s%s%s", used ? ", " : "",
				      part[i].field->name, bit ? " " : "", bit ? bit->name : "");

		if (length < 0)
			break;
		used += length;
	}
	return buffer;
}
