/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/library.h"
#include "base/nr.h"
#include "http.h"

#define LIBRARY "libmicrohttpd.so.12"

const struct agent_http_library *agent_http_load(struct perch_error *err)
{
	static struct agent_http_library library;
	static const struct perch__function functions[] = {
		{ "MHD_start_daemon", &library.start_daemon },
		{ "MHD_stop_daemon", &library.stop_daemon },
		{ "MHD_run", &library.run },
		{ "MHD_get_timeout", &library.get_timeout },
		{ "MHD_get_daemon_info", &library.get_daemon_info },
		{ "MHD_get_connection_info", &library.get_connection_info },
		{ "MHD_create_response_from_buffer", &library.response_of_buffer },
		{ "MHD_create_response_from_fd", &library.response_of_fd },
		{ "MHD_add_response_header", &library.add_header },
		{ "MHD_queue_response", &library.queue_response },
		{ "MHD_destroy_response", &library.destroy_response },
		{ "MHD_lookup_connection_value_n", &library.lookup },
		{ "MHD_suspend_connection", &library.suspend },
		{ "MHD_resume_connection", &library.resume },
	};

	if (perch__load_library(LIBRARY, functions, PERCH__NR(functions)))
		return &library;
	perch_error_set(err, ENOENT, PERCH_ERROR_FILE, "--listen needs libmicrohttpd: %s",
			dlerror());
	perch_error_remedy(err, "Install the package libmicrohttpd12 or libmicrohttpd12t64, which "
				"has " LIBRARY);
	return NULL;
}
