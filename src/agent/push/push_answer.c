/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <perch/error.h>

#include "base/nr.h"
#include "push.pb-c.h"
#include "push_answer.h"

/* Longer than any server means it; so sums with the clock do not overflow. */
static const int64_t seconds_max = 1000000000;

enum { MESSAGE_MAX = 512 };

enum agent_push_outcome agent_push_outcome_of(int code)
{
	if (code >= 200 && code < 300)
		return AGENT_PUSH_TAKEN;
	/* a wrong secret is no fault of the window; its file is read anew for each request */
	if (code == 401 || code == 407)
		return AGENT_PUSH_RETRY;
	return code == 429 || (code >= 502 && code <= 504) ? AGENT_PUSH_RETRY : AGENT_PUSH_REFUSED;
}

/* ---- Retry-After ---- */

static bool take_text(const char **at, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(*at, text, length))
		return false;
	*at += length;
	return true;
}

/* Takes a number of so many digits; the first may be a blank. */
static bool take_number(const char **at, unsigned digits, int *number)
{
	*number = 0;
	for (unsigned i = 0; i < digits; i++, (*at)++) {
		if (!i && digits == 2 && **at == ' ')
			continue;
		if (!isdigit((unsigned char)**at))
			return false;
		*number = *number * 10 + **at - '0';
	}
	return true;
}

static bool take_month(const char **at, int *month)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (*month = 0; *month < 12; (*month)++)
		if (!strncmp(*at, months + 3 * *month, 3)) {
			*at += 3;
			return true;
		}
	return false;
}

static bool take_time(const char **at, struct tm *tm)
{
	return take_number(at, 2, &tm->tm_hour) && take_text(at, ":") &&
	       take_number(at, 2, &tm->tm_min) && take_text(at, ":") &&
	       take_number(at, 2, &tm->tm_sec) && tm->tm_hour < 24 && tm->tm_min < 60 &&
	       tm->tm_sec <= 60;
}

/* "06 Nov 1994 08:49:37 GMT", or with '-' and two digits of the year */
static bool take_date(const char **at, struct tm *tm)
{
	bool is_short;

	if (!take_number(at, 2, &tm->tm_mday))
		return false;
	is_short = **at == '-';
	if (!take_text(at, is_short ? "-" : " ") || !take_month(at, &tm->tm_mon) ||
	    !take_text(at, is_short ? "-" : " ") ||
	    !take_number(at, is_short ? 2 : 4, &tm->tm_year) || !take_text(at, " ") ||
	    !take_time(at, tm))
		return false;
	/* two digits: 1970 to 2069 */
	tm->tm_year -= is_short ? (tm->tm_year < 70 ? -100 : 0) : 1900;
	return take_text(at, " GMT");
}

/* "Nov  6 08:49:37 1994", of asctime(3) */
static bool take_c_date(const char **at, struct tm *tm)
{
	if (!take_month(at, &tm->tm_mon) || !take_text(at, " ") ||
	    !take_number(at, 2, &tm->tm_mday) || !take_text(at, " ") || !take_time(at, tm) ||
	    !take_text(at, " ") || !take_number(at, 4, &tm->tm_year))
		return false;
	tm->tm_year -= 1900;
	return true;
}

static int64_t until_date(const char *text, int64_t now)
{
	struct tm tm = { .tm_sec = 0 };
	const char *at = text + strspn(text, "abcdefghijklmnopqrstuvwxyzDFMSTW");
	bool has_comma = take_text(&at, ",");
	int64_t date;

	if (at == text || !take_text(&at, " ") ||
	    !(has_comma ? take_date(&at, &tm) : take_c_date(&at, &tm)) || *at || !tm.tm_mday ||
	    tm.tm_mday > 31)
		return -1;
	date = (int64_t)timegm(&tm);
	if (date <= now)
		return 0;
	return date - now < seconds_max ? date - now : seconds_max;
}

int64_t agent_push_retry_after(const char *text, int64_t now)
{
	size_t digits = strspn(text, "0123456789");
	int64_t seconds = 0;

	if (!digits)
		return until_date(text, now);
	if (text[digits])
		return -1;
	for (size_t i = 0; i < digits && seconds < seconds_max; i++)
		seconds = seconds * 10 + text[i] - '0';
	return seconds < seconds_max ? seconds : seconds_max;
}

/* ---- bodies ---- */

uint64_t agent_push_rejected(const void *bytes, size_t size, char *reason, size_t reason_size)
{
	Perch__Push__ExportProfilesServiceResponse *response =
		perch__push__export_profiles_service_response__unpack(NULL, size, bytes);
	uint64_t rejected = 0;

	*reason = 0;
	if (response && response->partial_success) {
		if (response->partial_success->rejected_profiles > 0)
			rejected = (uint64_t)response->partial_success->rejected_profiles;
		perch_clean_text(response->partial_success->error_message, reason, reason_size);
	}
	if (response)
		perch__push__export_profiles_service_response__free_unpacked(response, NULL);
	return rejected;
}

static bool status_message(const void *bytes, size_t size, char *reason, size_t reason_size)
{
	Perch__Push__Status *status = perch__push__status__unpack(NULL, size, bytes);

	if (!status)
		return false;
	perch_clean_text(status->message, reason, reason_size);
	perch__push__status__free_unpacked(status, NULL);
	return *reason;
}

/* Returns the value of the first "message": in a text of JSON, with its escapes; NULL: none. */
static const char *json_message(const char *text, size_t *length)
{
	const char *at = strstr(text, "\"message\"");

	if (!at)
		return NULL;
	at += strlen("\"message\"");
	at += strspn(at, " \t\r\n:");
	if (*at++ != '"')
		return NULL;
	for (*length = 0; at[*length] && at[*length] != '"'; (*length)++)
		if (at[*length] == '\\' && at[*length + 1])
			(*length)++;
	return at;
}

void agent_push_reason(const void *bytes, size_t size, bool is_protobuf, char *reason,
		       size_t reason_size)
{
	char text[MESSAGE_MAX + 1];
	const char *message;
	size_t length;

	*reason = 0;
	if (is_protobuf && status_message(bytes, size, reason, reason_size))
		return;
	length = size < MESSAGE_MAX ? size : MESSAGE_MAX;
	memcpy(text, bytes, length);
	text[length] = 0;
	message = json_message(text, &length);
	if (!message) {
		message = text + strspn(text, " \t\r\n");
		length = strcspn(message, "\r\n");
	}
	text[message - text + (ptrdiff_t)length] = 0;
	perch_clean_text(message, reason, reason_size);
}
