/* SPDX-License-Identifier: MIT */
/*
 * Probes of the PMUs uprobe and kprobe (Linux 4.17), which exist while the event is open:
 *
 *	uprobe:PATH:FUNCTION[+OFFSET][(ARGUMENTS)][(COUNTER)]
 *	uprobe:PATH:SOURCE:LINE[(ARGUMENTS)][(COUNTER)]
 *	uprobe:PATH:OFFSET[(COUNTER)]
 *	uretprobe: the same, for returns
 *	kprobe:FUNCTION[+OFFSET]
 *	kprobe:ADDRESS
 *	kretprobe: the same, for returns
 *	usdt:PATH:PROVIDER:NAME
 *
 * FUNCTION may be a demangled name: ns::f, or ns::f(int) if the name is overloaded; a method or a
 * generic function in Go: main.(*T).f, main.f[int]; or a glob.
 *
 * PATH and names may be in quotes of either kind and then have any other byte. COUNTER is the file
 * offset of a 16-bit number that the kernel increments in each process while the probe exists
 * (Linux 4.20).
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/config.h"
#include "base/function_name.h"
#include "probe.h"

static const struct {
	const char *keyword, *pmu;
	enum perch__probe_kind kind;
	bool returns;
} keywords[] = {
	{ "uprobe", "uprobe", PERCH__PROBE_USER, false },
	{ "uretprobe", "uprobe", PERCH__PROBE_USER, true },
	{ "kprobe", "kprobe", PERCH__PROBE_KERNEL, false },
	{ "kretprobe", "kprobe", PERCH__PROBE_KERNEL, true },
	{ "usdt", "uprobe", PERCH__PROBE_USDT, false },
};

static int expected_at(struct perch__parser *parser, size_t at, const char *what)
{
	perch__advance_to(parser, at);
	return perch__expected(parser, what);
}

/* The length of a name, in which brackets may be around types in Go, or around characters of a
 * glob: "main.f[go/ast.Node,int]". */
static size_t plain_length(const char *text)
{
	size_t length = 0;

	for (;;) {
		const char *close;

		length += strcspn(text + length, PERCH__NAME_ENDS "[");
		if (text[length] != '[')
			return length;
		close = strchr(text + length, ']');
		if (!close)
			return length + strcspn(text + length, PERCH__NAME_ENDS);
		length = close + 1 - text;
	}
}

/*
 * The length of a name without quotes. For functions of files, "::" is part of a name, and so are
 * parameters: "ns::f(int)", and the type of a method in Go: "main.(*T).f". A reference counter in
 * parentheses begins with a digit.
 */
static size_t name_length(const struct perch__probe_spec *probe, const char *text)
{
	size_t length = strcspn(text, PERCH__NAME_ENDS);
	const char *after = NULL;

	if (probe->kind != PERCH__PROBE_USER || !length)
		return length;
	length = plain_length(text);
	while (text[length] == ':' && text[length + 1] == ':' && text[length + 2] &&
	       !strchr(PERCH__NAME_ENDS, text[length + 2]))
		length += 2 + plain_length(text + length + 2);
	if (text[length] == '(' && !isdigit((unsigned char)text[length + 1]))
		after = perch__after_parentheses(text + length);
	if (after && text[length + 1] == '*' && *after == '.')
		after += plain_length(after);
	if (after && *after == '(' && !isdigit((unsigned char)after[1]) &&
	    perch__after_parentheses(after))
		after = perch__after_parentheses(after); /* arguments after parameters */
	return after ? (size_t)(after - text) : length;
}

/* Copies the path or name at *at and moves *at after it. length: without quotes. */
static int parse_part(struct perch__parser *parser, size_t *at, char part[PATH_MAX], size_t length,
		      const char *what)
{
	const char *from = parser->text + *at;
	bool quoted = *from == '"' || *from == '\'';

	if (quoted) {
		const char *close = strchr(from + 1, *from);

		if (!close)
			return perch__parse_error(parser, *at, EINVAL, PERCH_ERROR_SYNTAX,
						  "the quote that begins here is not closed");
		length = close - ++from;
	}
	if (!length)
		return expected_at(parser, *at, what);
	if (length >= PATH_MAX)
		return perch__parse_error(parser, *at, ENAMETOOLONG, PERCH_ERROR_SYNTAX,
					  "a path or name has at most %d bytes (given %zu)",
					  PATH_MAX - 1, length);
	memcpy(part, from, length);
	part[length] = '\0';
	*at += length + 2 * quoted;
	return 0;
}

static int expect_colon(struct perch__parser *parser, size_t *at, const char *what)
{
	if (parser->text[*at] != ':')
		return expected_at(parser, *at, what);
	++*at;
	return 0;
}

/* (ARGUMENTS) after a quoted name, an offset or a line. Those after a name are part of it, because
 * they may be its parameters. */
static int parse_arguments(struct perch__parser *parser, size_t *at,
			   struct perch__probe_spec *probe)
{
	const char *open = parser->text + *at, *after;

	if (*open != '(' || isdigit((unsigned char)open[1]) || probe->kind != PERCH__PROBE_USER)
		return 0;
	after = perch__after_parentheses(open);
	if (!after)
		return expected_at(parser, *at + 1,
				   "the file offset of a reference counter after '(', or arguments "
				   "and ')'");
	if (after - open - 2 >= PATH_MAX)
		return perch__parse_error(parser, *at, ENAMETOOLONG, PERCH_ERROR_SYNTAX,
					  "the arguments have at most %d bytes", PATH_MAX - 1);
	memcpy(probe->arguments, open + 1, after - open - 2);
	probe->arguments[after - open - 2] = '\0';
	*at = after - parser->text;
	return 0;
}

/* :LINE after the name of a source file. */
static int parse_line(struct perch__parser *parser, size_t *at, struct perch__probe_spec *probe)
{
	const char *text = parser->text + *at;
	uint64_t line;
	int rc;

	if (probe->kind != PERCH__PROBE_USER || *text != ':' || !isdigit((unsigned char)text[1]) ||
	    !strchr(probe->symbol, '.'))
		return 0;
	probe->at_offset = ++*at;
	rc = perch__take_number(parser, at, &line, "a line of the source file");
	if (!rc && (!line || line > UINT32_MAX))
		return perch__parse_error(parser, probe->at_offset, ERANGE, PERCH_ERROR_SYNTAX,
					  "a file has no line %llu", (unsigned long long)line);
	probe->line = rc ? 0 : (uint32_t)line;
	return rc;
}

/* FUNCTION[+OFFSET], SOURCE:LINE, or a number. */
static int parse_location(struct perch__parser *parser, size_t *at, struct perch__probe_spec *probe,
			  const char *what)
{
	int rc;

	probe->at_symbol = probe->at_offset = *at;
	probe->numbered = isdigit((unsigned char)parser->text[*at]);
	if (probe->numbered)
		return perch__take_number(parser, at, &probe->offset, what);
	rc = parse_part(parser, at, probe->symbol, name_length(probe, parser->text + *at), what);
	if (!rc)
		rc = parse_line(parser, at, probe);
	if (rc || parser->text[*at] != '+')
		return rc ? rc : parse_arguments(parser, at, probe);
	probe->at_offset = ++*at;
	rc = perch__take_number(parser, at, &probe->offset, "an offset in bytes after '+'");
	if (!rc)
		rc = parse_arguments(parser, at, probe);
	if (rc || !probe->returns || !probe->offset)
		return rc;
	/* the return address is on top of the stack only at the first instruction */
	perch__parse_error(parser, probe->at_offset, EINVAL, PERCH_ERROR_CONFLICT,
			   "a return probe must be at the first instruction of a function");
	perch_error_remedy(parser->err, "omit the offset");
	return -EINVAL;
}

static int parse_counter(struct perch__parser *parser, size_t *at, struct perch__probe_spec *probe)
{
	int rc;

	if (parser->text[*at] != '(')
		return 0;
	probe->at_counter = ++*at;
	rc = perch__take_number(parser, at, &probe->counter,
				"the file offset of a reference counter after '('");
	if (rc)
		return rc;
	if (parser->text[*at] != ')')
		return expected_at(parser, *at, "')' after the reference counter");
	++*at;
	return 0;
}

static int parse_spec(struct perch__parser *parser, size_t *at, struct perch__probe_spec *probe)
{
	bool usdt = probe->kind == PERCH__PROBE_USDT;
	int rc;

	if (probe->kind == PERCH__PROBE_KERNEL)
		return parse_location(
			parser, at, probe,
			"a function of the kernel or an address, as in kprobe:vfs_read");
	probe->at_file = *at;
	rc = parse_part(parser, at, probe->file, strcspn(parser->text + *at, PERCH__PATH_ENDS),
			usdt ? "a program or library, as in usdt:./server:shop:sold"
			     : "a program or library, as in uprobe:/bin/bash:main");
	if (!rc)
		rc = expect_colon(parser, at,
				  usdt ? "':' after the file, as in usdt:./server:shop:sold"
				       : "':' after the file, as in uprobe:/bin/bash:main");
	if (rc)
		return rc;
	if (probe->kind == PERCH__PROBE_USER) {
		rc = parse_location(parser, at, probe,
				    "a function of the file, or an offset in it");
		return rc ? rc : parse_counter(parser, at, probe);
	}
	probe->at_provider = *at;
	rc = parse_part(parser, at, probe->provider, name_length(probe, parser->text + *at),
			"the provider of a USDT probe");
	if (!rc)
		rc = expect_colon(
			parser, at,
			"':' and a name after the provider, as in usdt:./server:shop:sold");
	probe->at_symbol = *at;
	return rc ? rc
		  : parse_part(parser, at, probe->symbol, name_length(probe, parser->text + *at),
			       "the name of a USDT probe");
}

static const struct perch_pmu *find_pmu(struct perch__parser *parser, const char *name, size_t at)
{
	const struct perch_pmu *pmu = perch_machine_pmu(parser->machine, name);

	if (pmu)
		return pmu;
	perch__parse_error(parser, at, ENOENT, PERCH_ERROR_UNKNOWN_PMU,
			   "the kernel has no PMU '%s'", name);
	perch_error_field(parser->err, "type", "4.17");
	perch_error_remedy(parser->err, "use Linux 4.17 or later with CONFIG_%s_EVENTS",
			   name[0] == 'u' ? "UPROBE" : "KPROBE");
	return NULL;
}

/* Sets the bits of a format file of the PMU. Returns -ENOENT when there is no such file. */
static int apply_format(struct perch__parser *parser, const struct perch_pmu *pmu, const char *name,
			struct perch_attr *attr, uint64_t value)
{
	struct perch__format format;
	char path[PATH_MAX], text[256];
	ssize_t got;

	snprintf(path, sizeof(path), PERCH__PMUS "/%s/format/%s", pmu->name, name);
	got = perch_machine_read(parser->machine, path, text, sizeof(text));
	if (got < 0)
		return got;
	return perch__format_parse(&format, text) ? -EBADMSG
						  : perch__format_apply(&format, attr, value);
}

static int set_attr(struct perch__parser *parser, const struct perch_pmu *pmu,
		    const struct perch__probe_spec *probe, const struct perch__usdt_site *site,
		    struct perch_event *event)
{
	const char *path = probe->kind == PERCH__PROBE_KERNEL ? probe->symbol : probe->path;
	struct perch_attr *attr = &event->attr;
	int rc = 0;

	attr->type = pmu->type;
	if (probe->returns)
		rc = apply_format(parser, pmu, "retprobe", attr, 1);
	if (rc)
		return perch__parse_error(
			parser, probe->at_symbol, EBADMSG, PERCH_ERROR_FORMAT,
			"the format file of term 'retprobe' of PMU '%s' is missing or invalid",
			pmu->name);
	if (site->counter)
		rc = apply_format(parser, pmu, "ref_ctr_offset", attr, site->counter);
	if (rc) {
		perch__parse_error(parser, probe->at_counter ? probe->at_counter : probe->at_symbol,
				   EINVAL, PERCH_ERROR_TOO_NEW,
				   "the kernel has no reference counters for probes");
		perch_error_field(parser->err, "config", "4.20");
		return -EINVAL;
	}
	attr->probe_offset = site->offset;
	if (!path[0]) /* a kernel address */
		return 0;
	event->path = strdup(path);
	event->arguments = site->arguments ? strdup(site->arguments) : NULL;
	event->unread = site->unread ? strdup(site->unread) : NULL;
	if (!event->path || !event->arguments != !site->arguments ||
	    !event->unread != !site->unread)
		return perch__parse_error(parser, probe->at_file, ENOMEM, PERCH_ERROR_NO_MEMORY,
					  "no memory for the path of a probe");
	attr->config1 = (uintptr_t)event->path;
	return 0;
}

/* Adds one event for each site. */
static int add_events(struct perch__parser *parser, const struct perch_pmu *pmu,
		      const struct perch__probe_spec *probe, const struct perch__usdt_site *site,
		      size_t nr, size_t first)
{
	for (size_t i = 0; i < nr; i++) {
		struct perch_event *event = &parser->events->event[first];
		int rc = i ? perch__add_event(parser, &event) : 0;

		if (!rc)
			rc = set_attr(parser, pmu, probe, &site[i], event);
		if (rc)
			return rc;
		event->first = first;
	}
	return 0;
}

/* Adds one event for each function that matches a glob. Each has the name of its function; the
 * parser appends the terms and modifiers later. */
static int add_matches(struct perch__parser *parser, const struct perch_pmu *pmu, size_t at,
		       const struct perch__probe_spec *probe, size_t first)
{
	for (size_t i = 0; i < probe->matches.nr; i++) {
		const struct perch__probe_match *match = &probe->matches.match[i];
		const struct perch__usdt_site site = { match->offset, probe->counter,
						       match->arguments, match->unread };
		struct perch_event *event = &parser->events->event[first];
		int rc = i ? perch__add_event(parser, &event) : 0;

		if (!rc)
			rc = set_attr(parser, pmu, probe, &site, event);
		if (rc)
			return rc;
		snprintf(event->name, sizeof(event->name), "%.*s%s", (int)(probe->at_symbol - at),
			 parser->text + at, match->name);
	}
	return 0;
}

static int resolve_probe(struct perch__parser *parser, const char *pmu_name, size_t at,
			 struct perch__probe_spec *probe, size_t first)
{
	struct perch__usdt_site site[PERCH__USDT_SITES_MAX] = { { .offset = probe->offset } };
	const struct perch_pmu *pmu;
	size_t nr = 1;
	int rc = perch__need_machine(parser);

	if (rc)
		return rc;
	pmu = find_pmu(parser, pmu_name, at);
	if (!pmu)
		return -ENOENT;
	if (probe->kind != PERCH__PROBE_KERNEL)
		rc = perch__find_probe_sites(parser, probe, site, &nr);
	else if (!probe->numbered)
		rc = perch__check_kernel_function(parser, probe);
	if (rc)
		return rc;
	rc = probe->matches.nr ? add_matches(parser, pmu, at, probe, first)
			       : add_events(parser, pmu, probe, site, nr, first);
	perch__free_usdt_sites(site, nr);
	return rc;
}

int perch__parse_probe(struct perch__parser *parser, const char *keyword, size_t at,
		       struct perch_event *event)
{
	size_t end = parser->token.at + 1, which = 0, first = event - parser->events->event;
	struct perch__probe_spec *probe = calloc(1, sizeof(*probe));
	int rc;

	if (!probe)
		return perch__parse_error(parser, at, ENOMEM, PERCH_ERROR_NO_MEMORY,
					  "no memory to parse a probe");
	while (which < PERCH__NR(keywords) - 1 && strcmp(keywords[which].keyword, keyword))
		which++;
	probe->kind = keywords[which].kind;
	probe->returns = keywords[which].returns;
	rc = parse_spec(parser, &end, probe);
	if (!rc)
		rc = resolve_probe(parser, keywords[which].pmu, at, probe, first);
	perch__clear_matches(&probe->matches);
	free(probe);
	if (!rc)
		perch__advance_to(parser, end);
	return rc;
}
