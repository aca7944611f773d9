/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

static uint64_t *field_of(struct perch_attr *attr, unsigned field)
{
	switch (field) {
	case 0:
		return &attr->config;
	case 1:
		return &attr->config1;
	case 2:
		return &attr->config2;
	case 3:
		return &attr->config3;
	default:
		return &attr->config4;
	}
}

uint64_t *perch__config_field(struct perch_attr *attr, const char *name)
{
	if (strncmp(name, "config", 6))
		return NULL;
	if (!name[6])
		return field_of(attr, 0);
	return name[6] >= '1' && name[6] <= '4' && !name[7] ? field_of(attr, name[6] - '0') : NULL;
}

/* Parses a bit number, 0 to 63. */
static bool parse_bit(const char **at, unsigned char *bit)
{
	unsigned number = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at) && number < 64; (*at)++)
		number = 10 * number + (**at - '0');
	*bit = number;
	return number < 64;
}

int perch__format_parse(struct perch__format *format, const char *text)
{
	const char *at = text;

	memset(format, 0, sizeof(*format));
	if (strncmp(at, "config", 6))
		return -EBADMSG;
	at += 6;
	if (*at >= '1' && *at <= '4')
		format->field = *at++ - '0';
	if (*at++ != ':')
		return -EBADMSG;
	while (format->nr < PERCH__FORMAT_RANGES) {
		unsigned char first, last;

		if (!parse_bit(&at, &first))
			return -EBADMSG;
		last = first;
		if (*at == '-') {
			at++;
			if (!parse_bit(&at, &last))
				return -EBADMSG;
		}
		if (last < first)
			return -EBADMSG;
		format->range[format->nr].first = first;
		format->range[format->nr++].last = last;
		format->bits += last - first + 1;
		if (!*at || *at == '\n')
			return format->bits <= 64 ? 0 : -EBADMSG;
		if (*at++ != ',')
			return -EBADMSG;
	}
	return -EBADMSG;
}

int perch__format_apply(const struct perch__format *format, struct perch_attr *attr, uint64_t value)
{
	uint64_t *config = field_of(attr, format->field);

	if (format->bits < 64 && value >> format->bits)
		return -ERANGE;
	for (size_t i = 0; i < format->nr; i++)
		for (unsigned bit = format->range[i].first; bit <= format->range[i].last; bit++) {
			*config = (*config & ~(UINT64_C(1) << bit)) | (value & 1) << bit;
			value >>= 1;
		}
	return 0;
}

bool perch__has_pmu_bits(uint32_t type)
{
	return type == PERCH_TYPE_HARDWARE || type == PERCH_TYPE_HW_CACHE;
}

uint32_t perch__pmu_type(const struct perch_attr *attr)
{
	return perch__has_pmu_bits(attr->type) ? attr->config >> PERCH_PMU_TYPE_SHIFT : attr->type;
}

void perch__set_config(struct perch_attr *attr, uint64_t config)
{
	/* the PMU stays, unless the term has one too */
	if (perch__has_pmu_bits(attr->type) && config <= PERCH_HW_EVENT_MASK)
		config |= attr->config >> PERCH_PMU_TYPE_SHIFT << PERCH_PMU_TYPE_SHIFT;
	attr->config = config;
}
