/* SPDX-License-Identifier: MIT */
/*
 * Valid open calls with one thing broken, as root and as an unprivileged user: perch must name the
 * broken field. With two things broken, it must name both. Case n has the seed PERCH_SEED + n:
 * PERCH_SEED=that PERCH_CASES=1 repeats the case.
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

#include "generated/tally.h"

#define CASES	       5000
#define PAIRS	       2000
#define TRIES	       40
#define PRINT_AT_MOST  50
#define RIGHT_PERCENT  99.5
#define BOTH_PERCENT   90
#define NONE_PERCENT   1
#define STATIC_PERCENT 98
#define KINDS_PERCENT  90
#define CALLS_AT_MOST  25

struct run {
	struct tally single, pair;
	unsigned breakages, broken; /* breakages that exist, and those that occurred */
	bool done;
};

static struct world world;
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
static int break_call(const struct breakage *breakage, struct build_rng *rng,
		      struct generated_call *call, uint32_t *kernel_size, unsigned *accepted)
{
	int errnum;

	for (unsigned i = 0; i < TRIES; i++) {
		if (!generated_valid(&world, rng, breakage->wish, call))
			continue;
		if (breakage_apply(breakage, &world, rng, call)) {
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
			const struct explained *explained, struct tally *tally)
{
	if (tally->printed++ >= PRINT_AT_MOST)
		return;
	printf("seed %llu: %s\n", (unsigned long long)seed, what);
	generated_print(call, explained->errnum);
	print_answer(&explained->full);
}

static void one_fault(const struct breakage *const *list, size_t nr, uint64_t seed,
		      struct tally *tally)
{
	struct build_rng rng = { seed };
	size_t which = breakage_pick(list, nr, &rng);
	struct generated_call call;
	struct explained explained;
	enum result result;
	uint32_t kernel_size;
	int errnum;

	errnum = break_call(list[which], &rng, &call, &kernel_size, &tally->by[which].accepted);
	if (!errnum)
		return;
	explain_case(&world, &call, errnum, kernel_size, &explained, tally);
	result = evaluate_explanation(&explained.full, list[which]);
	tally->cases++;
	tally->result[result]++;
	tally->by[which].result[result]++;
	tally->static_result[evaluate_explanation(&explained.bare, list[which])]++;
	if (result == RESULT_WRONG || (result == RESULT_AMBIGUOUS && getenv("PERCH_VERBOSE")))
		print_wrong(list[which]->name, seed, &call, &explained, tally);
	generated_end(&call);
}

/* ---- Two at once ---- */

static bool names_any(const struct perch_finding *findings, size_t nr,
		      const struct breakage *breakage)
{
	for (size_t i = 0; i < nr; i++)
		if (finding_names(&findings[i], breakage))
			return true;
	return false;
}

static bool names(const struct perch_explanation *explanation, const struct breakage *breakage)
{
	return names_any(explanation->finding, explanation->nr_findings, breakage) ||
	       names_any(explanation->next, explanation->nr_next, breakage);
}

static void copy_call(struct generated_call *to, const struct generated_call *from)
{
	*to = *from;
	if (from->pointer == from->bytes)
		to->pointer = to->bytes;
}

/* Whether the kernel refuses this breakage alone. */
static bool breaks_alone(const struct breakage *breakage, struct build_rng *rng,
			 struct generated_call *call)
{
	return breakage_apply(breakage, &world, rng, call) && generated_refused(call, NULL);
}

/* Whether all changes of one breakage are in the other open call too. */
static bool still_broken(const struct breakage *breakage, const struct generated_call *valid,
			 const struct generated_call *broken, const struct generated_call *call)
{
	if (breakage->sizes && broken->attr.size != call->attr.size)
		return false;
	for (size_t i = offsetof(struct perch_attr, config); i < sizeof(struct perch_attr); i++)
		if ((broken->bytes[i] ^ call->bytes[i]) & (broken->bytes[i] ^ valid->bytes[i]))
			return false;
	return (broken->attr.type == valid->attr.type || broken->attr.type == call->attr.type) &&
	       (broken->pid == valid->pid || broken->pid == call->pid) &&
	       (broken->cpu == valid->cpu || broken->cpu == call->cpu) &&
	       (broken->group_fd == valid->group_fd || broken->group_fd == call->group_fd) &&
	       !((broken->flags ^ call->flags) & (broken->flags ^ valid->flags));
}

/* A breakage of one type of event does not affect another type. */
static bool of_another_kind(const struct breakage *breakage, const struct generated_call *valid,
			    const struct generated_call *call)
{
	return breakage->wish & WISH_SUBJECTS && call->attr.type != valid->attr.type;
}

/* Both faults in one open call, each of which the kernel refuses alone. Returns the errno, or 0. */
static int break_twice(const struct breakage *first, const struct breakage *second,
		       struct build_rng *rng, struct generated_call *call, uint32_t *kernel_size)
{
	static struct generated_call valid, one, other;
	struct build_rng same = *rng;
	bool alone;

	copy_call(&valid, call);
	copy_call(&other, call);
	alone = breaks_alone(second, &same, &other);
	while (other.nr_fds > valid.nr_fds)
		close(other.fd[--other.nr_fds]);
	if (!alone || of_another_kind(first, &valid, &other))
		return 0;
	same = *rng;
	alone = breaks_alone(first, rng, call);
	copy_call(&one, call);
	if (!alone || of_another_kind(second, &valid, &one) ||
	    !breakage_apply(second, &world, &same, call) ||
	    !still_broken(first, &valid, &one, call))
		return 0;
	return generated_refused(call, kernel_size);
}

static void count_pair(const struct breakage *first, const struct breakage *second, uint64_t seed,
		       struct generated_call *call, const struct explained *explained,
		       struct tally *tally)
{
	bool one = names(&explained->full, first), other = names(&explained->full, second);
	char what[200];

	tally->pairs++;
	tally->both += one && other;
	tally->found_first += one != other;
	tally->found_none += !one && !other;
	tally->hidden_pairs += explained->errnum == EACCES;
	tally->hidden_both += explained->errnum == EACCES && one && other;
	if (first->is_static || second->is_static) {
		tally->static_pairs++;
		tally->static_both += (one || !first->is_static) && (other || !second->is_static);
	}
	if (one && other)
		return;
	snprintf(what, sizeof(what), "%s%s AND %s%s", first->name, one ? "" : " (not named)",
		 second->name, other ? "" : " (not named)");
	print_wrong(what, seed, call, explained, tally);
}

static bool share_field(const struct breakage *one, const struct breakage *other)
{
	struct perch_finding finding = { .nr_fields = 1 };
	char name[64];

	for (const char *next = one->fields; next && *next; next += strcspn(next, ",")) {
		next += *next == ',';
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(next, ","), next);
		finding.field[0] = name;
		if (finding_names(&finding, other))
			return true;
	}
	return false;
}

static void two_faults(const struct breakage *const *list, size_t nr, uint64_t seed,
		       struct tally *tally)
{
	struct build_rng rng = { seed };
	const struct breakage *first = list[breakage_pick(list, nr, &rng)];
	const struct breakage *second = list[breakage_pick(list, nr, &rng)];
	struct generated_call call;
	struct explained explained;
	uint32_t kernel_size;
	int errnum;

	if (first->alone || second->alone || first->cause || second->cause ||
	    share_field(first, second))
		return;
	for (unsigned i = 0; i < TRIES; i++) {
		if (!generated_valid(&world, &rng, first->wish | second->wish, &call))
			continue;
		errnum = break_twice(first, second, &rng, &call, &kernel_size);
		if (errnum) {
			explain_case(&world, &call, errnum, kernel_size, &explained, tally);
			count_pair(first, second, seed, &call, &explained, tally);
		}
		generated_end(&call);
		if (errnum)
			return;
	}
}

/* ---- Runs ---- */

static void run(struct run *result, const char *user)
{
	const struct breakage *list[BREAKAGES_MAX];
	size_t nr = breakages_for(&world, list);
	uint64_t seed = first_seed(), cases = number_from("PERCH_CASES", CASES);
	uint64_t pairs = number_from("PERCH_CASES", PAIRS);

	result->breakages = nr;
	for (uint64_t i = 0; result->single.cases < cases && i < 2 * cases; i++)
		one_fault(list, nr, seed + i, &result->single);
	for (size_t i = 0; i < nr; i++)
		for (size_t kind = 0; kind < RESULT_MAX; kind++)
			if (result->single.by[i].result[kind]) {
				result->broken++;
				break;
			}
	tally_print(&result->single, list, nr, user);
	result->pair.printed = getenv("PERCH_VERBOSE") ? 0 : PRINT_AT_MOST;
	for (uint64_t i = 0; result->pair.pairs < pairs && i < 20 * pairs; i++)
		two_faults(list, nr, seed + i, &result->pair);
	printf("%s: %u pairs of faults: %.2f %% both named, %.2f %% one, %.2f %% none; %u calls at most\n",
	       user, result->pair.pairs, percent_of(result->pair.both, result->pair.pairs),
	       percent_of(result->pair.found_first, result->pair.pairs),
	       percent_of(result->pair.found_none, result->pair.pairs), result->pair.most_calls);
	printf("%s: with a fault of the attr by itself: %u, of which that one is named in %.2f %%\n",
	       user, result->pair.static_pairs,
	       percent_of(result->pair.static_both, result->pair.static_pairs));
	printf("%s: behind EACCES: %u, both named in %.2f %%\n", user, result->pair.hidden_pairs,
	       percent_of(result->pair.hidden_both, result->pair.hidden_pairs));
	printf("%s: %u of %u kinds of breakages; seeds from %llu\n", user, result->broken,
	       result->breakages, (unsigned long long)seed);
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
		if (!world_become(&world))
			run(as_user, "user");
		world_end(&world);
		fflush(stdout);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

/* Whether every type of open call is possible here. */
static bool world_is_whole(void)
{
	return world.nr_tracepoints && world.uprobe_type && world.msr_type &&
	       world.cgroup[1] >= 0 && world.nr_cpus > 1;
}

static void check_single(const struct run *result)
{
	const struct tally *tally = &result->single;

	assert_true(result->done && tally->cases);
	if (tally->cases >= CASES && world_is_whole())
		assert_true(percent_of(result->broken, result->breakages) >= KINDS_PERCENT);
	assert_int_equal(tally->result[RESULT_WRONG], 0);
	assert_true(percent_of(tally->result[RESULT_RIGHT], tally->cases) >= RIGHT_PERCENT);
	assert_true(tally->most_calls <= CALLS_AT_MOST);
	assert_int_equal(tally->misconduct, 0);
	assert_int_equal(tally->leaks, 0);
	assert_int_equal(tally->miscounted, 0);
	assert_int_equal(tally->transient, 0);
	assert_int_equal(tally->unfinished, 0);
}

/*
 * Some faults hide later ones or exclude each other: only those that the attr shows must be found
 * in any case.
 */
static void check_pairs(const struct run *result)
{
	const struct tally *tally = &result->pair;

	assert_true(result->done && tally->pairs);
	if (tally->pairs >= PAIRS) {
		assert_true(percent_of(tally->both, tally->pairs) >= BOTH_PERCENT);
		assert_true(percent_of(tally->found_none, tally->pairs) <= NONE_PERCENT);
		assert_true(percent_of(tally->static_both, tally->static_pairs) >= STATIC_PERCENT);
		assert_true(percent_of(tally->hidden_both, tally->hidden_pairs) >= BOTH_PERCENT);
	}
	assert_true(tally->most_calls <= CALLS_AT_MOST);
	assert_int_equal(tally->misconduct, 0);
	assert_int_equal(tally->leaks, 0);
	assert_int_equal(tally->unfinished, 0);
}

static void one_fault_as_root(void **state)
{
	(void)state;
	run(as_root, "root");
	check_single(as_root);
}

static void one_fault_as_user(void **state)
{
	long paranoid;

	(void)state;
	if (!perch_machine_sysctl(world.machine, PERCH_SYSCTL_PARANOID, &paranoid, NULL) &&
	    paranoid > 2) {
		print_message(
			"kernel.perf_event_paranoid is %ld: nothing is valid for an ordinary user\n",
			paranoid);
		skip();
	}
	run_as_user();
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
	if (!as_user->done)
		skip();
	check_pairs(as_user);
}

static int prepare(void **state)
{
	(void)state;
	if (geteuid()) {
		printf("the calls of root and of others need root\n");
		exit(77);
	}
	as_root = mmap(NULL, 2 * sizeof(*as_root), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (as_root == MAP_FAILED)
		return -1;
	as_user = as_root + 1;
	return world_make(&world);
}

static int clean_up(void **state)
{
	(void)state;
	world_end(&world);
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
