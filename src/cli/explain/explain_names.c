/* SPDX-License-Identifier: MIT */
/* Names of errnos, for output and for logs: C libraries tell the text of an errno, and not all of
 * them the name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "options.h"

/* clang-format off */
#define NAMED(name) { #name, name }
/* clang-format on */

static const struct {
	const char *name;
	int errnum;
} names[] = {
	NAMED(EPERM),
	NAMED(ENOENT),
	NAMED(ESRCH),
	NAMED(EINTR),
	NAMED(EIO),
	NAMED(ENXIO),
	NAMED(E2BIG),
	NAMED(ENOEXEC),
	NAMED(EBADF),
	NAMED(ECHILD),
	NAMED(EAGAIN),
	NAMED(ENOMEM),
	NAMED(EACCES),
	NAMED(EFAULT),
	NAMED(ENOTBLK),
	NAMED(EBUSY),
	NAMED(EEXIST),
	NAMED(EXDEV),
	NAMED(ENODEV),
	NAMED(ENOTDIR),
	NAMED(EISDIR),
	NAMED(EINVAL),
	NAMED(ENFILE),
	NAMED(EMFILE),
	NAMED(ENOTTY),
	NAMED(ETXTBSY),
	NAMED(EFBIG),
	NAMED(ENOSPC),
	NAMED(ESPIPE),
	NAMED(EROFS),
	NAMED(EMLINK),
	NAMED(EPIPE),
	NAMED(EDOM),
	NAMED(ERANGE),
	NAMED(EDEADLK),
	NAMED(ENAMETOOLONG),
	NAMED(ENOLCK),
	NAMED(ENOSYS),
	NAMED(ENOTEMPTY),
	NAMED(ELOOP),
	NAMED(ENOMSG),
	NAMED(EIDRM),
	NAMED(ENODATA),
	NAMED(ETIME),
	NAMED(EREMOTE),
	NAMED(ENOLINK),
	NAMED(EPROTO),
	NAMED(EBADMSG),
	NAMED(EOVERFLOW),
	NAMED(EBADFD),
	NAMED(EILSEQ),
	NAMED(ERESTART),
	NAMED(EUSERS),
	NAMED(ENOTSOCK),
	NAMED(EDESTADDRREQ),
	NAMED(EMSGSIZE),
	NAMED(ENOPROTOOPT),
	NAMED(EPROTONOSUPPORT),
	NAMED(EOPNOTSUPP),
	NAMED(EPFNOSUPPORT),
	NAMED(EAFNOSUPPORT),
	NAMED(EADDRINUSE),
	NAMED(EADDRNOTAVAIL),
	NAMED(ENETDOWN),
	NAMED(ENOBUFS),
	NAMED(EISCONN),
	NAMED(ENOTCONN),
	NAMED(ETIMEDOUT),
	NAMED(ECONNREFUSED),
	NAMED(EALREADY),
	NAMED(EINPROGRESS),
	NAMED(ESTALE),
	NAMED(EDQUOT),
	NAMED(ECANCELED),
	NAMED(EOWNERDEAD),
	NAMED(ENOTRECOVERABLE),
	NAMED(ERFKILL),
	NAMED(EHWPOISON),
	{ "ENOTSUPP", 524 }, /* the kernel's own, which escapes from probes and BPF */
	{ "EWOULDBLOCK", EWOULDBLOCK },
	{ "ENOTSUP", ENOTSUP },
	{ "EDEADLOCK", EDEADLOCK },
};

const char *explain_format_errno(int errnum, char *buffer, size_t size)
{
	for (size_t i = 0; i < CLI_NR(names); i++)
		if (names[i].errnum == errnum)
			return names[i].name;
	snprintf(buffer, size, "errno %d", errnum);
	return buffer;
}

int explain_parse_errno(const char *name, size_t length)
{
	for (size_t i = 0; i < CLI_NR(names); i++)
		if (strlen(names[i].name) == length && !memcmp(names[i].name, name, length))
			return names[i].errnum;
	return 0;
}
