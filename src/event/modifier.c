/* SPDX-License-Identifier: MIT */
/* Modifiers: the modes in which an event counts, its precision, and how it is scheduled. */
#include <errno.h>
#include <string.h>

#include "internal.h"

/*
 * u, k and h select modes: the first one excludes the other modes, each further one includes its
 * own. G and H do the same with guest and host. For the modifiers of a group an event starts with
 * its own, so {cycles:k,...}:u counts both. A precise event excludes guests, because hardware
 * cannot sample them precisely.
 */
static void select_mode(struct perch_attr *attr, char modifier)
{
	if (!attr->exclude_user && !attr->exclude_kernel && !attr->exclude_hv)
		attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 1;
	if (modifier == 'u')
		attr->exclude_user = 0;
	else if (modifier == 'k')
		attr->exclude_kernel = 0;
	else
		attr->exclude_hv = 0;
}

/* Modifiers that the event has already. */
struct seen {
	bool mode;    /* u, k or h */
	bool machine; /* G or H */
};

static void select_machine(struct perch_attr *attr, char modifier, struct seen *seen)
{
	if (!seen->machine)
		attr->exclude_guest = attr->exclude_host = 1;
	seen->machine = true;
	if (modifier == 'G')
		attr->exclude_guest = 0;
	else
		attr->exclude_host = 0;
}

/* Modifiers that set one flag. */
static int set_flag(struct perch_event *event, char modifier)
{
	switch (modifier) {
	case 'I':
		event->attr.exclude_idle = 1;
		return 0;
	case 'P':
		event->precise_max = true;
		return 0;
	case 'D':
		event->attr.pinned = 1;
		return 0;
	case 'e':
		event->attr.exclusive = 1;
		return 0;
	case 'S':
		event->leader_sampling = true;
		return 0;
	case 'W':
		event->weak = true;
		return 0;
	case 'b':
		event->bpf_counter = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static int apply_modifier(struct perch_event *event, char modifier, struct seen *seen)
{
	struct perch_attr *attr = &event->attr;

	switch (modifier) {
	case 'u':
	case 'k':
	case 'h':
		if (!seen->mode || attr->exclude_user || attr->exclude_kernel || attr->exclude_hv)
			select_mode(attr, modifier);
		seen->mode = true;
		event->modified = true;
		return 0;
	case 'G':
	case 'H':
		select_machine(attr, modifier, seen);
		event->modified = true;
		return 0;
	case 'p':
		if (attr->precise_ip == 3)
			return -ERANGE;
		attr->precise_ip++;
		if (!seen->machine)
			attr->exclude_guest = 1;
		return 0;
	default:
		return set_flag(event, modifier);
	}
}

bool perch__is_modifiers(const char *word, size_t length)
{
	return strspn(word, "ukhGHIpPDeSWb") >= length;
}

static bool is_repeated(const char *modifiers, size_t i)
{
	return modifiers[i] != 'p' && memchr(modifiers, modifiers[i], i);
}

static int report_invalid(struct perch__parser *parser, size_t at, const char *why)
{
	char shown[8];
	struct perch__token token = { PERCH__TOKEN_WORD, at, 1 };

	perch__parse_error(parser, at, EINVAL, PERCH_ERROR_SYNTAX, "modifier %s %s",
			   perch__token_name(parser->text, &token, shown, sizeof(shown)), why);
	perch_error_remedy(
		parser->err,
		"modifiers are u (user), k (kernel), h (hypervisor), G (guest), H (host), "
		"I (not idle), p to ppp or P (precise), D (pinned), e (exclusive), S (the leader samples), "
		"W (weak group), b (BPF)");
	return -EINVAL;
}

int perch__apply_modifiers(struct perch__parser *parser, struct perch_event *event, size_t at,
			   size_t length, bool group)
{
	const char *modifiers = parser->text + at;
	const struct perch_attr *attr = &event->attr;
	struct seen seen = { 0 };
	size_t index = event - parser->events->event;
	bool leads = (size_t)event->leader == index;

	if (group) {
		seen.mode = attr->exclude_user || attr->exclude_kernel || attr->exclude_hv;
		seen.machine = perch__is_marked(parser, index, PERCH__MARK_GUEST_HOST);
	}
	for (size_t i = 0; i < length; i++) {
		int rc;

		if (is_repeated(modifiers, i))
			return report_invalid(parser, at + i, "is repeated");
		if (group && !leads && (modifiers[i] == 'D' || modifiers[i] == 'e'))
			continue; /* those of the leader hold for the whole group */
		rc = apply_modifier(event, modifiers[i], &seen);
		if (rc == -ERANGE)
			return report_invalid(parser, at + i, "is given more than three times");
		if (rc)
			return report_invalid(parser, at + i, "is unknown");
	}
	return seen.machine ? perch__mark_event(parser, index, PERCH__MARK_GUEST_HOST) : 0;
}
