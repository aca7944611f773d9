/* SPDX-License-Identifier: MIT */
/* Parts of perch agent --push: targets, times, and the requests of Pyroscope. */
#define _GNU_SOURCE
#include "agent/push/push_answer.h"
#include "agent_push_fixture.h"

static void parses_targets(void **state)
{
	static const struct {
		const char *text, *url, *name;
		enum agent_push_kind kind;
	} cases[] = {
		{ "http://a", "http://a/v1development/profiles", "http://a/v1development/profiles",
		  AGENT_PUSH_OTLP },
		{ "otlp+https://a:4318/", "https://a:4318/v1development/profiles",
		  "https://a:4318/v1development/profiles", AGENT_PUSH_OTLP },
		{ "https://a/x?key=secret", "https://a/x?key=secret", "https://a/x",
		  AGENT_PUSH_OTLP },
		{ "pyroscope+http://[::1]:4040", "http://[::1]:4040/push.v1.PusherService/Push",
		  "http://[::1]:4040/push.v1.PusherService/Push", AGENT_PUSH_PYROSCOPE },
	};
	static const char *const wrong[] = {
		"",
		"a",
		"ftp://a",
		"http://",
		"http:///x",
		"http://user:word@a",
		"http://a b",
		"http://a\n",
		"http://a#x",
		"http://a,",
		"http://a,x",
		"http://a,x=y",
		"http://a,token-file=",
		"http://a,token-file=x,basic-file=y",
		"http://a,header=x",
		"http://a,header=: x",
		"http://a,header=A b: x",
		"http://a,header=A: \r\nB: c",
		"http://a,header=authorization: x",
		"http://a,header=Content-length: 0",
		"grpc+http://a",
	};
	struct agent_push_target target;
	struct perch_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(agent_push_target_parse(&target, cases[i].text, &err), 0);
		assert_int_equal(target.kind, cases[i].kind);
		assert_string_equal(target.url, cases[i].url);
		assert_string_equal(target.name, cases[i].name);
		agent_push_target_clear(&target);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		print_message("case %zu\n", i);
		err.message[0] = 0;
		assert_int_equal(agent_push_target_parse(&target, wrong[i], &err), -EINVAL);
		assert_true(err.message[0]);
		assert_null(target.url);
	}
	assert_int_equal(agent_push_target_parse(&target,
						 "https://a,ca-file=c,cert-file=d,key-file=e,"
						 "basic-file=b,header=A: b,header=C: d",
						 &err),
			 0);
	assert_string_equal(target.ca_file, "c");
	assert_string_equal(target.cert_file, "d");
	assert_string_equal(target.key_file, "e");
	assert_string_equal(target.basic_file, "b");
	assert_int_equal(target.nr_headers, 2);
	assert_string_equal(target.header[1], "C: d");
	agent_push_target_clear(&target);
}

/* Counters of two targets are never the same series. */
static void numbers_targets(void **state)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{ "http://a/x?key=1", "http://a/x" },	      { "http://a/xy", "http://a/xy" },
		{ "http://a/x?key=2", "http://a/x (2)" },     { "http://b/x", "http://b/x" },
		{ "pyroscope+http://a/x", "http://a/x (3)" },
	};
	struct agent_push_target target[sizeof(cases) / sizeof(*cases)];
	struct perch_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(agent_push_target_parse(&target[i], cases[i].text, &err), 0);
		assert_int_equal(agent_push_target_number(target, i + 1, &err), 0);
		assert_string_equal(target[i].name, cases[i].name);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		agent_push_target_clear(&target[i]);
}

static void parses_retry_after(void **state)
{
	/* 784111777 is the time of RFC 9110's example */
	static const struct {
		const char *text;
		int64_t seconds;
	} cases[] = {
		{ "0", 0 },
		{ "120", 120 },
		{ "99999999999999999999999", 1000000000 },
		{ "Sun, 06 Nov 1994 08:49:37 GMT", 777 },
		{ "Sunday, 06-Nov-94 08:49:37 GMT", 777 },
		{ "Sun Nov  6 08:49:37 1994", 777 },
		{ "Sun, 06 Nov 1994 08:36:40 GMT", 0 },
		{ "Sun, 06 Nov 1990 08:36:40 GMT", 0 },
		{ "Sun, 06 Nov 9999 08:36:40 GMT", 1000000000 },
		{ "", -1 },
		{ "-1", -1 },
		{ "1.5", -1 },
		{ "1 ", -1 },
		{ "Sun", -1 },
		{ "Sun,", -1 },
		{ "Sun, 06 Nov 1994 08:49:37", -1 },
		{ "Sun, 06 Nov 1994 08:49:37 GMT ", -1 },
		{ "Sun, 06 Non 1994 08:49:37 GMT", -1 },
		{ "Sun, 06 Nov 1994 24:49:37 GMT", -1 },
		{ "Sun, 00 Nov 1994 08:49:37 GMT", -1 },
		{ "soon", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		print_message("case %zu\n", i);
		assert_int_equal(agent_push_retry_after(cases[i].text, 784111777 - 777),
				 cases[i].seconds);
	}
}

/* All of the range is used, and its middle is the time. */
static void jitters(void **state)
{
	uint64_t least = UINT64_MAX, most = 0;
	double sum = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		uint64_t ns = agent_push_jitter(15 * SECOND);

		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
		sum += (double)ns;
	}
	assert_in_range(least, 12 * SECOND, 12 * SECOND + SECOND / 10);
	assert_in_range(most, 18 * SECOND - SECOND / 10, 18 * SECOND);
	assert_in_range((uint64_t)(sum / 10000), 149 * SECOND / 10, 151 * SECOND / 10);
	assert_int_equal(agent_push_jitter(0), 0);
	for (int i = 0; i < 1000; i++)
		assert_in_range(agent_push_first(15 * SECOND), 3 * SECOND, 18 * SECOND);
}

/* The bytes of a request, written by hand from Pyroscope's push.proto. */
static void makes_pyroscope_request(void **state)
{
	/* the last label of a name counts, as a server sees it; the kind of the profile stays */
	static const struct agent_pyroscope_label labels[] = { { "service.name", "unknown" },
							       { "service-name", "shops" },
							       { "--name--", "other" },
							       { "service_name", "shop" } };
	const struct agent_pyroscope_series series = {
		.label = labels,
		.nr_labels = sizeof(labels) / sizeof(labels[0]),
		.pprof = "pprof",
		.size = 5,
	};
	static const char expected[] = "\x0a\x5e"
				       "\x0a\x17\x0a\x08__name__\x12\x0bprocess_cpu"
				       "\x0a\x14\x0a\x0cservice_name\x12\x04shop"
				       "\x12\x2d\x0a\x05pprof"
				       "\x12\x24"
				       "00010203-0405-4607-8809-0a0b0c0d0e0f";
	uint8_t id[AGENT_PROFILE_ID];
	size_t size;
	void *bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(id); i++)
		id[i] = (uint8_t)i;
	assert_int_equal(agent_pyroscope_request(&series, 1, id, &bytes, &size), 0);
	assert_int_equal(size, sizeof(expected) - 1);
	assert_memory_equal(bytes, expected, size);
	free(bytes);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_targets),	   cmocka_unit_test(numbers_targets),
		cmocka_unit_test(parses_retry_after),	   cmocka_unit_test(jitters),
		cmocka_unit_test(makes_pyroscope_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
