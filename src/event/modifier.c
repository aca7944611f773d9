/* SPDX-License-Identifier: MIT */
/* The letters after an event: whose side is counted, how precisely, and with what claim to the
 * counter. */
#include <errno.h>
#include <string.h>

#include "internal.h"

/*
 * u, k and h name the sides to count: the first of them excludes the others, each more lets its own
 * in again. G and H do the same with guest and host. An event inside a group starts with what its
 * own letters made of it, so {cycles:k,...}:u counts both. Precise events exclude guests, for no
 * hardware samples those precisely.
 */
static void choose_side(struct perch_attr *attr, char letter)
{
	if (!attr->exclude_user && !attr->exclude_kernel && !attr->exclude_hv)
		attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 1;
	if (letter == 'u')
		attr->exclude_user = 0;
	else if (letter == 'k')
		attr->exclude_kernel = 0;
	else
		attr->exclude_hv = 0;
}

/* What has been said about the event before the letter in hand. */
struct said {
	bool side;    /* u, k or h */
	bool machine; /* G or H */
};

static void choose_machine(struct perch_attr *attr, char letter, struct said *said)
{
	if (!said->machine)
		attr->exclude_guest = attr->exclude_host = 1;
	said->machine = true;
	if (letter == 'G')
		attr->exclude_guest = 0;
	else
		attr->exclude_host = 0;
}

/* Letters that say one thing, whatever else is said. */
static int claim(struct perch_event *event, char letter)
{
	switch (letter) {
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

static int apply(struct perch_event *event, char letter, struct said *said)
{
	struct perch_attr *attr = &event->attr;

	switch (letter) {
	case 'u':
	case 'k':
	case 'h':
		if (!said->side || attr->exclude_user || attr->exclude_kernel || attr->exclude_hv)
			choose_side(attr, letter);
		said->side = true;
		event->modified = true;
		return 0;
	case 'G':
	case 'H':
		choose_machine(attr, letter, said);
		event->modified = true;
		return 0;
	case 'p':
		if (attr->precise_ip == 3)
			return -ERANGE;
		attr->precise_ip++;
		if (!said->machine)
			attr->exclude_guest = 1;
		return 0;
	default:
		return claim(event, letter);
	}
}

bool perch__is_modifiers(const char *word, size_t length)
{
	return strspn(word, "ukhGHIpPDeSWb") >= length;
}

static bool repeated(const char *letters, size_t i)
{
	return letters[i] != 'p' && memchr(letters, letters[i], i);
}

static int refuse_letter(struct perch__parser *parser, size_t at, const char *why)
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
	const char *letters = parser->text + at;
	const struct perch_attr *attr = &event->attr;
	struct said said = { 0 };
	size_t index = event - parser->events->event;
	uint64_t *guest_host_set = &parser->guest_host_set[(index - parser->group) / 64];
	uint64_t bit = UINT64_C(1) << (index - parser->group) % 64;
	bool leads = (size_t)event->leader == index;

	if (group) {
		said.side = attr->exclude_user || attr->exclude_kernel || attr->exclude_hv;
		said.machine = *guest_host_set & bit;
	}
	for (size_t i = 0; i < length; i++) {
		int rc;

		if (repeated(letters, i))
			return refuse_letter(parser, at + i, "is there twice");
		if (group && !leads && (letters[i] == 'D' || letters[i] == 'e'))
			continue; /* both speak for the whole group, by its leader */
		rc = apply(event, letters[i], &said);
		if (rc == -ERANGE)
			return refuse_letter(parser, at + i, "is there more than three times");
		if (rc)
			return refuse_letter(parser, at + i, "is unknown");
	}
	if (said.machine)
		*guest_host_set |= bit;
	return 0;
}
