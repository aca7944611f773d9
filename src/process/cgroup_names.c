/* SPDX-License-Identifier: MIT */
/* What the path of a cgroup says: the container and pod of container runtimes, units of systemd. */
#define _GNU_SOURCE
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/nr.h"
#include "internal.h"

enum {
	ID_DIGITS = 64,	 /* of a container's id */
	UID_DIGITS = 32, /* of a pod's uid, without dashes */
	UID_LENGTH = 36, /* with dashes */
};

/* What comes before the id of a container in a name: "docker-ID.scope", "x.slice:docker:ID". */
static const struct {
	const char *prefix, *runtime;
} prefixes[] = {
	{ "docker", "docker" },	     { "cri-containerd", "containerd" },
	{ "nerdctl", "containerd" }, { "crio", "cri-o" },
	{ "libpod", "podman" },
};

/* Directories of names that are ids. Kubernetes has the runtime of its node there: it is unknown.
 */
static const struct {
	const char *directory, *runtime;
} directories[] = {
	{ "docker", "docker" },	       { "actions_job", "docker" }, { "k8s.io", "containerd" },
	{ "moby", "docker" },	       { "default", "containerd" }, { "buildkit", "buildkit" },
	{ "libpod_parent", "podman" },
};

/* Units that are no services: what runs there is of a user, or of systemd. */
static const char *const no_service[] = { "user@", "session-", "init.scope" };

struct part {
	const char *text;
	size_t length;
};

/* ---- parts of a name ---- */

static bool part_is(struct part part, const char *text)
{
	return part.length == strlen(text) && !memcmp(part.text, text, part.length);
}

/* Removes a prefix. */
static bool take_start(struct part *part, const char *text)
{
	size_t length = strlen(text);

	if (part->length < length || memcmp(part->text, text, length))
		return false;
	part->text += length;
	part->length -= length;
	return true;
}

/* Removes a suffix. */
static bool take_end(struct part *part, const char *text)
{
	size_t length = strlen(text);

	if (part->length < length || memcmp(part->text + part->length - length, text, length))
		return false;
	part->length -= length;
	return true;
}

/* Removes what comes before the first of the characters, and it. */
static bool take_before(struct part *part, char end, struct part *before)
{
	const char *at = memchr(part->text, end, part->length);

	if (!at)
		return false;
	*before = (struct part){ part->text, (size_t)(at - part->text) };
	part->length -= before->length + 1;
	part->text = at + 1;
	return true;
}

/* Copies a part of a path, cleaned. text has NAME_MAX + 1 bytes. */
static void set_text(struct part part, char *text)
{
	char copy[NAME_MAX + 1];

	memcpy(copy, part.text, part.length);
	copy[part.length] = 0;
	perch_clean_text(copy, text, NAME_MAX + 1);
}

static bool is_hex(char character)
{
	return isdigit((unsigned char)character) || (character >= 'a' && character <= 'f');
}

static bool all_hex(struct part part)
{
	for (size_t i = 0; i < part.length; i++)
		if (!is_hex(part.text[i]))
			return false;
	return true;
}

/* ---- containers ---- */

/* The parts before it are what the container runs in; the pod is its own, or was. */
static void set_container(struct perch_cgroup_names *names, struct part id, const char *runtime)
{
	names->unit[0] = names->service[0] = names->container_name[0] = 0;
	memcpy(names->container_id, id.text, id.length);
	names->container_id[id.length] = 0;
	names->runtime = runtime;
}

/* "docker-ID.scope", "libpod-ID"; separator: '-', or ':' as runc writes it */
static bool find_prefixed(struct perch_cgroup_names *names, struct part part, const char *separator)
{
	take_end(&part, ".scope");
	for (size_t i = 0; i < PERCH__NR(prefixes); i++) {
		struct part id = part;

		if (take_start(&id, prefixes[i].prefix) && take_start(&id, separator) &&
		    id.length == ID_DIGITS && all_hex(id)) {
			set_container(names, id, prefixes[i].runtime);
			return true;
		}
	}
	return false;
}

static bool find_plain(struct perch_cgroup_names *names, struct part part, struct part parent)
{
	const char *runtime = "";

	if (part.length != ID_DIGITS || !all_hex(part))
		return false;
	for (size_t i = 0; i < PERCH__NR(directories); i++)
		if (part_is(parent, directories[i].directory))
			runtime = directories[i].runtime;
	set_container(names, part, runtime);
	return true;
}

/* Containers of LXC have names of the user in place of ids. */
static bool find_lxc(struct perch_cgroup_names *names, struct part part, struct part parent)
{
	if (!take_start(&part, "lxc.payload.") && !part_is(parent, "lxc"))
		return false;
	set_container(names, (struct part){ "", 0 }, "lxc");
	set_text(part, names->container_name);
	return true;
}

/* ---- pods ---- */

/* Writes the uid with dashes. The kubelet has '_' in names of slices, and uids of 32 digits for
 * static pods, which stay as they are. */
static bool set_pod_uid(struct perch_cgroup_names *names, struct part uid)
{
	char text[UID_LENGTH + 1];

	if (uid.length != UID_LENGTH && uid.length != UID_DIGITS)
		return false;
	for (size_t i = 0; i < uid.length; i++) {
		bool dash = uid.length == UID_LENGTH && (i == 8 || i == 13 || i == 18 || i == 23);

		if (dash ? uid.text[i] != '-' && uid.text[i] != '_' : !is_hex(uid.text[i]))
			return false;
		text[i] = dash ? '-' : uid.text[i];
	}
	text[uid.length] = 0;
	memcpy(names->pod_uid, text, uid.length + 1);
	return true;
}

/* "podUID", "kubepods-burstable-podUID.slice" */
static bool find_pod(struct perch_cgroup_names *names, struct part part)
{
	static const char *const before[] = { "kubelet-", "kubepods-", "burstable-",
					      "besteffort-" };

	take_end(&part, ".slice");
	for (size_t i = 0; i < PERCH__NR(before); i++)
		take_start(&part, before[i]);
	return take_start(&part, "pod") && set_pod_uid(names, part);
}

/* ---- systemd ---- */

/* Undoes systemd's escapes: "\x2d". name has NAME_MAX + 1 bytes. */
static void set_unescaped(struct part part, char *name)
{
	char text[NAME_MAX + 1];
	size_t nr = 0;

	for (size_t i = 0; i < part.length; i++) {
		unsigned code;

		if (part.length - i >= 4 && part.text[i] == '\\' && part.text[i + 1] == 'x' &&
		    is_hex(part.text[i + 2]) && is_hex(part.text[i + 3]) &&
		    sscanf(part.text + i + 2, "%2x", &code) == 1 && code) {
			text[nr++] = (char)code;
			i += 3;
		} else {
			text[nr++] = part.text[i];
		}
	}
	text[nr] = 0;
	perch_clean_text(text, name, NAME_MAX + 1);
}

/* Programs of a desktop: "app-LAUNCHER-ID-RANDOM.scope", "app-ID@RANDOM.service". */
static struct part application_of(struct part part, bool is_scope)
{
	struct part before, rest = part, after;

	if (is_scope) {
		const char *end = memrchr(part.text, '-', part.length);

		if (end)
			rest.length = (size_t)(end - part.text);
	} else {
		after = rest;
		if (take_before(&after, '@', &before))
			rest = before;
	}
	after = rest;
	return take_before(&after, '-', &before) ? after : rest;
}

static void set_service(struct perch_cgroup_names *names, struct part unit)
{
	struct part part = unit;
	bool is_scope = take_end(&part, ".scope");

	names->service[0] = 0;
	for (size_t i = 0; i < PERCH__NR(no_service); i++) {
		struct part rest = unit;

		if (take_start(&rest, no_service[i]))
			return;
	}
	if (!is_scope)
		take_end(&part, ".service");
	if (take_start(&part, "app-"))
		part = application_of(part, is_scope);
	else if (is_scope)
		return;
	set_unescaped(part, names->service);
}

static void find_unit(struct perch_cgroup_names *names, struct part part)
{
	struct part rest = part;

	if ((!take_end(&rest, ".service") && !take_end(&rest, ".scope")) || !rest.length)
		return;
	set_service(names, part);
	set_unescaped(part, names->unit);
}

/* ---- paths ---- */

static void add_part(struct perch_cgroup_names *names, struct part part, struct part parent)
{
	struct part slice, rest = part;

	/* runc without systemd, given the path for it: "kubepods-podUID.slice:cri-containerd:ID" */
	if (take_before(&rest, ':', &slice) && find_prefixed(names, rest, ":")) {
		find_pod(names, slice);
		return;
	}
	if (find_prefixed(names, part, "-") || find_plain(names, part, parent) ||
	    find_lxc(names, part, parent) || find_pod(names, part))
		return;
	find_unit(names, part);
}

void perch_cgroup_find_names(const char *path, struct perch_cgroup_names *names)
{
	struct part parent = { "", 0 };

	*names = (struct perch_cgroup_names){ .runtime = "" };
	for (const char *at = path; *at;) {
		struct part part = { at, strcspn(at, "/") };

		at += part.length + (at[part.length] == '/');
		/* the kernel has no longer names */
		if (part.length && part.length <= NAME_MAX)
			add_part(names, part, parent);
		parent = part;
	}
}
