/* SPDX-License-Identifier: MIT */
/* perch doctor for people and in JSON. */
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

#define INDENT 12			/* of reasons: below the titles */

/* Breaks lines at spaces where there is a width; 0: one line. column: where the text begins. */
static void put_wrapped(FILE *out, const char *text, unsigned column, unsigned width)
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

/* Said before, and long enough to be left out: the check that says it. */
static const char *said_before(const struct doctor *doctor, size_t i, size_t member)
{
	const char *text = (const char *)&doctor->result[i] + member;

	for (size_t before = 0; before < i && strlen(text) > 60; before++)
		if (!strcmp((const char *)&doctor->result[before] + member, text))
			return doctor->result[before].title;
	return NULL;
}

static void put_once(const struct doctor *doctor, size_t i, size_t member, const char *front, FILE *out, unsigned width)
{
	const char *text = (const char *)&doctor->result[i] + member, *before = said_before(doctor, i, member);
	char other[128];

	if (!text[0])
		return;
	snprintf(other, sizeof(other), "as for \"%s\"", before ? before : "");
	fprintf(out, "%*s%s", INDENT, "", front);
	put_wrapped(out, before ? other : text, INDENT + strlen(front), width);
}

static void put_result(const struct doctor *doctor, size_t i, FILE *out, bool colours, unsigned width)
{
	const struct doctor_result *result = &doctor->result[i];
	const char *colour = colours ? statuses[result->status].colour : "", *plain = colours ? "\033[0m" : "";
	int title = result->value[0] ? 32 : 0;

	fprintf(out, "  %s%-7s%s   %-*s", colour, statuses[result->status].mark, plain, title, result->title);
	put_wrapped(out, result->value, INDENT + 32, width);
	put_once(doctor, i, offsetof(struct doctor_result, reason), "", out, width);
	put_once(doctor, i, offsetof(struct doctor_result, change), "change: ", out, width);
}

static bool works(const struct doctor *doctor, const char *id)
{
	const struct doctor_result *result = doctor_result_of(doctor, id);

	return result && result->status == DOCTOR_OK;
}

/* One sentence, and how many checks ended how. */
static void put_verdict(const struct doctor *doctor, FILE *out, unsigned width)
{
	unsigned nr[DOCTOR_STATUSES] = { 0 };
	char text[512];

	for (size_t i = 0; i < doctor->nr; i++)
		nr[doctor->result[i].status]++;
	if (doctor->usable)
		snprintf(text, sizeof(text), "You can profile your own programs here, by %s, %s",
			 works(doctor, "cycles") ? "cycles" : "the clock",
			 works(doctor, "sample-kernel") ? "with the kernel's side" : "in user space alone");
	else
		snprintf(text, sizeof(text), "You cannot profile your own programs here: no event can be sampled");
	snprintf(text + strlen(text), sizeof(text) - strlen(text), " (%u ok, %u limited, %u no, %u unknown).",
		 nr[DOCTOR_OK], nr[DOCTOR_LIMITED], nr[DOCTOR_NO], nr[DOCTOR_UNKNOWN]);
	fputc('\n', out);
	put_wrapped(out, text, 0, width);
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
		put_result(doctor, i, out, colours, width);
	}
	put_verdict(doctor, out, width);
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

bool doctor_print_json(const struct doctor *doctor, FILE *out)
{
	struct perch_release release;
	json_t *all = json_object(), *checks = json_array();
	char clean[sizeof(release.text)] = "";
	int rc;

	if (!perch_machine_release(doctor->machine, &release, NULL))
		perch_clean_text(clean, sizeof(clean), release.text);
	for (size_t i = 0; i < doctor->nr; i++)
		json_array_append_new(checks, json_result(&doctor->result[i]));
	json_object_set_new(all, "usable", json_boolean(doctor->usable));
	json_object_set_new(all, "kernel", text_or_null(clean));
	json_object_set_new(all, "checks", checks);
	rc = json_dumpf(all, out, JSON_INDENT(2));
	json_decref(all);
	fputc('\n', out);
	return !rc;
}
