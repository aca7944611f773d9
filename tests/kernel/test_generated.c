/* SPDX-License-Identifier: MIT */
/*
 * Makes valid open calls invalid by one mutation, as root and as an unprivileged user: the
 * explanation must name the invalid field. With two mutations it must name both fields. Case n has
 * the seed PERCH_SEED + n; PERCH_SEED=SEED PERCH_CASES=1 repeats one case.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "generated/statistics.h"

#define CASES		5000
#define PAIRS		2000
#define TRIES		40
#define PRINT_AT_MOST	50
#define CORRECT_PERCENT 99.5
#define BOTH_PERCENT	90
#define NONE_PERCENT	1
#define STATIC_PERCENT	98
#define KINDS_PERCENT	90
#define CALLS_AT_MOST	25

struct run {
	struct statistics single, pair;
	unsigned mutations, refused; /* all mutations, and those that the kernel refused */
	bool done;
	bool impossible; /* the user may open no event at all */
};

static struct environment env;
static struct run *as_root, *as_user; /* shared with the unprivileged child */

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static uint64_t first_seed(void)
{
	return number_from("PERCH_SEED", 1);
}

/* Makes an open call that the kernel refuses. Returns the errno, or 0. */
static int make_invalid_call(const struct mutation *mutation, struct build_rng *rng,
			     struct generated_call *call, uint32_t *kernel_size, unsigned *accepted)
{
	int errnum;

	for (unsigned i = 0; i < TRIES; i++) {
		if (!generated_valid(&env, rng, mutation->requirements, call))
			continue;
		if (mutation_apply(mutation, &env, rng, call)) {
			errnum = generated_refused(call, kernel_size);
			if (errnum)
				return errnum;
			++*accepted;
		}
		generated_end(call);
	}
	return 0;
}

static void print_wrong(const char *what, uint64_t seed, struct generated_call *call,
			const struct explained *explained, struct statistics *stats)
{
	if (stats->printed++ >= PRINT_AT_MOST)
		return;
	printf("seed %llu: %s\n", (unsigned long long)seed, what);
	generated_print(call, explained->errnum);
	print_explanation(&explained->full);
}

static void test_one_fault(const struct mutation *const *list, size_t nr, uint64_t seed,
			   struct statistics *stats)
{
	struct build_rng rng = { seed };
	size_t which = mutation_pick(list, nr, &rng);
	struct generated_call call;
	struct explained explained;
	enum result result;
	uint32_t kernel_size;
	int errnum;

	errnum = make_invalid_call(list[which], &rng, &call, &kernel_size,
				   &stats->by[which].accepted);
	if (!errnum)
		return;
	explain_case(&env, &call, errnum, kernel_size, &explained, stats);
	result = evaluate_explanation(&env, &explained.full, list[which]);
	stats->cases++;
	stats->result[result]++;
	stats->by[which].result[result]++;
	stats->static_result[evaluate_explanation(&env, &explained.bare, list[which])]++;
	if (result == RESULT_WRONG || (result == RESULT_AMBIGUOUS && getenv("PERCH_VERBOSE")))
		print_wrong(list[which]->name, seed, &call, &explained, stats);
	generated_end(&call);
}

/* ---- Two mutations ---- */

static bool names_any(const struct perch_finding *findings, size_t nr,
		      const struct mutation *mutation)
{
	for (size_t i = 0; i < nr; i++)
		if (finding_names(&env, &findings[i], mutation))
			return true;
	return false;
}

static bool names(const struct perch_explanation *explanation, const struct mutation *mutation)
{
	return names_any(explanation->finding, explanation->nr_findings, mutation) ||
	       names_any(explanation->next, explanation->nr_next, mutation);
}

static void copy_call(struct generated_call *to, const struct generated_call *from)
{
	*to = *from;
	if (from->pointer == from->bytes)
		to->pointer = to->bytes;
}

/* True if the kernel refuses the open call with this mutation alone. */
static bool is_invalid_alone(const struct mutation *mutation, struct build_rng *rng,
			     struct generated_call *call)
{
	return mutation_apply(mutation, &env, rng, call) && generated_refused(call, NULL);
}

/* True if all changes of the mutation are in the other open call too. */
static bool still_has_mutation(const struct mutation *mutation, const struct generated_call *valid,
			       const struct generated_call *invalid,
			       const struct generated_call *call)
{
	if (mutation->sizes && invalid->attr.size != call->attr.size)
		return false;
	for (size_t i = offsetof(struct perch_attr, config); i < sizeof(struct perch_attr); i++)
		if ((invalid->bytes[i] ^ call->bytes[i]) & (invalid->bytes[i] ^ valid->bytes[i]))
			return false;
	return (invalid->attr.type == valid->attr.type || invalid->attr.type == call->attr.type) &&
	       (invalid->pid == valid->pid || invalid->pid == call->pid) &&
	       (invalid->cpu == valid->cpu || invalid->cpu == call->cpu) &&
	       (invalid->group_fd == valid->group_fd || invalid->group_fd == call->group_fd) &&
	       !((invalid->flags ^ call->flags) & (invalid->flags ^ valid->flags));
}

/*
 * True if the mutation is for the type of the valid open call, and the other mutation changed the
 * type.
 */
static bool is_for_another_type(const struct mutation *mutation, const struct generated_call *valid,
				const struct generated_call *call)
{
	return mutation->requirements & REQUIRE_ANY_SUBJECT && call->attr.type != valid->attr.type;
}

/*
 * Applies both mutations to one open call, if the kernel refuses each of them alone. Returns the
 * errno, or 0.
 */
static int mutate_twice(const struct mutation *first, const struct mutation *second,
			struct build_rng *rng, struct generated_call *call, uint32_t *kernel_size)
{
	static struct generated_call valid, one, other;
	struct build_rng same = *rng;
	bool alone;

	copy_call(&valid, call);
	copy_call(&other, call);
	alone = is_invalid_alone(second, &same, &other);
	while (other.nr_fds > valid.nr_fds)
		close(other.fd[--other.nr_fds]);
	if (!alone || is_for_another_type(first, &valid, &other))
		return 0;
	same = *rng;
	alone = is_invalid_alone(first, rng, call);
	copy_call(&one, call);
	if (!alone || is_for_another_type(second, &valid, &one) ||
	    !mutation_apply(second, &env, &same, call) ||
	    !still_has_mutation(first, &valid, &one, call))
		return 0;
	return generated_refused(call, kernel_size);
}

static void count_pair(const struct mutation *first, const struct mutation *second, uint64_t seed,
		       struct generated_call *call, const struct explained *explained,
		       struct statistics *stats)
{
	bool one = names(&explained->full, first), other = names(&explained->full, second);
	char what[200];

	stats->pairs++;
	stats->both += one && other;
	stats->found_first += one != other;
	stats->found_none += !one && !other;
	stats->hidden_pairs += explained->errnum == EACCES;
	stats->hidden_both += explained->errnum == EACCES && one && other;
	if (first->is_static || second->is_static) {
		stats->static_pairs++;
		stats->static_both += (one || !first->is_static) && (other || !second->is_static);
	}
	if (one && other)
		return;
	snprintf(what, sizeof(what), "%s%s AND %s%s", first->name, one ? "" : " (not named)",
		 second->name, other ? "" : " (not named)");
	print_wrong(what, seed, call, explained, stats);
}

static void test_two_faults(const struct mutation *const *list, size_t nr, uint64_t seed,
			    struct statistics *stats)
{
	struct build_rng rng = { seed };
	const struct mutation *first = list[mutation_pick(list, nr, &rng)];
	const struct mutation *second = list[mutation_pick(list, nr, &rng)];
	struct generated_call call;
	struct explained explained;
	uint32_t kernel_size;
	int errnum;

	if (first->alone || second->alone || first->cause || second->cause ||
	    mutations_share_field(&env, first, second))
		return;
	for (unsigned i = 0; i < TRIES; i++) {
		if (!generated_valid(&env, &rng, first->requirements | second->requirements, &call))
			continue;
		errnum = mutate_twice(first, second, &rng, &call, &kernel_size);
		if (errnum) {
			explain_case(&env, &call, errnum, kernel_size, &explained, stats);
			count_pair(first, second, seed, &call, &explained, stats);
		}
		generated_end(&call);
		if (errnum)
			return;
	}
}

/* ---- Runs ---- */

static void run(struct run *result, const char *user)
{
	const struct mutation *list[MUTATIONS_MAX];
	size_t nr = mutations_for(&env, list);
	uint64_t seed = first_seed(), cases = number_from("PERCH_CASES", CASES);
	uint64_t pairs = number_from("PERCH_CASES", PAIRS);

	result->mutations = nr;
	for (uint64_t i = 0; result->single.cases < cases && i < 2 * cases; i++)
		test_one_fault(list, nr, seed + i, &result->single);
	for (size_t i = 0; i < nr; i++)
		for (size_t kind = 0; kind < RESULT_MAX; kind++)
			if (result->single.by[i].result[kind]) {
				result->refused++;
				break;
			}
	statistics_print(&result->single, list, nr, user);
	result->pair.printed = getenv("PERCH_VERBOSE") ? 0 : PRINT_AT_MOST;
	for (uint64_t i = 0; result->pair.pairs < pairs && i < 20 * pairs; i++)
		test_two_faults(list, nr, seed + i, &result->pair);
	printf("%s: %u pairs of faults: %.2f %% both named, %.2f %% one, %.2f %% none; %u calls at most\n",
	       user, result->pair.pairs, percent_of(result->pair.both, result->pair.pairs),
	       percent_of(result->pair.found_first, result->pair.pairs),
	       percent_of(result->pair.found_none, result->pair.pairs), result->pair.most_calls);
	printf("%s: %u pairs with a fault in the attr alone: that fault is named in %.2f %%\n",
	       user, result->pair.static_pairs,
	       percent_of(result->pair.static_both, result->pair.static_pairs));
	printf("%s: %u pairs refused with EACCES: both named in %.2f %%\n", user,
	       result->pair.hidden_pairs,
	       percent_of(result->pair.hidden_both, result->pair.hidden_pairs));
	printf("%s: %u of %u mutations occurred; first seed %llu\n", user, result->refused,
	       result->mutations, (unsigned long long)seed);
	result->done = true;
	fflush(stdout);
}

static void run_as_user(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (!environment_drop_privileges(&env)) {
			as_user->impossible = !environment_allows_events();
			if (!as_user->impossible)
				run(as_user, "user");
		}
		environment_destroy(&env);
		fflush(stdout);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

/* True if every type of open call is possible on this machine. */
static bool environment_is_complete(void)
{
	return env.nr_tracepoints && env.uprobe_type && env.msr_type && env.cgroup[1] >= 0 &&
	       env.nr_cpus > 1;
}

static void check_single(const struct run *result)
{
	const struct statistics *stats = &result->single;

	assert_true(result->done && stats->cases);
	if (stats->cases >= CASES && environment_is_complete())
		assert_true(percent_of(result->refused, result->mutations) >= KINDS_PERCENT);
	assert_int_equal(stats->result[RESULT_WRONG], 0);
	assert_true(percent_of(stats->result[RESULT_CORRECT], stats->cases) >= CORRECT_PERCENT);
	assert_true(stats->most_calls <= CALLS_AT_MOST);
	assert_int_equal(stats->violation, 0);
	assert_int_equal(stats->leaks, 0);
	assert_int_equal(stats->miscounted, 0);
	assert_int_equal(stats->transient, 0);
	assert_int_equal(stats->incomplete, 0);
}

/*
 * Some faults hide later ones, and some exclude each other. Only faults that are visible in the
 * attr must always be found.
 */
static void check_pairs(const struct run *result)
{
	const struct statistics *stats = &result->pair;

	assert_true(result->done && stats->pairs);
	if (stats->pairs >= PAIRS) {
		assert_true(percent_of(stats->both, stats->pairs) >= BOTH_PERCENT);
		assert_true(percent_of(stats->found_none, stats->pairs) <= NONE_PERCENT);
		assert_true(percent_of(stats->static_both, stats->static_pairs) >= STATIC_PERCENT);
		assert_true(percent_of(stats->hidden_both, stats->hidden_pairs) >= BOTH_PERCENT);
	}
	assert_true(stats->most_calls <= CALLS_AT_MOST);
	assert_int_equal(stats->violation, 0);
	assert_int_equal(stats->leaks, 0);
	assert_int_equal(stats->incomplete, 0);
}

static void one_fault_as_root(void **state)
{
	(void)state;
	run(as_root, "root");
	check_single(as_root);
}

static void one_fault_as_user(void **state)
{
	(void)state;
	run_as_user();
	if (as_user->impossible) {
		print_message("skipped: this kernel refuses every open call of an ordinary user\n");
		skip();
	}
	check_single(as_user);
}

static void two_faults_as_root(void **state)
{
	(void)state;
	check_pairs(as_root);
}

static void two_faults_as_user(void **state)
{
	(void)state;
	if (as_user->impossible) {
		print_message("skipped: this kernel refuses every open call of an ordinary user\n");
		skip();
	}
	check_pairs(as_user);
}

static int prepare(void **state)
{
	(void)state;
	if (geteuid()) {
		printf("the test needs root: it makes open calls as root and as another user\n");
		exit(77);
	}
	as_root = mmap(NULL, 2 * sizeof(*as_root), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (as_root == MAP_FAILED)
		return -1;
	as_user = as_root + 1;
	return environment_create(&env);
}

static int clean_up(void **state)
{
	(void)state;
	environment_destroy(&env);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_fault_as_root),
		cmocka_unit_test(two_faults_as_root),
		cmocka_unit_test(one_fault_as_user),
		cmocka_unit_test(two_faults_as_user),
	};

	return cmocka_run_group_tests(tests, prepare, clean_up);
}
