/* SPDX-License-Identifier: MIT */
/*
 * Names of libpfm4, which has event tables of many CPUs: pfm:NAME[:UMASK...]. A name ends at a
 * comma, slash, closing brace or space. libpfm4 itself parses what follows its colons: unit masks,
 * u, k, h, period=. The library is loaded for the first such name, so other programs do not need
 * it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/library.h"
#include "event/internal.h"

#define NAME_ENDS ",}/ \t\n"
#define NAME_SIZE 512

#ifdef PERCH_HAVE_PFM

#include <strings.h>
#include <threads.h>
#include <perfmon/pfmlib_perf_event.h>

#define LIBRARY "libpfm.so.4"

static struct {
	__typeof__(pfm_get_os_event_encoding) *encode;
	__typeof__(pfm_strerror) *strerror;
	__typeof__(pfm_get_pmu_info) *pmu_info;
	__typeof__(pfm_get_event_info) *event_info;
	__typeof__(pfm_get_event_next) *event_next;
	bool loaded, ready, no_pmu;
	char why[256]; /* the reason when it is not ready */
} pfm;

static void load_pfm(void)
{
	__typeof__(pfm_initialize) *initialize;
	const struct perch__function functions[] = {
		{ "pfm_initialize", &initialize },
		{ "pfm_get_os_event_encoding", &pfm.encode },
		{ "pfm_strerror", &pfm.strerror },
		{ "pfm_get_pmu_info", &pfm.pmu_info },
		{ "pfm_get_event_info", &pfm.event_info },
		{ "pfm_get_event_next", &pfm.event_next },
	};
	const char *why;
	int rc;

	if (!perch__load_library(LIBRARY, functions, PERCH__NR(functions))) {
		why = dlerror();
		perch_clean_text(why ? why : LIBRARY " cannot be loaded", pfm.why, sizeof(pfm.why));
		return;
	}
	pfm.loaded = true;
	rc = initialize();
	pfm.no_pmu = rc == PFM_ERR_NOTSUPP;
	if (rc != PFM_SUCCESS)
		perch_clean_text(pfm.strerror(rc), pfm.why, sizeof(pfm.why));
	pfm.ready = rc == PFM_SUCCESS;
}

static int need_library(struct perch__parser *parser, size_t at)
{
	static once_flag once = ONCE_FLAG_INIT;

	call_once(&once, load_pfm);
	if (pfm.ready)
		return 0;
	perch__parse_error(parser, at, EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED, "%s: %s",
			   pfm.no_pmu	? "libpfm4 finds no PMU here"
			   : pfm.loaded ? "libpfm4 cannot be initialized"
					: "cannot load libpfm4",
			   pfm.why);
	perch_error_remedy(parser->err, "%s",
			   pfm.loaded
				   ? "use a name of the kernel, as page-faults; libpfm4 looks for "
				     "PMUs in /sys/devices and /proc"
				   : "install libpfm4 (the package libpfm4 of Debian)");
	return -EOPNOTSUPP;
}

/* True if the name has the attribute: "u", "u=1" or "u=0" after a colon or dot. */
static bool has_attribute(const char *name, const char *attribute)
{
	size_t length = strlen(attribute);
	const char *pmu = strstr(name, "::"), *part = pmu ? pmu + 2 : name;

	while ((part = strpbrk(part, ":.")))
		if (!strncasecmp(++part, attribute, length) &&
		    (!part[length] || strchr(":.=", part[length])))
			return true;
	return false;
}

/* Suggests the events of libpfm4 for the PMUs of this machine, and lists these PMUs. */
static void suggest_names(struct perch__suggestions *suggestions, char *pmus, size_t size)
{
	size_t used = 0;

	pmus[0] = '\0';
	for (int number = 0; number < PFM_PMU_MAX; number++) {
		pfm_pmu_info_t pmu = { .size = sizeof(pmu) };

		if (pfm.pmu_info(number, &pmu) != PFM_SUCCESS || !pmu.is_present)
			continue;
		if (used < size)
			used += snprintf(pmus + used, size - used, "%s%s", used ? ", " : "",
					 pmu.name);
		for (int i = pmu.first_event; i >= 0; i = pfm.event_next(i)) {
			pfm_event_info_t event = { .size = sizeof(event) };

			if (pfm.event_info(i, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS)
				perch__suggest(suggestions, event.name);
		}
	}
}

static int report_name(struct perch__parser *parser, size_t at, const char *name, int rc)
{
	const char *pmu = strstr(name, "::"), *event = pmu ? pmu + 2 : name;
	size_t length = strcspn(event, ":.");
	char word[64], pmus[128];
	struct perch__suggestions suggestions = { .word = word };

	if (rc != PFM_ERR_NOTFOUND) {
		if (event[length])
			at += event + length + 1 - name;
		perch__parse_error(parser, at, EINVAL, PERCH_ERROR_SYNTAX,
				   "libpfm4 refuses '%s': %s", name, pfm.strerror(rc));
		perch_error_remedy(parser->err,
				   "the program showevtinfo in libpfm4's sources lists unit masks");
		return -EINVAL;
	}
	snprintf(word, sizeof(word), "%.*s", length < sizeof(word) ? (int)length : 0, event);
	suggest_names(&suggestions, pmus, sizeof(pmus));
	perch__parse_error(parser, at, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
			   "libpfm4 has no event '%s' for the PMUs of this machine (%s)", name,
			   pmus);
	perch__suggestions_remedy(&suggestions, parser->err,
				  "the program showevtinfo in libpfm4's sources lists events");
	return -ENOENT;
}

/*
 * An event counts in all modes unless its name selects some. libpfm4 excludes guests by default,
 * perch does not.
 */
static int set_attr(struct perch__parser *parser, size_t at, const char *name,
		    struct perf_event_attr *from, struct perch_event *event)
{
	struct perch_attr *attr = &event->attr;
	bool guests = has_attribute(name, "mg") || has_attribute(name, "mh");

	if (perch_attr_from_bytes(attr, from, sizeof(*from), PERCH_BYTES_NATIVE) < 0)
		return perch__parse_error(parser, at, EBADMSG, PERCH_ERROR_FORMAT,
					  "libpfm4 returned an attr that perch cannot read");
	attr->size = sizeof(*attr);
	if (!guests)
		attr->exclude_guest = attr->exclude_host = 0;
	event->modified = guests || has_attribute(name, "u") || has_attribute(name, "k") ||
			  has_attribute(name, "h");
	return 0;
}

static int encode(struct perch__parser *parser, size_t at, const char *name,
		  struct perch_event *event)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t argument = { .attr = &attr, .size = sizeof(argument), .cpu = -1 };
	int rc = need_library(parser, at);

	if (rc)
		return rc;
	rc = pfm.encode(name, PFM_PLM0 | PFM_PLM3 | PFM_PLMH, PFM_OS_PERF_EVENT_EXT, &argument);
	if (rc != PFM_SUCCESS)
		return report_name(parser, at, name, rc);
	if (argument.cpu != -1) {
		perch__parse_error(parser, at, EINVAL, PERCH_ERROR_CONFLICT,
				   "the name of an event cannot select a CPU");
		perch_error_remedy(parser->err, "omit cpu= and set the CPU of the target");
		return -EINVAL;
	}
	return set_attr(parser, at, name, &attr, event);
}

#else

static int encode(struct perch__parser *parser, size_t at, const char *name,
		  struct perch_event *event)
{
	(void)name, (void)event;
	perch__parse_error(parser, at, EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
			   "perch was built without libpfm4");
	perch_error_remedy(
		parser->err,
		"install libpfm4's headers (libpfm4-dev of Debian) and build perch again");
	return -EOPNOTSUPP;
}

#endif

int perch__parse_pfm(struct perch__parser *parser, size_t at, struct perch_event *event)
{
	size_t from = parser->token.at + 1, length = strcspn(parser->text + from, NAME_ENDS);
	char name[NAME_SIZE];
	int rc;

	(void)at; /* errors are at the name */
	if (!length) {
		perch__advance_to(parser, from);
		return perch__expected(parser, "an event of libpfm4, as in pfm:perf::PAGE-FAULTS");
	}
	if (length >= sizeof(name))
		return perch__parse_error(parser, from, EINVAL, PERCH_ERROR_SYNTAX,
					  "a name of libpfm4 has at most %d bytes (given %zu)",
					  NAME_SIZE - 1, length);
	memcpy(name, parser->text + from, length);
	name[length] = '\0';
	rc = encode(parser, from, name, event);
	if (!rc)
		perch__advance_to(parser, from + length);
	return rc;
}
