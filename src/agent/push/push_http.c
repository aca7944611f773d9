/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/files/io.h"
#include "base/library.h"
#include "base/no_memory.h"
#include "base/nr.h"
#include "push_http.h"

#define LIBRARY "libcurl.so.4"

enum {
	SECRET_MAX = 8192, /* bytes of a token or password */
	HEAD_MAX = 64 << 10,
	CONNECT_SECONDS = 10,
	QUICK_EXIT = 322, /* CURLOPT_QUICK_EXIT, which headers have since 7.87 */
};

static struct {
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	void (*easy_cleanup)(CURL *easy);
	CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
	CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
	const char *(*easy_strerror)(CURLcode code);
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_cleanup)(CURLM *multi);
	CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
	CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
	CURLMcode (*multi_perform)(CURLM *multi, int *running);
	CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *extra, unsigned nr, int timeout,
				int *ready);
	CURLMcode (*multi_wakeup)(CURLM *multi);
	CURLMsg *(*multi_info_read)(CURLM *multi, int *rest);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
	bool ready;
} library;

struct push_http {
	CURLM *multi;
};

static bool load_library(void)
{
	static const struct perch__function functions[] = {
		{ "curl_global_init", &library.global_init },
		{ "curl_easy_init", &library.easy_init },
		{ "curl_easy_cleanup", &library.easy_cleanup },
		{ "curl_easy_setopt", &library.easy_setopt },
		{ "curl_easy_getinfo", &library.easy_getinfo },
		{ "curl_easy_strerror", &library.easy_strerror },
		{ "curl_multi_init", &library.multi_init },
		{ "curl_multi_cleanup", &library.multi_cleanup },
		{ "curl_multi_add_handle", &library.multi_add_handle },
		{ "curl_multi_remove_handle", &library.multi_remove_handle },
		{ "curl_multi_perform", &library.multi_perform },
		{ "curl_multi_poll", &library.multi_poll },
		{ "curl_multi_wakeup", &library.multi_wakeup },
		{ "curl_multi_info_read", &library.multi_info_read },
		{ "curl_slist_append", &library.slist_append },
		{ "curl_slist_free_all", &library.slist_free_all },
	};

	if (!library.ready)
		library.ready = perch__load_library(LIBRARY, functions, PERCH__NR(functions)) &&
				!library.global_init(CURL_GLOBAL_DEFAULT);
	return library.ready;
}

int push_http_new(struct push_http **result, struct perch_error *err)
{
	struct push_http *http;

	*result = NULL;
	if (!load_library()) {
		perch_error_set(err, ENOSYS, PERCH_ERROR_NOT_SUPPORTED,
				"%s, which sends windows, cannot be loaded", LIBRARY);
		perch_error_remedy(err, "On Debian: apt-get install libcurl4");
		return -ENOSYS;
	}
	http = calloc(1, sizeof(*http));
	if (http)
		http->multi = library.multi_init();
	if (!http || !http->multi) {
		free(http);
		return PERCH__NO_MEMORY(err, "to send windows");
	}
	*result = http;
	return 0;
}

void push_http_free(struct push_http *http)
{
	if (!http)
		return;
	library.multi_cleanup(http->multi);
	free(http);
}

/* ---- what libcurl calls ---- */

static size_t give_body(char *buffer, size_t size, size_t nr, void *context)
{
	struct push_request *request = context;
	size_t rest = request->size - request->given, bytes = size * nr;

	if (bytes >= rest) {
		bytes = rest;
		if (rest && request->before_last && request->before_last(request->context))
			return CURL_READFUNC_ABORT;
		request->all_sent = true;
	}
	memcpy(buffer, (const char *)request->body + request->given, bytes);
	request->given += bytes;
	return bytes;
}

/* Another number than that of the bytes ends the request. Its code is there by then. */
static size_t take_answer(char *bytes, size_t size, size_t nr, void *context)
{
	struct push_request *request = context;
	size_t have = request->answer_size, length = size * nr;

	if (length > PUSH_ANSWER_MAX - have) {
		memcpy(request->answer + have, bytes, PUSH_ANSWER_MAX - have);
		request->answer_size = PUSH_ANSWER_MAX;
		return 0;
	}
	memcpy(request->answer + have, bytes, length);
	request->answer_size += length;
	return length;
}

/* Returns true, and the value without blanks around it, if the line has this name. */
static bool header_is(const char *line, size_t size, const char *name, const char **value,
		      size_t *length)
{
	size_t name_length = strlen(name);

	if (size <= name_length || strncasecmp(line, name, name_length) || line[name_length] != ':')
		return false;
	*value = line + name_length + 1;
	*length = size - name_length - 1;
	while (*length && strchr(" \t", **value) && **value)
		(*value)++, (*length)--;
	while (*length && strchr(" \t\r\n", (*value)[*length - 1]) && (*value)[*length - 1])
		(*length)--;
	return true;
}

static size_t take_header(char *line, size_t size, size_t nr, void *context)
{
	struct push_request *request = context;
	const char *value;
	size_t length, bytes = size * nr;

	request->head_size += bytes;
	if (request->head_size > HEAD_MAX)
		return 0;
	if (header_is(line, bytes, "Retry-After", &value, &length) &&
	    length < PUSH_RETRY_AFTER_MAX) {
		memcpy(request->retry_after, value, length);
		request->retry_after[length] = 0;
	}
	if (header_is(line, bytes, "Content-Type", &value, &length))
		request->is_protobuf = memmem(value, length, "proto", 5);
	return bytes;
}

/* ---- a request ---- */

/* Reads the first line of a file of a secret. Returns a reason, or NULL. */
static const char *read_secret(const char *path, char *secret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	ssize_t got = -1;

	if (fd < 0)
		return strerror(errno);
	if (!fstat(fd, &status) && S_ISREG(status.st_mode))
		got = perch__read_upto(fd, secret, SECRET_MAX - 1);
	close(fd);
	if (got < 0)
		return "it cannot be read";
	secret[got] = 0;
	secret[strcspn(secret, "\r\n")] = 0;
	if (!*secret)
		return "it is empty";
	for (const char *at = secret; *at; at++)
		if (*at < ' ' || *at > '~')
			return "it has characters that are not printable";
	return NULL;
}

static bool add_header(struct push_request *request, const char *text)
{
	struct curl_slist *longer = library.slist_append(request->headers, text);

	if (longer)
		request->headers = longer;
	return longer;
}

static bool add_headers(struct push_request *request)
{
	static const char *const of_kind[][2] = {
		/* the second: the numbers of fields are those of 1.10; a Collector since 0.163
		 * refuses others before it would misread them */
		[AGENT_PUSH_OTLP] = { "Content-Type: application/x-protobuf",
				      "otlp-profiles-development-version: 1" },
		[AGENT_PUSH_PYROSCOPE] = { "Content-Type: application/proto",
					   "Connect-Protocol-Version: 1" },
	};
	const struct agent_push_target *target = request->target;
	/* libcurl would wait for an answer before it sends a large body */
	bool ok = add_header(request, "Expect:");

	for (size_t i = 0; i < 2 && of_kind[target->kind][i]; i++)
		ok = ok && add_header(request, of_kind[target->kind][i]);
	if (request->gzip)
		ok = ok && add_header(request, "Content-Encoding: gzip");
	for (size_t i = 0; i < target->nr_headers; i++)
		ok = ok && add_header(request, target->header[i]);
	return ok;
}

/* Returns 0, or -1 with a reason. */
static int add_authorization(struct push_request *request)
{
	const struct agent_push_target *target = request->target;
	const char *file = target->token_file ? target->token_file : target->basic_file, *wrong;
	char *secret, header[SECRET_MAX + 64];
	bool ok = false;

	if (!file)
		return 0;
	secret = malloc(SECRET_MAX);
	wrong = secret ? read_secret(file, secret) : "no memory";
	if (wrong) {
		snprintf(request->reason, sizeof(request->reason), "%s: %s", file, wrong);
	} else if (target->token_file) {
		snprintf(header, sizeof(header), "Authorization: Bearer %s", secret);
		ok = add_header(request, header);
	} else {
		ok = !library.easy_setopt(request->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC) &&
		     !library.easy_setopt(request->easy, CURLOPT_USERPWD, secret);
	}
	explicit_bzero(header, sizeof(header));
	if (secret)
		explicit_bzero(secret, SECRET_MAX);
	free(secret);
	return ok ? 0 : -1;
}

static bool set_protocols(CURL *easy)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	return !library.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	return !library.easy_setopt(easy, CURLOPT_PROTOCOLS,
				    (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static bool set_options(struct push_request *request)
{
	const struct agent_push_target *target = request->target;
	const struct {
		CURLoption option;
		const void *value;
	} pointers[] = {
		{ CURLOPT_URL, target->url },
		{ CURLOPT_PRIVATE, request },
		{ CURLOPT_READDATA, request },
		{ CURLOPT_WRITEDATA, request },
		{ CURLOPT_HEADERDATA, request },
		{ CURLOPT_HTTPHEADER, request->headers },
		{ CURLOPT_USERAGENT, request->user_agent },
		/* without a body nothing would be read, and libcurl would wait for it */
		{ CURLOPT_POSTFIELDS, request->size ? NULL : "" },
		{ CURLOPT_CAINFO, target->ca_file },
		{ CURLOPT_SSLCERT, target->cert_file },
		{ CURLOPT_SSLKEY, target->key_file },
	};
	const struct {
		CURLoption option;
		long value;
	} numbers[] = {
		{ CURLOPT_POST, 1 },
		{ CURLOPT_NOSIGNAL, 1 },
		{ CURLOPT_FOLLOWLOCATION, 0 },
		{ CURLOPT_TIMEOUT_MS, request->timeout },
		{ CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS },
		{ CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1 },
		/* libcurl sends a request again if the server closes an idle connection; whether
		 * the server has the first one is not known then */
		{ CURLOPT_FORBID_REUSE, 1 },
		{ CURLOPT_FRESH_CONNECT, 1 },
	};
	bool ok = set_protocols(request->easy);

	for (size_t i = 0; i < PERCH__NR(numbers); i++)
		ok = ok && !library.easy_setopt(request->easy, numbers[i].option, numbers[i].value);
	for (size_t i = 0; i < PERCH__NR(pointers); i++)
		if (pointers[i].value)
			ok = ok && !library.easy_setopt(request->easy, pointers[i].option,
							pointers[i].value);
	/* a request that ends does not wait until a server of names has answered; before libcurl
	 * 7.87 it does, for up to a minute */
	(void)library.easy_setopt(request->easy, (CURLoption)QUICK_EXIT, 1L);
	return ok &&
	       !library.easy_setopt(request->easy, CURLOPT_POSTFIELDSIZE_LARGE,
				    (curl_off_t)request->size) &&
	       !library.easy_setopt(request->easy, CURLOPT_READFUNCTION, give_body) &&
	       !library.easy_setopt(request->easy, CURLOPT_WRITEFUNCTION, take_answer) &&
	       !library.easy_setopt(request->easy, CURLOPT_HEADERFUNCTION, take_header);
}

static void clear_request(struct push_request *request)
{
	if (request->easy)
		library.easy_cleanup(request->easy);
	library.slist_free_all(request->headers);
	request->easy = request->headers = NULL;
}

void push_http_start(struct push_http *http, struct push_request *request)
{
	request->ended = request->all_sent = request->is_protobuf = false;
	request->code = 0;
	request->retry_after[0] = request->reason[0] = 0;
	request->answer_size = request->given = request->head_size = 0;
	request->headers = NULL;
	request->easy = library.easy_init();
	if (request->easy && add_headers(request) && !add_authorization(request) &&
	    set_options(request) && !library.multi_add_handle(http->multi, request->easy))
		return;
	if (!request->reason[0])
		snprintf(request->reason, sizeof(request->reason),
			 "libcurl does not take the request");
	clear_request(request);
	request->ended = true;
}

static void end_request(struct push_http *http, struct push_request *request, CURLcode result)
{
	long code = 0;

	library.easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &code);
	/* a code of the answer counts, also if its body was too long or too slow; 1xx is none */
	if (code >= 200 && code <= 999)
		request->code = (int)code;
	else
		snprintf(request->reason, sizeof(request->reason), "%s",
			 result ? library.easy_strerror(result) : "the answer is no HTTP");
	library.multi_remove_handle(http->multi, request->easy);
	clear_request(request);
	request->ended = true;
}

void push_http_cancel(struct push_http *http, struct push_request *request)
{
	if (request->easy)
		end_request(http, request, CURLE_ABORTED_BY_CALLBACK);
}

void push_http_run(struct push_http *http, int timeout)
{
	int running, rest;
	CURLMsg *message;
	bool ended = false;

	library.multi_perform(http->multi, &running);
	while ((message = library.multi_info_read(http->multi, &rest))) {
		void *request = NULL;
		CURLcode result = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		library.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
		if (request)
			end_request(http, request, result);
		ended = true;
	}
	if (!ended)
		library.multi_poll(http->multi, NULL, 0, timeout, NULL);
}

void push_http_wake(struct push_http *http)
{
	library.multi_wakeup(http->multi);
}
