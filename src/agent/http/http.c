/* SPDX-License-Identifier: MIT */
/*
 * The server: reads requests, and writes answers, by libmicrohttpd in the agent's own loop. A
 * request for a profile waits until its time has passed and a child has made it. When connections
 * run out, the oldest one that has sent no whole request ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "http.h"

#define MOST_CONNECTIONS 16
#define MOST_WAITING	 8    /* requests for profiles */
#define MOST_HEADERS	 4096 /* bytes of a request */
#define TIMEOUT_SECONDS	 10   /* without a byte */
#define MOST_SECONDS	 30   /* of a connection, beside the time that it was made to wait */

struct connection {
	struct MHD_Connection *handle; /* NULL: free */
	int fd;
	uint64_t since; /* ns; when it must have ended: later by MOST_SECONDS */
	bool asked;	/* it has sent a whole request */
	bool closed;
};

/* A request that waits for a profile. */
struct request {
	struct connection *connection; /* NULL: it has ended */
	struct agent_answer answer;
	uint64_t to; /* number of the slice after the last one; 0: not yet */
	enum { WAITS, IS_MADE, IS_DONE } state;
	int fd; /* of the profile */
};

struct agent_http {
	const struct agent_http_library *library;
	struct MHD_Daemon *daemon;
	struct agent *agent;
	struct connection connection[MOST_CONNECTIONS];
	struct request *waiting[MOST_WAITING];
	int listening, epoll;
	bool local;
	bool closing; /* no request waits any more: the library ends the process if one does */
};

/* ---- answers ---- */

static enum MHD_Result send_response(const struct agent_http *http, struct MHD_Connection *handle,
				     const struct agent_answer *answer,
				     struct MHD_Response *response)
{
	const struct agent_http_library *library = http->library;
	enum MHD_Result result;
	char disposition[128];

	if (!response)
		return MHD_NO;
	library->add_header(response, "Content-Type", answer->type);
	library->add_header(response, "X-Content-Type-Options", "nosniff");
	library->add_header(response, "Cache-Control", "no-store");
	if (answer->status == 405)
		library->add_header(response, "Allow", "GET, HEAD");
	if (answer->status == 401)
		library->add_header(response, "WWW-Authenticate", "Bearer");
	if (answer->status == 429 || answer->status == 503)
		library->add_header(response, "Retry-After", "5");
	if (answer->file && answer->status == 200) {
		snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"",
			 answer->file);
		library->add_header(response, "Content-Disposition", disposition);
	}
	if (answer->refresh && answer->refresh[0] &&
	    strspn(answer->refresh, "0123456789") == strlen(answer->refresh) &&
	    strlen(answer->refresh) < 6)
		library->add_header(response, "Refresh", answer->refresh);
	result = library->queue_response(handle, answer->status, response);
	library->destroy_response(response);
	return result;
}

/* Takes the text. */
static enum MHD_Result send_text(const struct agent_http *http, struct MHD_Connection *handle,
				 struct agent_answer *answer)
{
	struct MHD_Response *response = http->library->response_of_buffer(
		answer->size, answer->text, MHD_RESPMEM_MUST_FREE);

	if (!response)
		free(answer->text);
	answer->text = NULL;
	return send_response(http, handle, answer, response);
}

static enum MHD_Result send_refusal(const struct agent_http *http, struct MHD_Connection *handle,
				    unsigned status, const char *text)
{
	struct agent_answer answer = { .status = status };

	return agent_http_text(&answer, status, "%s\n", text) ? send_text(http, handle, &answer)
							      : MHD_NO;
}

/* Takes the descriptor of the request. */
static enum MHD_Result send_profile(const struct agent_http *http, struct MHD_Connection *handle,
				    struct request *request)
{
	struct MHD_Response *response;
	struct stat stat;
	int fd = request->fd;

	request->fd = -1;
	if (fd < 0 || fstat(fd, &stat)) {
		if (fd >= 0)
			close(fd);
		return send_refusal(http, handle, 503, "the profile could not be made");
	}
	if (request->answer.status != 200)
		request->answer.type = "text/plain; charset=utf-8";
	response = http->library->response_of_fd((size_t)stat.st_size, fd);
	if (!response)
		close(fd);
	return send_response(http, handle, &request->answer, response);
}

/* ---- requests that wait ---- */

static void discard_waiting(struct agent_http *http, const struct request *request)
{
	for (size_t i = 0; i < MOST_WAITING; i++)
		if (http->waiting[i] == request)
			http->waiting[i] = NULL;
}

static void profile_is_made(struct agent *agent, struct agent_job *job, bool ok)
{
	struct request *request = job->context;

	if (!request->connection) {
		free(request);
		return;
	}
	request->state = IS_DONE;
	request->fd = job->fd;
	job->fd = -1;
	if (!ok)
		request->answer.status = 503;
	request->connection->since = agent_now();
	discard_waiting(agent->http, request);
	agent->http->library->resume(request->connection->handle);
}

/* The answer is that there is no profile. */
static void give_up(struct agent_http *http, struct request *request)
{
	request->state = IS_DONE;
	discard_waiting(http, request);
	http->library->resume(request->connection->handle);
}

/* libmicrohttpd does not look at connections that wait. */
static bool has_hung_up(const struct connection *connection)
{
	struct pollfd poll_fd = { connection->fd, POLLRDHUP, 0 };

	return poll(&poll_fd, 1, 0) > 0;
}

static void make_profile(struct agent *agent, struct request *request)
{
	int rc;

	if (!request->to)
		request->to = agent_boundary(agent, request->answer.from);
	/* a window that is due has the next place, or there would be none among many requests */
	if (agent->nr_jobs + agent_send_is_due(agent) >= AGENT_MOST_JOBS)
		return; /* again in the next round */
	rc = agent_job_start(agent, request->answer.kind, request->answer.from, request->to,
			     request->answer.cgroup, profile_is_made, request);
	if (rc < 0) {
		give_up(agent->http, request);
		return;
	}
	request->state = IS_MADE;
}

static enum MHD_Result wait_for_profile(struct agent_http *http, struct connection *connection,
					const struct agent_answer *answer, void **state)
{
	struct request **free_slot = NULL, *request;

	for (size_t i = 0; i < MOST_WAITING && !free_slot; i++)
		if (!http->waiting[i])
			free_slot = &http->waiting[i];
	if (http->closing)
		return send_refusal(http, connection->handle, 503, "the agent ends");
	if (!free_slot)
		return send_refusal(http, connection->handle, 429,
				    "too many profiles are being made: try again later");
	request = calloc(1, sizeof(*request));
	if (!request)
		return MHD_NO;
	*request = (struct request){ .connection = connection, .answer = *answer, .fd = -1 };
	if (answer->from_now)
		request->answer.from = agent_boundary(http->agent, 0);
	*free_slot = *state = request;
	connection->since = answer->due;
	http->library->suspend(connection->handle);
	return MHD_YES;
}

/* ---- requests ---- */

static const char *get_value(void *context, const char *name, bool header)
{
	const struct connection *connection = context;
	const char *value;

	if (agent_http_load(NULL)->lookup(connection->handle,
					  header ? MHD_HEADER_KIND : MHD_GET_ARGUMENT_KIND, name,
					  strlen(name), &value, NULL) != MHD_YES)
		return NULL;
	return value ? value : "";
}

static enum MHD_Result answer(struct agent_http *http, struct connection *connection,
			      const char *path, const char *method, void **state)
{
	struct agent_answer answer = { .status = 200 };
	const char *reason;
	unsigned status = agent_http_refusal(http->agent->options->token, method, get_value,
					     connection, &reason);

	connection->asked = true;
	if (status)
		return send_refusal(http, connection->handle, status, reason);
	if (!agent_http_answer(http->agent, path, get_value, connection, &answer))
		return MHD_NO;
	if (!answer.text && !strcmp(method, "HEAD"))
		answer.text = strdup("");
	if (answer.text)
		return send_text(http, connection->handle, &answer);
	return wait_for_profile(http, connection, &answer, state);
}

static enum MHD_Result take_request(void *context, struct MHD_Connection *handle, const char *path,
				    const char *method, const char *version, const char *body,
				    size_t *size, void **state)
{
	struct agent_http *http = context;
	const union MHD_ConnectionInfo *info =
		http->library->get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct request *request = *state;

	(void)version, (void)body;
	if (!info || !info->socket_context || *size)
		return MHD_NO; /* no request here has a body */
	if (request && request->state == IS_DONE)
		return send_profile(http, handle, request);
	if (request)
		return MHD_YES;
	return answer(http, info->socket_context, path, method, state);
}

static void end_request(void *context, struct MHD_Connection *handle, void **state,
			enum MHD_RequestTerminationCode code)
{
	struct agent_http *http = context;
	const union MHD_ConnectionInfo *info =
		http->library->get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *connection = info ? info->socket_context : NULL;
	struct request *request = *state;

	(void)code;
	*state = NULL;
	if (connection) {
		connection->asked = false;
		connection->since = agent_now();
	}
	if (!request)
		return;
	discard_waiting(http, request);
	request->connection = NULL;
	if (request->fd >= 0)
		close(request->fd);
	request->fd = -1;
	if (request->state != IS_MADE)
		free(request);
}

/* ---- connections ---- */

static void close_connection(struct connection *connection)
{
	connection->closed = true;
	shutdown(connection->fd, SHUT_RDWR);
}

/* There is always a free connection, so that no idle ones keep others out. */
static void make_space(struct agent_http *http)
{
	struct connection *oldest = NULL;
	size_t used = 0;

	for (size_t i = 0; i < MOST_CONNECTIONS; i++) {
		struct connection *connection = &http->connection[i];

		if (!connection->handle || connection->closed)
			continue;
		used++;
		if (!connection->asked && (!oldest || connection->since < oldest->since))
			oldest = connection;
	}
	if (used >= MOST_CONNECTIONS - 2 && oldest)
		close_connection(oldest);
}

static void notice(void *context, struct MHD_Connection *handle, void **socket_context,
		   enum MHD_ConnectionNotificationCode code)
{
	struct agent_http *http = context;
	struct connection *connection = *socket_context;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (connection)
			connection->handle = NULL;
		return;
	}
	make_space(http);
	for (size_t i = 0; i < MOST_CONNECTIONS; i++) {
		connection = &http->connection[i];
		if (connection->handle)
			continue;
		*connection = (struct connection){
			.handle = handle,
			.since = agent_now(),
			.fd = http->library
				      ->get_connection_info(handle,
							    MHD_CONNECTION_INFO_CONNECTION_FD)
				      ->connect_fd,
		};
		*socket_context = connection;
		return;
	}
}

/* A client that takes its answer a byte at a time ends, too. */
static void close_late(struct agent_http *http)
{
	uint64_t now = agent_now();

	for (size_t i = 0; i < MOST_CONNECTIONS; i++) {
		struct connection *connection = &http->connection[i];

		if (connection->handle && !connection->closed && now > connection->since &&
		    now - connection->since > MOST_SECONDS * 1000000000ull)
			close_connection(connection);
	}
}

/* ---- the server ---- */

static void no_log(void *context, const char *format, va_list arguments)
{
	(void)context, (void)format, (void)arguments;
}

static int start_daemon(struct agent_http *http, struct perch_error *err)
{
	const union MHD_DaemonInfo *info;

	http->daemon = http->library->start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		take_request, http, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, http->listening, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)(MOST_HEADERS + 2048), MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)1024,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_SECONDS,
		MHD_OPTION_NOTIFY_CONNECTION, notice, http, MHD_OPTION_NOTIFY_COMPLETED,
		end_request, http, MHD_OPTION_END);
	info = http->daemon ? http->library->get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)
			    : NULL;
	if (!info)
		return perch_error_set(err, ENOTSUP, PERCH_ERROR_SYSTEM,
				       "libmicrohttpd cannot start a server");
	http->epoll = info->epoll_fd;
	return 0;
}

int agent_http_open(struct agent *agent, struct perch_error *err)
{
	struct agent_http *http = calloc(1, sizeof(*http));
	bool local;

	if (!http)
		return PERCH__NO_MEMORY(err, "for the server");
	agent->http = http;
	http->agent = agent;
	http->listening = http->epoll = -1;
	http->library = agent_http_load(err);
	if (!http->library)
		return -ENOENT;
	http->listening = agent_http_listen(agent->options->listen, &local, err);
	if (http->listening < 0)
		return http->listening;
	if (!local && !agent->options->token) {
		perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				"--listen %s: other machines reach it, and would read profiles",
				agent->options->listen);
		perch_error_remedy(err, "give a secret by --token-file, or use 127.0.0.1");
		return -EINVAL;
	}
	return start_daemon(http, err);
}

void agent_http_close(struct agent *agent)
{
	struct agent_http *http = agent->http;

	if (!http)
		return;
	http->closing = true;
	for (size_t i = 0; i < MOST_WAITING; i++)
		if (http->waiting[i])
			give_up(http, http->waiting[i]);
	if (http->daemon) {
		http->library->run(http->daemon);
		http->library->stop_daemon(http->daemon); /* closes the socket, too */
	} else if (http->listening >= 0) {
		close(http->listening);
	}
	free(http);
	agent->http = NULL;
}

int agent_http_fd(const struct agent *agent, int *ms)
{
	MHD_UNSIGNED_LONG_LONG timeout;

	if (!agent->http)
		return -1;
	if (agent->http->library->get_timeout(agent->http->daemon, &timeout) == MHD_YES &&
	    timeout < (unsigned)*ms)
		*ms = (int)timeout;
	return agent->http->epoll;
}

void agent_http_run(struct agent *agent)
{
	struct agent_http *http = agent->http;

	if (!http)
		return;
	for (size_t i = 0; i < MOST_WAITING; i++) {
		struct request *request = http->waiting[i];

		if (!request)
			continue;
		if (request->state == WAITS && has_hung_up(request->connection)) {
			give_up(http, request);
			continue;
		}
		if (agent_now() < request->answer.due)
			continue;
		request->connection->since = agent_now(); /* it is not the client that is late */
		if (request->state == WAITS)
			make_profile(agent, request);
	}
	close_late(http);
	http->library->run(http->daemon);
}
