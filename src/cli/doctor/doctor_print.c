/* SPDX-License-Identifier: MIT */
/* The output of perch doctor, as text and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/json_writer.h"
#include "doctor.h"
#include "options.h"

static const struct {
	const char *mark, *colour;
} statuses[PERCH_CHECK_STATUSES] = {
	[PERCH_CHECK_OK] = { "ok", "\033[32m" },
	[PERCH_CHECK_LIMITED] = { "limited", "\033[33m" },
	[PERCH_CHECK_NO] = { "no", "\033[31m" },
	[PERCH_CHECK_UNKNOWN] = { "?", "\033[36m" },
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
static bool has_same_reason(const struct perch_check *result, const struct perch_check *next)
{
	return result->reason[0] && !strcmp(result->group, next->group) &&
	       !strcmp(result->reason, next->reason) && !strcmp(result->change, next->change);
}

static void print_result(const struct perch_check *result, FILE *out, bool colours, unsigned width)
{
	const char *colour = colours ? statuses[result->status].colour : "",
		   *plain = colours ? "\033[0m" : "";
	int title = result->value[0] ? 32 : 0;

	fprintf(out, "  %s%-7s%s   %-*s", colour, statuses[result->status].mark, plain, title,
		result->title);
	print_wrapped(out, result->value, INDENT + 32, width);
}

static bool works(const struct perch_checks *checks, const char *id)
{
	const struct perch_check *result = perch_checks_find(checks, id);

	return result && result->status == PERCH_CHECK_OK;
}

/* Prints one sentence, with the number of checks of each status. */
static void print_summary(const struct perch_checks *checks, FILE *out, unsigned width)
{
	const struct perch_check *result;
	size_t all = perch_checks_results(checks, &result);
	unsigned nr[PERCH_CHECK_STATUSES] = { 0 };
	char text[512];

	for (size_t i = 0; i < all; i++)
		nr[result[i].status]++;
	if (perch_checks_usable(checks))
		snprintf(text, sizeof(text), "You can profile your own programs here, with %s, %s",
			 works(checks, "cycles") ? "cycles" : "cpu-clock",
			 works(checks, "sample-kernel") ? "in user space and kernel"
							: "in user space only");
	else
		snprintf(text, sizeof(text),
			 "You cannot profile your own programs here: no event can be sampled");
	snprintf(text + strlen(text), sizeof(text) - strlen(text),
		 " (%u ok, %u limited, %u no, %u unknown).", nr[PERCH_CHECK_OK],
		 nr[PERCH_CHECK_LIMITED], nr[PERCH_CHECK_NO], nr[PERCH_CHECK_UNKNOWN]);
	fputc('\n', out);
	print_wrapped(out, text, 0, width);
}

bool doctor_print_results(const struct perch_check *results, size_t nr, FILE *out, bool colours,
			  unsigned width)
{
	const char *group = "";

	for (size_t i = 0; i < nr; i++) {
		const struct perch_check *result = &results[i];

		if (strcmp(group, result->group)) {
			group = result->group;
			fprintf(out, "%s%s%s%s\n", i ? "\n" : "", colours ? "\033[1m" : "", group,
				colours ? "\033[0m" : "");
		}
		print_result(result, out, colours, width);
		if (i + 1 < nr && has_same_reason(result, result + 1))
			continue;
		print_below(out, "", result->reason, width);
		print_below(out, "change: ", result->change, width);
	}
	return !ferror(out);
}

bool doctor_print_text(const struct perch_checks *checks, FILE *out, bool colours, unsigned width)
{
	const struct perch_check *results;
	size_t nr = perch_checks_results(checks, &results);

	doctor_print_results(results, nr, out, colours, width);
	print_summary(checks, out, width);
	return !ferror(out);
}

static void put_text_or_null(struct perch__json_writer *json, const char *name, const char *text)
{
	if (text && text[0])
		perch__json_put_text(json, name, text);
	else
		perch__json_put_null(json, name);
}

static void put_result(struct perch__json_writer *json, const struct perch_check *result)
{
	perch__json_put_object(json, NULL);
	perch__json_put_text(json, "id", result->id);
	perch__json_put_text(json, "group", result->group);
	perch__json_put_text(json, "title", result->title);
	perch__json_put_text(json, "status", perch_check_status_name(result->status));
	put_text_or_null(json, "value", result->value);
	put_text_or_null(json, "cause", result->cause);
	put_text_or_null(json, "reason", result->reason);
	put_text_or_null(json, "change", result->change);
	perch__json_end(json);
}

static void put_if(struct perch__json_writer *json, const char *name, bool has_value,
		   uint64_t number)
{
	if (has_value)
		perch__json_put_integer(json, name, number);
	else
		perch__json_put_null(json, name);
}

/* The values that the texts are based on; null for an unknown value or no limit. */
static void put_facts(struct perch__json_writer *json, struct perch_machine *machine)
{
	const struct perch_cpus *cpus = NULL;
	struct perch_limits limits;
	uint64_t effective;
	uint32_t size = 0;
	char text[24];
	long value;
	bool has_value;

	perch__json_put_object(json, "facts");
	for (int i = 0; i < PERCH_SYSCTL_MAX; i++) {
		if (perch_machine_sysctl(machine, i, &value, NULL))
			perch__json_put_null(json, perch_sysctl_name(i));
		else
			perch__json_put_signed(json, perch_sysctl_name(i), value);
	}
	has_value = !perch_machine_attr_size(machine, &size, NULL);
	put_if(json, "attr_size", has_value, size);
	has_value = !perch_machine_cpus(machine, &cpus, NULL);
	put_if(json, "cpus_online", has_value, has_value ? cpus->nr : 0);
	if (perch_machine_limits(machine, &limits, NULL))
		limits.locked_bytes = limits.descriptors = UINT64_MAX;
	put_if(json, "rlimit_memlock", limits.locked_bytes <= INT64_MAX, limits.locked_bytes);
	put_if(json, "rlimit_nofile", limits.descriptors <= INT64_MAX, limits.descriptors);
	text[0] = '\0';
	if (!perch_machine_capabilities(machine, &effective, NULL))
		snprintf(text, sizeof(text), "%016" PRIx64, effective);
	put_text_or_null(json, "capabilities", text);
	perch__json_end(json);
}

/* Ends the object with the checks. */
static bool end_json(struct perch__json_writer *json, const struct perch_check *results, size_t nr)
{
	struct perch__output *output = json->out;

	perch__json_put_array(json, "checks");
	for (size_t i = 0; i < nr; i++)
		put_result(json, &results[i]);
	perch__json_end(json);
	perch__json_end(json);
	perch__output_char(output, '\n');
	perch__output_flush(output);
	perch__output_close(output);
	return !output->error;
}

bool doctor_print_json(const struct perch_checks *checks, struct perch_machine *machine, FILE *out)
{
	const struct perch_check *results;
	size_t nr = perch_checks_results(checks, &results);
	struct perch__output output;
	struct perch__json_writer json = { .out = &output, .indented = true };
	struct perch_release release;
	char clean[sizeof(release.text)] = "";

	if (perch__output_open(&output, out))
		return false;
	if (!perch_machine_release(machine, &release, NULL))
		perch_clean_text(release.text, clean, sizeof(clean));
	perch__json_begin_object(&json);
	perch__json_put_flag(&json, "usable", perch_checks_usable(checks));
	put_text_or_null(&json, "kernel", clean);
	put_facts(&json, machine);
	return end_json(&json, results, nr);
}

bool doctor_print_results_json(const struct perch_check *results, size_t nr, FILE *out)
{
	struct perch__output output;
	struct perch__json_writer json = { .out = &output, .indented = true };

	if (perch__output_open(&output, out))
		return false;
	perch__json_begin_object(&json);
	return end_json(&json, results, nr);
}
