/* SPDX-License-Identifier: MIT */
/* Facts for the lint rules, and the values of their placeholders. */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint.h"

#define DEVICES "/sys/bus/event_source/devices"

/* The config fields that formats use. */
static const char *const words[] = { "config", "config1", "config2", "config3", "config4" };
#define NR_CONFIG_FIELDS (sizeof(words) / sizeof(*words))

struct masks {
	uint64_t of[NR_CONFIG_FIELDS];
	bool any;
};

/* Parses "0-7,21", with inclusive ranges. Stops at invalid text. */
static uint64_t bits_of(const char *text)
{
	uint64_t mask = 0;

	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (first > last || last > 63)
			break;
		for (unsigned long bit = first; bit <= last; bit++)
			mask |= UINT64_C(1) << bit;
		if (*end != ',')
			break;
		text = end + 1;
	}
	return mask;
}

/* "config1:0-15" */
static void add_format(struct masks *masks, const char *text)
{
	size_t length = strcspn(text, ":");

	for (size_t i = 0; i < NR_CONFIG_FIELDS; i++)
		if (text[length] == ':' && strlen(words[i]) == length &&
		    !memcmp(words[i], text, length)) {
			masks->of[i] |= bits_of(text + length + 1);
			masks->any = true;
		}
}

static void read_formats(const struct perch__lint *l, const char *pmu, struct masks *masks)
{
	char path[PATH_MAX], name[PATH_MAX], text[64];
	const struct dirent *entry;
	DIR *directory;

	snprintf(name, sizeof(name), DEVICES "/%s/format", pmu);
	if (perch_machine_path(l->c.machine, name, path, sizeof(path)) < 0)
		return;
	directory = opendir(path);
	if (!directory)
		return;
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), DEVICES "/%s/format/%s", pmu, entry->d_name);
		if (perch_machine_read(l->c.machine, name, text, sizeof(text)) > 0)
			add_format(masks, text);
	}
	closedir(directory);
}

/* PERCH_TYPE_RAW is the core PMU, if there is one. */
static const struct perch_pmu *pmu_of(const struct perch__lint *l)
{
	const struct perch_pmu *pmus, *found = NULL;
	size_t nr;

	if (!l->c.machine || perch_machine_pmus(l->c.machine, &pmus, &nr, NULL))
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		if (!pmus[i].core || (l->a->type != PERCH_TYPE_RAW && pmus[i].type != l->a->type))
			continue;
		if (found)
			/* hybrid: the formats depend on the CPU */
			return NULL;
		found = &pmus[i];
	}
	return found;
}

bool perch__lint_raw_bits(struct perch__lint *l)
{
	const uint64_t values[NR_CONFIG_FIELDS] = { l->a->config, l->a->config1, l->a->config2,
						    l->a->config3, l->a->config4 };
	const struct perch_pmu *pmu;
	struct masks masks = { 0 };

	if (l->a->type != PERCH_TYPE_RAW && l->a->type < PERCH_TYPE_MAX)
		return false;
	pmu = pmu_of(l);
	if (!pmu)
		return false;
	read_formats(l, pmu->name, &masks);
	for (size_t i = 0; masks.any && i < NR_CONFIG_FIELDS; i++) {
		if (!(values[i] & ~masks.of[i]))
			continue;
		l->raw_field = words[i];
		l->raw_value = values[i];
		l->raw_bits = values[i] & ~masks.of[i];
		snprintf(l->raw_pmu, sizeof(l->raw_pmu), "%s", pmu->name);
		return true;
	}
	return false;
}

bool perch__lint_watchdog(const struct perch__lint *l)
{
	long value;

	return l->c.machine &&
	       !perch_machine_sysctl(l->c.machine, PERCH_SYSCTL_NMI_WATCHDOG, &value, NULL) &&
	       value == 1;
}

/* ---- Placeholders ---- */

static const char *event_kind(const struct perch__lint *l)
{
	switch (l->a->type) {
	case PERCH_TYPE_SOFTWARE:
		return "a software event";
	case PERCH_TYPE_TRACEPOINT:
		return "a tracepoint";
	case PERCH_TYPE_BREAKPOINT:
		return "a breakpoint";
	default:
		return "a hardware event";
	}
}

/* "WEIGHT, DATA_SRC" */
static void hardware_samples(const struct perch__lint *l, char *buffer, size_t size)
{
	static const struct {
		uint64_t bit;
		const char *name;
	} names[] = {
		{ PERCH_SAMPLE_WEIGHT, "WEIGHT" },
		{ PERCH_SAMPLE_WEIGHT_STRUCT, "WEIGHT_STRUCT" },
		{ PERCH_SAMPLE_DATA_SRC, "DATA_SRC" },
		{ PERCH_SAMPLE_TRANSACTION, "TRANSACTION" },
	};
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && used < size; i++)
		if (l->a->sample_type & names[i].bit)
			used += snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
					 names[i].name);
}

bool perch__lint_placeholder(const void *lint, const char *name, size_t length, char *buffer,
			     size_t size)
{
	const struct perch__lint *l = lint;
	const struct {
		const char *name, *text;
	} texts[] = {
		{ "beyond", l->beyond.name },
		{ "event_kind", event_kind(l) },
		{ "raw_pmu", l->raw_pmu },
		{ "raw_field", l->raw_field },
	};
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "attr_size", l->whole.size },
		{ "wakeup", l->a->wakeup_events },
		{ "group_members", l->c.call->leader ? l->c.call->leader->members + 1 : 0 },
	};

#define FOR_THE_NAMED(table, i)                                       \
	for (size_t i = 0; i < sizeof(table) / sizeof(*(table)); i++) \
		if (strlen((table)[i].name) == length && !memcmp((table)[i].name, name, length))
	FOR_THE_NAMED(texts, i)
	return snprintf(buffer, size, "%s", texts[i].text ? texts[i].text : "") >= 0;
	FOR_THE_NAMED(numbers, i)
	return snprintf(buffer, size, "%" PRIu64, numbers[i].value) > 0;
#undef FOR_THE_NAMED
	if (length == strlen("raw_bits") && !memcmp(name, "raw_bits", length))
		return snprintf(buffer, size, "0x%" PRIx64, l->raw_bits) > 0;
	if (length == strlen("raw_value") && !memcmp(name, "raw_value", length))
		return snprintf(buffer, size, "0x%" PRIx64, l->raw_value) > 0;
	if (length == strlen("hardware_samples") && !memcmp(name, "hardware_samples", length))
		return hardware_samples(l, buffer, size), true;
	return perch__placeholder(&l->c, name, length, buffer, size);
}
