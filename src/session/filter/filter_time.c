/* SPDX-License-Identifier: MIT */
/* Ranges of time in the options of a filter. */
#include <ctype.h>

#include "base/no_memory.h"
#include "filter.h"

#define MAX_RANGES 1024
#define SECOND	   1000000000ull

static int bad_time(struct perch_error *err, const char *text, size_t length, const char *reason)
{
	int rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "time '%.*s': %s", (int)length,
				 text, reason);

	perch_error_remedy(err, "Ranges are START,STOP in seconds (12.5,13 or 12.5, or ,13, or "
				"+1,+2 from the first sample on), shares 10%%-20%% or slices "
				"10%%/2");
	return rc;
}

/* Removes a number with up to 9 decimals from the text, as billionths. */
static bool take_decimal(const char **at, uint64_t *value)
{
	uint64_t whole = 0, digit = SECOND;
	const char *text = *at;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		whole = 10 * whole + (*text - '0');
		if (whole >= UINT64_MAX / SECOND - 1)
			return false;
	}
	*value = whole * SECOND;
	if (*text == '.') {
		for (text++; isdigit((unsigned char)*text) && digit > 1; text++) {
			digit /= 10;
			*value += digit * (*text - '0');
		}
	}
	*at = text;
	return !isdigit((unsigned char)*text);
}

static int add_range(struct filter_times *times, uint64_t start, uint64_t end,
		     struct perch_error *err)
{
	struct filter_time *range =
		PERCH__ARRAY_APPEND_MAX(times->range, times->nr, times->capacity, MAX_RANGES);

	if (!range)
		return PERCH__NO_MEMORY(err, "for ranges of time (at most %d)", MAX_RANGES);
	*range = (struct filter_time){ start, end };
	return 0;
}

/* ---- the times of the first and the last sample ---- */

static bool read_sample_time(struct perch_reader *reader, struct filter_time *all)
{
	const void *bytes;
	uint64_t words[2];
	size_t size;

	if (perch_reader_feature(reader, PERCH_FEATURE_SAMPLE_TIME, &bytes, &size) ||
	    size < sizeof(words))
		return false;
	memcpy(words, bytes, sizeof(words));
	for (int i = 0; i < 2; i++)
		if (perch_reader_byte_order(reader) != PERCH_BYTES_NATIVE)
			words[i] = __builtin_bswap64(words[i]);
	*all = (struct filter_time){ words[0], words[1] };
	return all->start && all->start <= all->end;
}

static int scan_times(struct perch_reader *reader, struct filter_time *all, struct perch_error *err)
{
	struct perch_record record;
	int rc;

	*all = (struct filter_time){ UINT64_MAX, 0 };
	while ((rc = perch_reader_next(reader, &record, err)) > 0 || rc == -EBADMSG) {
		if (rc < 0 || record.type != PERCH_RECORD_SAMPLE ||
		    !(record.sample_id.has & PERCH_SAMPLE_TIME))
			continue;
		if (record.sample_id.time < all->start)
			all->start = record.sample_id.time;
		if (record.sample_id.time > all->end)
			all->end = record.sample_id.time;
	}
	perch_reader_rewind(reader);
	return rc;
}

static int find_times(struct perch_session *session, struct filter_time *all,
		      struct perch_error *err)
{
	struct perch_reader *reader = perch_session_reader(session);
	int rc = read_sample_time(reader, all) ? 0 : scan_times(reader, all, err);

	if (!rc && all->start > all->end)
		return perch_error_set(err, ENODATA, PERCH_ERROR_FORMAT,
				       "the file has no samples with a time: there is no first "
				       "and no last one");
	return rc;
}

/* ---- START,STOP ---- */

/* The sum, or the last time there is. */
static uint64_t add_time(uint64_t from, uint64_t time)
{
	return time > UINT64_MAX - from ? UINT64_MAX : from + time;
}

/* Removes a time: "12.5", or "+1.5" after the first sample. from: is added to the others. Returns
 * false if there is none. */
static bool take_time(const char **at, uint64_t first, uint64_t from, uint64_t *time)
{
	uint64_t value;
	bool relative = **at == '+';

	*at += relative;
	if (!take_decimal(at, &value))
		return false;
	*time = add_time(relative ? first : from, value);
	return true;
}

/* first: the time of the first sample, if it is needed. from: what times are relative to. */
static int parse_absolute(struct filter_times *times, const char *text, uint64_t first,
			  uint64_t from, struct perch_error *err)
{
	while (true) {
		uint64_t start = from, end = UINT64_MAX;
		const char *at = text;
		size_t length = strcspn(text, " \t");
		int rc;

		if (*at != ',' && !take_time(&at, first, from, &start))
			return bad_time(err, text, length, "not a number of seconds");
		if (isalpha((unsigned char)*at))
			return bad_time(err, text, length, "seconds are numbers without a unit");
		if (*at++ != ',')
			return bad_time(err, text, length, "no ',' between start and stop");
		if (*at && *at != ' ' && *at != '\t' && !take_time(&at, first, from, &end))
			return bad_time(err, text, length, "not a number of seconds");
		if (isalpha((unsigned char)*at))
			return bad_time(err, text, length, "seconds are numbers without a unit");
		if (at != text + length)
			return bad_time(err, text, length, "more follows than a stop");
		if (end < start)
			return bad_time(err, text, length, "the stop is before the start");
		rc = add_range(times, start, end, err);
		if (rc)
			return rc;
		text += length + strspn(text + length, " \t");
		if (!*text)
			return 0;
	}
}

/* ---- shares of the time ---- */

static bool take_percent(const char **at, double *share)
{
	uint64_t value;

	if (!take_decimal(at, &value) || **at != '%')
		return false;
	(*at)++;
	*share = value / 100.0 / SECOND;
	return true;
}

/* The range ends before the next one begins, except the last one. */
static int add_share(struct filter_times *times, const struct filter_time *all, double start,
		     double end, struct perch_error *err)
{
	double total = all->end - all->start;
	struct filter_time range = { all->start + (uint64_t)(start * total + 0.5),
				     all->start + (uint64_t)(end * total + 0.5) };

	if (range.end > all->end)
		range.end = all->end;
	if (range.end > range.start && range.end != all->end)
		range.end--;
	return add_range(times, range.start, range.end, err);
}

/* Parses "10%-20%", "10%/2" or "10%". */
static int parse_share(struct filter_times *times, const char *text, size_t length,
		       const struct filter_time *all, struct perch_error *err)
{
	/* 100 % as a sum of parts */
	const double most = 1 + 1e-9;
	const char *at = text;
	double start = 0, end = 0;
	unsigned long number = 1;

	if (!take_percent(&at, &end))
		return bad_time(err, text, length, "not a percentage");
	if (*at == '-') {
		start = end;
		at++;
		if (!take_percent(&at, &end))
			return bad_time(err, text, length, "not a percentage after '-'");
		if (end < start)
			return bad_time(err, text, length, "the stop is before the start");
	} else if (*at == '/') {
		char *rest;

		number = isdigit((unsigned char)at[1]) ? strtoul(at + 1, &rest, 10) : 0;
		if (!number)
			return bad_time(err, text, length,
					"expected the number of a slice, from 1, after '/'");
		at = rest;
		start = end * (number - 1);
		end = end * number;
	}
	if (at != text + length)
		return bad_time(err, text, length, "more follows than a percentage");
	if (end > most && number > 1)
		return bad_time(err, text, length, "there are not so many slices");
	if (end > most || end <= 0)
		return bad_time(err, text, length, "percentages are above 0 and up to 100");
	return add_share(times, all, start, end, err);
}

static int parse_shares(struct filter_times *times, const char *text, const struct filter_time *all,
			struct perch_error *err)
{
	while (true) {
		size_t length = strcspn(text, ", \t");
		int rc = parse_share(times, text, length, all, err);

		if (rc)
			return rc;
		text += length;
		text += strspn(text, ", \t");
		if (!*text)
			return 0;
	}
}

int perch__filter_parse_time(struct filter_times *times, const struct perch_filter_options *options,
			     struct perch_session *session, struct perch_error *err)
{
	const char *text = options->time + strspn(options->time, " \t");
	bool shares = strchr(text, '%');
	struct filter_time all = { 0, 0 };
	bool relative = options->relative_time || strchr(text, '+');
	int rc = shares || relative ? find_times(session, &all, err) : 0;

	if (rc)
		return rc;
	return shares ? parse_shares(times, text, &all, err)
		      : parse_absolute(times, text, all.start,
				       options->relative_time ? all.start : 0, err);
}
