/* SPDX-License-Identifier: MIT */
/* The output of perch doctor, as text and as JSON. */
#include <inttypes.h>
#include <string.h>
#include <jansson.h>

#include "doctor.h"
#include "options.h"

static const struct {
	const char *mark, *slug, *colour;
} statuses[DOCTOR_STATUSES] = {
	[DOCTOR_OK] = { "ok", "ok", "\033[32m" },
	[DOCTOR_LIMITED] = { "limited", "limited", "\033[33m" },
	[DOCTOR_NO] = { "no", "no", "\033[31m" },
	[DOCTOR_UNKNOWN] = { "?", "unknown", "\033[36m" },
};

#define INDENT 12 /* columns of the marks before titles; reasons begin below the titles */

/* Prints a text that begins at a column; breaks its lines at spaces, unless width is 0. */
static void print_wrapped(FILE *out, const char *text, unsigned column, unsigned width)
{
	unsigned at = column;

	while (*text) {
		size_t word = strcspn(text, " "), length = word + strspn(text + word, " ");

		if (width && at > INDENT && at + word >= width) {
			fprintf(out, "\n%*s", INDENT, "");
			at = INDENT;
		}
		fprintf(out, "%.*s", (int)(text[length] ? length : word), text);
		at += length;
		text += length;
	}
	fputc('\n', out);
}

static void print_below(FILE *out, const char *front, const char *text, unsigned width)
{
	if (!text[0])
		return;
	fprintf(out, "%*s%s", INDENT, "", front);
	print_wrapped(out, text, INDENT + strlen(front), width);
}

/* Reasons and changes that consecutive results share are printed once, below the last of them. */
static bool next_has_same_reason(const struct doctor *doctor, size_t i)
{
	const struct doctor_result *result = &doctor->result[i], *next = result + 1;

	return i + 1 < doctor->nr && result->reason[0] && !strcmp(result->group, next->group) &&
	       !strcmp(result->reason, next->reason) && !strcmp(result->change, next->change);
}

static void print_result(const struct doctor_result *result, FILE *out, bool colours,
			 unsigned width)
{
	const char *colour = colours ? statuses[result->status].colour : "",
		   *plain = colours ? "\033[0m" : "";
	int title = result->value[0] ? 32 : 0;

	fprintf(out, "  %s%-7s%s   %-*s", colour, statuses[result->status].mark, plain, title,
		result->title);
	print_wrapped(out, result->value, INDENT + 32, width);
}

static bool works(const struct doctor *doctor, const char *id)
{
	const struct doctor_result *result = doctor_find_result(doctor, id);

	return result && result->status == DOCTOR_OK;
}

/* Prints one sentence, with the number of checks of each status. */
static void print_summary(const struct doctor *doctor, FILE *out, unsigned width)
{
	unsigned nr[DOCTOR_STATUSES] = { 0 };
	char text[512];

	for (size_t i = 0; i < doctor->nr; i++)
		nr[doctor->result[i].status]++;
	if (doctor->usable)
		snprintf(text, sizeof(text), "You can profile your own programs here, with %s, %s",
			 works(doctor, "cycles") ? "cycles" : "cpu-clock",
			 works(doctor, "sample-kernel") ? "in user space and kernel"
							: "in user space only");
	else
		snprintf(text, sizeof(text),
			 "You cannot profile your own programs here: no event can be sampled");
	snprintf(text + strlen(text), sizeof(text) - strlen(text),
		 " (%u ok, %u limited, %u no, %u unknown).", nr[DOCTOR_OK], nr[DOCTOR_LIMITED],
		 nr[DOCTOR_NO], nr[DOCTOR_UNKNOWN]);
	fputc('\n', out);
	print_wrapped(out, text, 0, width);
}

bool doctor_print_text(const struct doctor *doctor, FILE *out, bool colours, unsigned width)
{
	const char *group = "";

	for (size_t i = 0; i < doctor->nr; i++) {
		const struct doctor_result *result = &doctor->result[i];

		if (strcmp(group, result->group)) {
			group = result->group;
			fprintf(out, "%s%s%s%s\n", i ? "\n" : "", colours ? "\033[1m" : "", group,
				colours ? "\033[0m" : "");
		}
		print_result(result, out, colours, width);
		if (next_has_same_reason(doctor, i))
			continue;
		print_below(out, "", result->reason, width);
		print_below(out, "change: ", result->change, width);
	}
	print_summary(doctor, out, width);
	return !ferror(out);
}

static json_t *text_or_null(const char *text)
{
	return text && text[0] ? json_string(text) : json_null();
}

static json_t *json_result(const struct doctor_result *result)
{
	json_t *object = json_object();

	json_object_set_new(object, "id", json_string(result->id));
	json_object_set_new(object, "group", json_string(result->group));
	json_object_set_new(object, "title", json_string(result->title));
	json_object_set_new(object, "status", json_string(statuses[result->status].slug));
	json_object_set_new(object, "value", text_or_null(result->value));
	json_object_set_new(object, "cause", text_or_null(result->cause));
	json_object_set_new(object, "reason", text_or_null(result->reason));
	json_object_set_new(object, "change", text_or_null(result->change));
	return object;
}

static json_t *limit_or_null(uint64_t number)
{
	return number <= INT64_MAX ? json_integer((json_int_t)number) : json_null();
}

/* The values that the texts are based on; null for an unknown value or no limit. */
static json_t *json_facts(struct perch_machine *machine)
{
	json_t *facts = json_object();
	const struct perch_cpus *cpus;
	struct perch_limits limits;
	uint64_t effective;
	char text[24];
	uint32_t size;
	long value;

	for (int i = 0; i < PERCH_SYSCTL_MAX; i++)
		json_object_set_new(facts, perch_sysctl_name(i),
				    perch_machine_sysctl(machine, i, &value, NULL)
					    ? json_null()
					    : json_integer(value));
	json_object_set_new(facts, "attr_size",
			    perch_machine_attr_size(machine, &size, NULL) ? json_null()
									  : json_integer(size));
	json_object_set_new(facts, "cpus_online",
			    perch_machine_cpus(machine, &cpus, NULL) ? json_null()
								     : json_integer(cpus->nr));
	if (perch_machine_limits(machine, &limits, NULL))
		limits.locked_bytes = limits.descriptors = UINT64_MAX;
	json_object_set_new(facts, "rlimit_memlock", limit_or_null(limits.locked_bytes));
	json_object_set_new(facts, "rlimit_nofile", limit_or_null(limits.descriptors));
	text[0] = '\0';
	if (!perch_machine_capabilities(machine, &effective, NULL))
		snprintf(text, sizeof(text), "%016" PRIx64, effective);
	json_object_set_new(facts, "capabilities", text_or_null(text));
	return facts;
}

bool doctor_print_json(const struct doctor *doctor, FILE *out)
{
	struct perch_release release;
	json_t *all = json_object(), *checks = json_array();
	char clean[sizeof(release.text)] = "";
	int rc;

	if (!perch_machine_release(doctor->machine, &release, NULL))
		perch_clean_text(release.text, clean, sizeof(clean));
	for (size_t i = 0; i < doctor->nr; i++)
		json_array_append_new(checks, json_result(&doctor->result[i]));
	json_object_set_new(all, "usable", json_boolean(doctor->usable));
	json_object_set_new(all, "kernel", text_or_null(clean));
	json_object_set_new(all, "facts", json_facts(doctor->machine));
	json_object_set_new(all, "checks", checks);
	rc = json_dumpf(all, out, JSON_INDENT(2));
	json_decref(all);
	fputc('\n', out);
	return !rc;
}
