/* SPDX-License-Identifier: MIT */
/* perch list: the events of this machine, and which of the generic ones work here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "list.h"
#include "options.h"

/* How each kind is shown, what -j calls it, and the words that ask for it. */
static const struct {
	const char *label, *slug, *plural;
	const char *words[3];
} kinds[LIST_KINDS] = {
	[LIST_HARDWARE] = { "Hardware event", "hardware", "hardware events", { "hw", "hardware" } },
	[LIST_SOFTWARE] = { "Software event", "software", "software events", { "sw", "software" } },
	[LIST_CACHE] = { "Hardware cache event", "cache", "hardware cache events", { "cache", "hwcache" } },
	[LIST_PMU] = { "Kernel PMU event", "pmu", "PMU events", { "pmu" } },
	[LIST_RAW] = { "Raw hardware event descriptor", "raw", "raw events", { "raw" } },
	[LIST_TRACEPOINT] = { "Tracepoint event", "tracepoint", "tracepoints", { "tracepoint", "tp" } },
};

static const char *const states[] = {
	[LIST_WORKS] = "works",
	[LIST_UNSUPPORTED] = "not supported",
	[LIST_FORBIDDEN] = "not permitted",
};

static bool kind_word(const char *word, unsigned *set)
{
	for (unsigned kind = 0; kind < LIST_KINDS; kind++)
		for (size_t i = 0; i < CLI_NR(kinds[kind].words) && kinds[kind].words[i]; i++)
			if (!strcmp(word, kinds[kind].words[i])) {
				*set |= 1u << kind;
				return true;
			}
	return false;
}

/* Words that name kinds choose all of these; the others, moved to the front of argv, events by their names. */
static void read_filter(struct list_filter *filter, int argc, char **argv)
{
	filter->words = argv;
	for (int i = 0; i < argc; i++)
		if (!kind_word(argv[i], &filter->kinds))
			filter->words[filter->nr_words++] = argv[i];
	if (!argc)
		filter->kinds = (1u << LIST_KINDS) - 1;
}

static void print_event(const struct list_event *event)
{
	char name[1024], whole[1024];

	snprintf(name, sizeof(name), "%s%s%s", event->name, event->alias ? " OR " : "",
		 event->alias ? event->alias : "");
	perch_clean_text(whole, sizeof(whole), name);
	printf("  %-50s [%s]", whole, kinds[event->kind].label);
	if (event->state == LIST_UNSUPPORTED || event->state == LIST_FORBIDDEN)
		printf(" (%s here)", states[event->state]);
	putchar('\n');
}

static bool same_reason(const struct list_event *one, const struct list_event *other)
{
	return one->state == other->state && one->reason.cause == other->reason.cause &&
	       one->reason.errnum == other->reason.errnum;
}

static bool told_before(const struct list *list, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_reason(&list->event[i], &list->event[index]))
			return true;
	return false;
}

/* "10 hardware events, 33 hardware cache events": how many are refused for the reason of one of them. */
static void count_refused(const struct list *list, const struct list_event *like, char *text, size_t size)
{
	size_t nr[LIST_KINDS] = { 0 }, used = 0;

	for (size_t i = 0; i < list->nr; i++)
		nr[list->event[i].kind] += same_reason(&list->event[i], like);
	text[0] = '\0';
	for (unsigned kind = 0; kind < LIST_KINDS && used < size; kind++)
		if (nr[kind])
			used += snprintf(text + used, size - used, "%s%zu %s", used ? ", " : "", nr[kind],
					 kinds[kind].plural);
}

static void print_reason(const char *what, const char *state, const struct perch_error *reason)
{
	printf("\n%s %s: %s.", what, state, reason->message);
	if (reason->remedy[0])
		printf(" %s.", reason->remedy);
	putchar('\n');
}

static void print_reasons(const struct list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		const struct list_event *event = &list->event[i];
		char text[256], state[64];

		if ((event->state != LIST_UNSUPPORTED && event->state != LIST_FORBIDDEN) || told_before(list, i))
			continue;
		count_refused(list, event, text, sizeof(text));
		snprintf(state, sizeof(state), "%s here", states[event->state]);
		print_reason(text, state, &event->reason);
	}
	if (list->no_tracepoints.cause != PERCH_CAUSE_NONE)
		print_reason("tracepoints", "not listed", &list->no_tracepoints);
}

static void print_text(const struct list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (i && list->event[i].kind != list->event[i - 1].kind)
			putchar('\n');
		print_event(&list->event[i]);
	}
	print_reasons(list);
}

/* Strings of a machine may be no UTF-8, which JSON must be. */
static json_t *json_clean(const char *text)
{
	char clean[1024];

	perch_clean_text(clean, sizeof(clean), text);
	return json_string(clean);
}

static json_t *json_event(const struct list_event *event)
{
	json_t *object = json_object();

	json_object_set_new(object, "name", json_clean(event->name));
	if (event->alias)
		json_object_set_new(object, "alias", json_clean(event->alias));
	json_object_set_new(object, "kind", json_string(kinds[event->kind].slug));
	if (event->state == LIST_UNTRIED)
		return object;
	json_object_set_new(object, "works", json_boolean(event->state == LIST_WORKS));
	if (event->state != LIST_WORKS) {
		json_object_set_new(object, "errno", json_integer(event->reason.errnum));
		json_object_set_new(object, "cause", json_string(perch_cause_slug(event->reason.cause)));
		json_object_set_new(object, "reason", json_clean(event->reason.message));
	}
	return object;
}

/* An array of events, one a line. */
static int print_json(const struct list *list)
{
	puts("[");
	for (size_t i = 0; i < list->nr; i++) {
		json_t *object = json_event(&list->event[i]);
		int rc = json_dumpf(object, stdout, JSON_COMPACT);

		json_decref(object);
		if (rc)
			return CLI_EXIT_FAILURE;
		puts(i + 1 < list->nr ? "," : "");
	}
	puts("]");
	return 0;
}

/* Nothing found: was it a word, or can tracepoints not be seen? */
static int nothing(const struct list *list)
{
	char text[256];

	if (list->filter.nr_words) {
		perch_clean_text(text, sizeof(text), list->filter.words[0]);
		fprintf(stderr, "perch list: no event of this machine matches '%s'\n", text);
	} else if (list->no_tracepoints.cause == PERCH_CAUSE_NONE) {
		fprintf(stderr, "perch list: this machine has no such events\n");
	}
	if (list->no_tracepoints.cause != PERCH_CAUSE_NONE)
		cli_error("list", &list->no_tracepoints);
	return CLI_EXIT_FAILURE;
}

static int show(struct list *list, bool json)
{
	struct perch_error err;
	int status = 0;

	if (list_gather(list, &err))
		status = cli_error("list", &err);
	else if (json)
		status = print_json(list);
	else if (!list->nr)
		status = nothing(list);
	else
		print_text(list);
	if (fflush(stdout) || ferror(stdout)) {
		perch_error_set(&err, errno ? errno : EIO, PERCH_CAUSE_FILE, "cannot write the list: %s",
				strerror(errno ? errno : EIO));
		status = cli_error("list", &err);
	}
	list_clear(list);
	return status;
}

int perch_cmd_list(int argc, char **argv)
{
	bool json = false, no_description = false;
	const struct cli_option options[] = {
		{ .letter = 'j', .name = "json", .help = "print JSON: an array of objects", .kind = CLI_FLAG,
		  .value = &json },
		{ .name = "no-desc", .help = "accepted for perf's sake", .kind = CLI_FLAG, .value = &no_description,
		  .hidden = true },
	};
	struct list list = { 0 };
	struct perch_error err;
	int first, status;

	first = cli_parse("list", options, CLI_NR(options), argc, argv);
	if (perch_machine_new(&list.machine, NULL, NULL, &err))
		return cli_error("list", &err);
	read_filter(&list.filter, argc - first, argv + first);
	status = show(&list, json);
	perch_machine_free(list.machine);
	return status;
}
