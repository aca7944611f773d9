/* SPDX-License-Identifier: MIT */
/**
 * @file
 * A channel of commands, as that of perf's option --control: another program, or the measured one,
 * says when events are enabled and disabled.
 *
 * A client writes a command and a newline, and reads "ack\n" and a zero byte, as from perf. A
 * command that is not known, or that fails, is answered by "error: " with the reason, a newline
 * and a zero byte, so each command has one answer. The commands are:
 *
 *	enable [EVENT]		all events, or the one of this name
 *	disable [EVENT]
 *	evlist [-v|-g|-F]	lists the events
 *	snapshot		writes what is recorded
 *	ping			only an answer
 *	stop			ends the measurement
 *
 *	while ((rc = perch_channel_next(channel, &request, &err)))
 *		if (rc > 0)
 *			perch_channel_answer(channel, carry_out(&request, &err) < 0 ? &err : NULL);
 *
 * Threads: one thread per channel at a time.
 *
 * Fork: a child can close its copy.
 *
 * Signals: no function is async-signal-safe. Writing an answer raises no SIGPIPE.
 */
#ifndef PERCH_CHANNEL_H
#define PERCH_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A channel. */
struct perch_channel;

/** What a client asks for. */
enum perch_channel_command {
	PERCH_CHANNEL_ENABLE,	/**< enable events */
	PERCH_CHANNEL_DISABLE,	/**< disable events */
	PERCH_CHANNEL_EVLIST,	/**< print the events */
	PERCH_CHANNEL_SNAPSHOT, /**< write what is recorded */
	PERCH_CHANNEL_PING,	/**< nothing */
	PERCH_CHANNEL_STOP,	/**< end */
};

/** A command of a client. */
struct perch_channel_request {
	enum perch_channel_command command; /**< the command */
	/** Of enable and disable: the name of the event, not trusted, valid until the next call
	 * with the channel. NULL: all events. */
	const char *event;
	bool verbose;	      /**< evlist -v: all fields of the attrs */
	bool groups;	      /**< evlist -g: groups in one line */
	bool frequency;	      /**< evlist -F: the frequency or the period */
	uint64_t reserved[4]; /**< for members of later versions */
};

/**
 * Opens a channel.
 *
 * @param[out] channel  the new channel; NULL after a failure
 * @param text          "fd:CTL", "fd:CTL,ACK": open descriptors, which stay open at the end;
 *                      "fifo:CTL[,ACK]", or a path that has a slash: named pipes that exist.
 *                      Commands come from the first one, answers go to the second one; without
 *                      it there are none.
 * @param[out] err      the reason of a failure; may be NULL
 * @return 0, or a negative errno
 * @retval -EINVAL      the text has another form, or a name is of a regular file
 */
PERCH_API int perch_channel_open(struct perch_channel **channel, const char *text,
				 struct perch_error *err);

/** Frees the channel; NULL is allowed. */
PERCH_API void perch_channel_close(struct perch_channel *channel);

/** Returns the descriptor that becomes readable when there are commands, or -1 if all clients have
 * closed it, or it cannot be read. */
PERCH_API int perch_channel_fd(const struct perch_channel *channel);

/**
 * Takes the next command, and does not wait for one. A command ends with a newline or a zero byte,
 * or, if it is one word, when there are no more bytes. Wrong commands are answered.
 *
 * Call this until it returns 0: commands that were read make the descriptor readable no more. A
 * client that writes all the time does not prevent that 0; the descriptor is then still readable.
 *
 * @param channel       the channel
 * @param[out] request  the command, which needs an answer
 * @param[out] err      a wrong command, or why it cannot be read; may be NULL
 * @return 1 if there was a command, 0 if there is none, or a negative errno
 * @retval -EINVAL      a wrong command, which was answered. There may be more.
 */
PERCH_API int perch_channel_next(struct perch_channel *channel,
				 struct perch_channel_request *request, struct perch_error *err);

/**
 * Answers the command that was taken last.
 *
 * @param channel  the channel
 * @param why      why the command has failed; NULL: it has succeeded
 * @return 0, also if the client wants no answers, or a negative errno: the client gets none
 * @retval -EAGAIN the client does not read its answers
 */
PERCH_API int perch_channel_answer(struct perch_channel *channel, const struct perch_error *why);

#ifdef __cplusplus
}
#endif

#endif
