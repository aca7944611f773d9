/* SPDX-License-Identifier: MIT */
/* Where windows are sent: the argument of --push. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/port.h"
#include "base/no_memory.h"
#include "base/nr.h"
#include "push.h"

enum { ARGUMENT_MAX = 8192 };

static const struct {
	const char *prefix, *path;
} kinds[] = {
	[AGENT_PUSH_OTLP] = { "otlp+", "/v1development/profiles" },
	[AGENT_PUSH_PYROSCOPE] = { "pyroscope+", "/push.v1.PusherService/Push" },
};

/* Returns a text of the target, which it owns. */
static char **text_at(const struct agent_push_target *target, size_t at)
{
	return (char **)((char *)target + at);
}

static const struct {
	const char *name;
	size_t at;
} file_options[] = {
	{ "token-file", offsetof(struct agent_push_target, token_file) },
	{ "basic-file", offsetof(struct agent_push_target, basic_file) },
	{ "ca-file", offsetof(struct agent_push_target, ca_file) },
	{ "cert-file", offsetof(struct agent_push_target, cert_file) },
	{ "key-file", offsetof(struct agent_push_target, key_file) },
};

/* What a request has anyway, or by a file. */
static const char *const refused_headers[] = {
	"Authorization", "Content-Encoding",	     "Content-Length",
	"Content-Type",	 "Connect-Protocol-Version", "Expect",
	"Host",		 "Transfer-Encoding",
};

static int refuse_target(struct perch_error *err, const char *text, const char *reason)
{
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "push '%s': %s", text, reason);
	perch_error_remedy(err,
			   "Write [otlp+|pyroscope+]http[s]://HOST[:PORT][/PATH],OPTION=VALUE");
	return -EINVAL;
}

/* Printable ASCII: the text becomes a part of requests. */
static bool is_plain(const char *text, bool blanks)
{
	for (; *text; text++)
		if (*text < (blanks ? ' ' : '!') || *text > '~')
			return false;
	return true;
}

static uint64_t hash_of(const struct agent_push_target *target)
{
	uint64_t hash = 14695981039346656037u ^ (uint64_t)target->kind;

	for (const char *at = target->url; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	return hash;
}

/* "host", "host:PORT", "[::1]" or "[::1]:PORT". */
static bool has_valid_port(const char *host, const char *end)
{
	const char *bracket = memchr(host, ']', (size_t)(end - host));
	const char *from = bracket ? bracket : host,
		   *colon = memchr(from, ':', (size_t)(end - from));

	return !colon || agent_is_port(colon + 1, (size_t)(end - colon - 1));
}

static int set_url(struct agent_push_target *target, const char *text, const char *url,
		   struct perch_error *err)
{
	const char *host = strstr(url, "://"), *path;
	size_t length;

	if (!host || (strncasecmp(url, "http://", 7) && strncasecmp(url, "https://", 8)))
		return refuse_target(err, text, "the URL begins with http:// or https://");
	host += strlen("://");
	path = host + strcspn(host, "/?#");
	if (path == host || !is_plain(url, false) || strchr(url, '#') ||
	    strlen(url) > AGENT_URL_MAX)
		return refuse_target(err, text, "it is no URL");
	if (memchr(host, '@', (size_t)(path - host)))
		return refuse_target(err, "...", "passwords belong in a file: basic-file=FILE");
	if (!has_valid_port(host, path))
		return refuse_target(err, text, "the port must be a number from 1 to 65535");
	length = strlen(url) + strlen(kinds[target->kind].path) + 1;
	target->url = calloc(1, length);
	if (!target->url)
		return PERCH__NO_MEMORY(err, "for a target");
	strcpy(target->url, url);
	if (!*path || !strcmp(path, "/"))
		strcpy(target->url + (path - url), kinds[target->kind].path);
	target->name = strndup(target->url, strcspn(target->url, "?"));
	target->hash = hash_of(target);
	return target->name ? 0 : PERCH__NO_MEMORY(err, "for a target");
}

static int add_header(struct agent_push_target *target, const char *text, const char *value,
		      struct perch_error *err)
{
	size_t length = strcspn(value, ":");

	if (!value[length] || !length || memchr(value, ' ', length) || !is_plain(value, true))
		return refuse_target(err, text, "expected header=NAME: VALUE");
	for (size_t i = 0; i < PERCH__NR(refused_headers); i++)
		if (strlen(refused_headers[i]) == length &&
		    !strncasecmp(refused_headers[i], value, length))
			return refuse_target(
				err, "...",
				"this header cannot be set; for authorization there are "
				"token-file and basic-file");
	if (target->nr_headers == AGENT_HEADERS_MAX)
		return refuse_target(err, text, "it has more than 8 headers");
	target->header[target->nr_headers] = strdup(value);
	return target->header[target->nr_headers++] ? 0 : PERCH__NO_MEMORY(err, "for a target");
}

static int set_option(struct agent_push_target *target, const char *text, char *option,
		      struct perch_error *err)
{
	char *value = strchr(option, '=');

	if (!value || !value[1])
		return refuse_target(err, text, "expected OPTION=VALUE after the comma");
	*value++ = 0;
	if (!strcmp(option, "header"))
		return add_header(target, text, value, err);
	for (size_t i = 0; i < PERCH__NR(file_options); i++) {
		char **file = text_at(target, file_options[i].at);

		if (strcmp(option, file_options[i].name))
			continue;
		free(*file);
		*file = strdup(value);
		return *file ? 0 : PERCH__NO_MEMORY(err, "for a target");
	}
	return refuse_target(
		err, text,
		"the options are token-file, basic-file, ca-file, cert-file, key-file, header");
}

int agent_push_target_parse(struct agent_push_target *target, const char *text,
			    struct perch_error *err)
{
	char *copy, *option, *rest, *url;
	int rc;

	*target = (struct agent_push_target){ .url = NULL };
	if (strlen(text) > ARGUMENT_MAX)
		return refuse_target(err, "...", "it has more than 8192 bytes");
	copy = strdup(text);
	if (!copy)
		return PERCH__NO_MEMORY(err, "for a target");
	rest = copy;
	url = strsep(&rest, ",");
	for (size_t i = 0; i < PERCH__NR(kinds); i++)
		if (!strncmp(url, kinds[i].prefix, strlen(kinds[i].prefix))) {
			target->kind = (enum agent_push_kind)i;
			url += strlen(kinds[i].prefix);
			break;
		}
	rc = set_url(target, text, url, err);
	while (!rc && (option = strsep(&rest, ",")))
		rc = set_option(target, text, option, err);
	if (!rc && target->token_file && target->basic_file)
		rc = refuse_target(err, text, "token-file and basic-file exclude each other");
	if (!rc && (target->ca_file || target->cert_file || target->key_file) &&
	    strncasecmp(url, "https:", 6) != 0)
		rc = refuse_target(err, text, "files of TLS need a URL that begins with https://");
	free(copy);
	if (rc)
		agent_push_target_clear(target);
	return rc;
}

int agent_push_target_number(struct agent_push_target *target, size_t nr, struct perch_error *err)
{
	struct agent_push_target *last = &target[nr - 1];
	size_t same = 1;
	char *name;

	for (size_t i = 0; i + 1 < nr; i++)
		same += !strncmp(target[i].url, last->name, strlen(last->name)) &&
			!strcspn(target[i].url + strlen(last->name), "?");
	if (same == 1)
		return 0;
	if (asprintf(&name, "%s (%zu)", last->name, same) < 0)
		return PERCH__NO_MEMORY(err, "for a target");
	free(last->name);
	last->name = name;
	return 0;
}

/* Returns false if out of memory. */
static bool copy_text(char **copy, const char *text)
{
	*copy = text ? strdup(text) : NULL;
	return *copy || !text;
}

int agent_push_target_copy(struct agent_push_target *copy, const struct agent_push_target *target,
			   struct perch_error *err)
{
	bool complete = true;

	*copy = (struct agent_push_target){ .kind = target->kind, .hash = target->hash };
	for (size_t i = 0; i < PERCH__NR(file_options); i++)
		complete &= copy_text(text_at(copy, file_options[i].at),
				      *text_at(target, file_options[i].at));
	for (; copy->nr_headers < target->nr_headers; copy->nr_headers++)
		complete &= copy_text(&copy->header[copy->nr_headers],
				      target->header[copy->nr_headers]);
	complete &= copy_text(&copy->url, target->url) && copy_text(&copy->name, target->name);
	if (complete)
		return 0;
	agent_push_target_clear(copy);
	return PERCH__NO_MEMORY(err, "for a target");
}

static bool equal_texts(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool agent_push_target_equal(const struct agent_push_target *a, const struct agent_push_target *b)
{
	bool equal = a->kind == b->kind && a->nr_headers == b->nr_headers &&
		     equal_texts(a->url, b->url) && equal_texts(a->name, b->name);

	for (size_t i = 0; equal && i < PERCH__NR(file_options); i++)
		equal = equal_texts(*text_at(a, file_options[i].at),
				    *text_at(b, file_options[i].at));
	for (size_t i = 0; equal && i < a->nr_headers; i++)
		equal = equal_texts(a->header[i], b->header[i]);
	return equal;
}

void agent_push_target_clear(struct agent_push_target *target)
{
	for (size_t i = 0; i < PERCH__NR(file_options); i++)
		free(*text_at(target, file_options[i].at));
	for (size_t i = 0; i < target->nr_headers; i++)
		free(target->header[i]);
	free(target->url);
	free(target->name);
	*target = (struct agent_push_target){ .url = NULL };
}

static bool is_letter(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

void agent_plain_name(char *name)
{
	for (char *at = name; *at; at++)
		if (!is_letter(*at) && (at == name || *at < '0' || *at > '9'))
			*at = '_';
}
