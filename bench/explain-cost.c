/* SPDX-License-Identifier: MIT */
/*
 * Measures the cost of an explanation: only by the rules, with facts that are read already, and
 * with probing. It explains the broken open calls that the tests generate (tests/kernel/generated),
 * as root and as an ordinary user. It repeats each explanation and takes the least time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "kernel/generated/generated.h"

#define CASES	      3000
#define REPEAT_STATIC 15
#define REPEAT_FULL   3
#define RULES_TARGET  1500.0
#define FACTS_TARGET  2000.0
#define FULL_TARGET   1000.0
#define CALLS_TARGET  25

struct cost {
	double took[CASES], sum, most;
	size_t nr;
	const char *most_name; /* the mutation that cost most */
};

struct costs {
	unsigned cases;
	struct cost rules, null, facts, full;
	uint64_t calls;
	unsigned most_calls;
	const char *most_calls_name;
};

static void add(struct cost *cost, double took, const char *name)
{
	cost->took[cost->nr++] = took;
	cost->sum += took;
	if (took <= cost->most)
		return;
	cost->most = took;
	cost->most_name = name;
}

static double least_time(const struct perch_open_call *open_call, struct perch_machine *machine,
			 const struct perch_probing *probing, unsigned repeats,
			 struct perch_explanation *explanation)
{
	double start, least = 0;

	for (unsigned i = 0; i < repeats; i++) {
		start = bench_now_ns();
		perch_explain_open_call(open_call, probing, machine, explanation);
		bench_keep_minimum(&least, bench_now_ns() - start);
	}
	return least;
}

static void measure(const struct environment *env, const struct perch_open_call *open_call,
		    const char *name, struct costs *costs)
{
	const struct perch_probing unlimited = { .open_calls = 0, .microseconds = 1000000 };
	struct perch_explanation explanation;
	struct perch_open_call logged = *open_call;

	/* a call of a log without a machine has no facts */
	logged.from_log = true;
	/* The first explanation reads the facts. */
	perch_explain_open_call(open_call, &unlimited, env->machine, &explanation);
	add(&costs->rules, least_time(&logged, NULL, NULL, REPEAT_STATIC, &explanation), name);
	add(&costs->null, least_time(open_call, NULL, NULL, REPEAT_FULL, &explanation), name);
	add(&costs->facts, least_time(open_call, env->machine, NULL, REPEAT_STATIC, &explanation),
	    name);
	add(&costs->full,
	    least_time(open_call, env->machine, &unlimited, REPEAT_FULL, &explanation), name);
	costs->cases++;
	costs->calls += explanation.open_calls;
	if (explanation.open_calls <= costs->most_calls)
		return;
	costs->most_calls = explanation.open_calls;
	costs->most_calls_name = name;
}

static void run_case(const struct environment *env, const struct mutation *const *list, size_t nr,
		     uint64_t seed, struct costs *costs)
{
	struct build_rng rng = { seed };
	const struct mutation *mutation = list[mutation_pick(list, nr, &rng)];
	struct generated_call call;
	struct perch_open_call open_call;
	uint32_t kernel_size;
	int errnum = 0;

	if (!generated_valid(env, &rng, mutation->requirements, &call))
		return;
	if (mutation_apply(mutation, env, &rng, &call))
		errnum = generated_refused(&call, &kernel_size);
	if (errnum) {
		generated_describe(&call, errnum, kernel_size, &open_call);
		measure(env, &open_call, mutation->name, costs);
	}
	generated_end(&call);
}

/* The target is for the mean: the most may include time of other programs. */
static void print_cost(const char *what, struct cost *cost, const char *unit, double scale,
		       double target)
{
	double mean = cost->sum / cost->nr / scale, nearly_all;

	qsort(cost->took, cost->nr, sizeof(*cost->took), bench_compare_doubles);
	nearly_all = cost->took[cost->nr * 99 / 100] / scale;
	printf("  %-26s %8.2f %s on average, 99 %% below %8.2f, at most %8.2f (%s)  target <= %.0f%s\n",
	       what, mean, unit, nearly_all, cost->most / scale, cost->most_name, target,
	       bench_missed(mean <= target));
}

static bool run(const struct environment *env, const char *user)
{
	const struct mutation *list[MUTATIONS_MAX];
	size_t nr = mutations_for(env, list);
	static struct costs costs;
	const char *wanted = getenv("PERCH_CASES");
	unsigned cases = wanted && *wanted ? strtoul(wanted, NULL, 0) : bench_size(CASES, 20);

	memset(&costs, 0, sizeof(costs));
	if (cases > CASES)
		cases = CASES;
	for (uint64_t seed = 1; costs.cases < cases && seed < 4 * CASES; seed++)
		run_case(env, list, nr, seed, &costs);
	if (!costs.cases)
		return false;
	printf("%s: %u refused calls\n", user, costs.cases);
	print_cost("rules alone", &costs.rules, "ns", 1, RULES_TARGET);
	print_cost("machine NULL, reads facts", &costs.null, "us", 1000, FULL_TARGET);
	print_cost("with facts read before", &costs.facts, "ns", 1, FACTS_TARGET);
	print_cost("with probing", &costs.full, "us", 1000, FULL_TARGET);
	printf("  %-28s %8.2f    on average, %8u at most (%s)  target <= %d%s\n",
	       "probing system calls", (double)costs.calls / costs.cases, costs.most_calls,
	       costs.most_calls_name ? costs.most_calls_name : "none", CALLS_TARGET,
	       bench_missed(costs.most_calls <= CALLS_TARGET));
	fflush(stdout);
	return true;
}

/* The first explanation of a program also reads the facts. */
static void print_first_cost(void)
{
	struct perch_attr attr = { .type = PERCH_TYPE_HARDWARE, .size = sizeof(attr) };
	const struct perch_open_call call = {
		.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = 2
	};
	const struct perch_probing by_default = { 0 };
	struct perch_explanation explanation;
	struct perch_machine *machine;
	double start = bench_now_ns();

	if (perch_machine_new(&machine, NULL, NULL, NULL))
		return;
	perch_explain_open_call(&call, &by_default, machine, &explanation);
	printf("first explanation, which reads the facts: %.0f us\n",
	       (bench_now_ns() - start) / 1000);
	perch_machine_free(machine);
}

static bool run_as_user(struct environment *env)
{
	bool done;
	int status;
	pid_t pid = fork();

	if (!pid) {
		done = !environment_drop_privileges(env) && run(env, "user");
		environment_destroy(env);
		_exit(!done);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

int main(void)
{
	struct environment env;
	bool done;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		printf("explain-cost: skipped, it needs root to act as root and as an ordinary user\n");
		return BENCH_SKIPPED;
	}
	print_first_cost();
	if (environment_create(&env))
		return EXIT_FAILURE;
	done = run(&env, "root");
	done = run_as_user(&env) && done;
	environment_destroy(&env);
	return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
