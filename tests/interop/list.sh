#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # $1 and its like are for the inner shell
# perch list shows the events of this machine by perf's names, and does not open tracepoints.
# shellcheck source=tests/interop/common.sh
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
perch=${PERCH:?}

# shellcheck disable=SC2317 # called by try
finds() { # pattern, then the words for perch list
	pattern=$1
	shift
	"$perch" list "$@" | grep -E -- "$pattern"
}

try "lists hardware events" finds '^  cycles OR cpu-cycles +\[Hardware event\]' hw
try "lists software events, which work" finds '^  page-faults OR faults +\[Software event\]$' sw
try "lists cache events" finds '^  L1-dcache-load-misses +\[Hardware cache event\]' cache
try "lists raw events" finds '^  rNNN +\[Raw event descriptor\]( \(not (supported|permitted) here\))?$' raw
try "lists breakpoints" finds '^  mem:<addr>\[/len\]\[:access\] +\[Hardware breakpoint\]' mem
try "lists probes" finds '^  uprobe:PATH:SYMBOL\[\+OFF\] +\[Probe\]' probe
try "lists names of libpfm4" finds '^  pfm:NAME' pfm
try "finds an event by its alias" finds '^  context-switches OR cs ' cs
try "takes globs" finds '^  page-faults OR faults ' 'page-*'
try "combines a kind and a word" sh -c '
	"$1" list software clock >"$2" && grep -q "^  task-clock " "$2" && ! grep -Eq "page-faults|tsc" "$2"' sh \
	"$perch" "$work/narrow"
try "suggests names for a misspelled word" sh -c '! "$1" list cylces 2>"$2" && grep -q "did you mean cycles" "$2"' sh \
	"$perch" "$work/meant"
try "says that -e takes an event with arguments" sh -c '! "$1" list mem:0x1000:w 2>"$2" && grep -q "but -e takes it" "$2"' sh \
	"$perch" "$work/taken"
if [ -e /sys/bus/event_source/devices/uprobe ] && command -v g++ >/dev/null 2>&1; then
	printf 'namespace ns { void gather(int) {} void f(int) {} void f(char) {} }\nint main() {}\n' >"$work/shapes.cc"
	g++ -o "$work/shapes" "$work/shapes.cc"
	try "suggests demangled names" sh -c '! "$1" list "uprobe:$2/shapes:ns::gahter" 2>"$2/meant" && grep -q "did you mean ns::gather?" "$2/meant"' \
		sh "$perch" "$work"
	try "lists the functions of one demangled name" sh -c '! "$1" list "uprobe:$2/shapes:ns::f" 2>"$2/meant" &&
		grep -q "ns::f(int)" "$2/meant" && grep -q "ns::f(char)" "$2/meant"' sh "$perch" "$work"
	try "says that -e takes a demangled name" sh -c '! "$1" list "uprobe:$2/shapes:ns::f(int)" 2>"$2/meant" && grep -q "but -e takes it" "$2/meant"' \
		sh "$perch" "$work"
	printf '.globl _ZN2ns5wholeEi.isra.0\n.type _ZN2ns5wholeEi.isra.0, @function\n_ZN2ns5wholeEi.isra.0: .byte 0\n' >"$work/clone.s"
	g++ -nostdlib -shared -o "$work/clone.so" "$work/clone.s"
	try "says that -e takes a function that has clones alone" sh -c '! "$1" list "uprobe:$2/clone.so:ns::whole" 2>"$2/meant" &&
		grep -q "but -e takes it" "$2/meant"' sh "$perch" "$work"
else
	echo "ok - suggests demangled names # skip no uprobes or no g++ here"
fi
try "marks raw events when cores have no PMU" sh -c '
	grep -qx 4 /sys/bus/event_source/devices/*/type || ls /sys/bus/event_source/devices/*/cpus >/dev/null 2>&1 ||
		"$1" list raw | grep -q "^  rNNN .*(not .* here)"' sh "$perch"
try "lists the forms of probes, not their PMUs" sh -c '! "$1" list raw | grep -E "^  (uprobe|kprobe)/" && "$1" list probe |
	grep -q "^  uprobe:PATH"' sh "$perch"
try "refuses a word that nothing matches" sh -c '! "$1" list no-such-event-anywhere' sh "$perch"
try "refuses an unknown option with status 2" sh -c '"$1" list --frobnicate; [ $? -eq 2 ]' sh "$perch"
try "has help" sh -c '"$1" list --help | grep -q -- --json' sh "$perch"

if command -v python3 >/dev/null 2>&1; then
	try "writes the formats of PMUs in JSON" sh -c '"$1" list -j raw pmu | python3 -c "
import glob, json, sys
formats = {event[\"pmu\"]: event[\"formats\"] for event in json.load(sys.stdin) if \"formats\" in event}
for path in glob.glob(\"/sys/bus/event_source/devices/*/format/*\"):
    pmu, name = path.split(\"/\")[5], path.split(\"/\")[7]
    assert pmu in (\"uprobe\", \"kprobe\") or formats[pmu][name] == open(path).read().strip(), path
"' sh "$perch"
	try "writes in JSON why an event does not work, by slugs of the headers" sh -c '"$1" list -j hw cache sw | python3 -c "
import json, re, sys
def slugs(name):
    return set(re.findall(r\"^\\s+X\\(\\w+, .([a-z0-9-]+).,\", open(sys.argv[1] + name).read(), re.M))
causes, kinds = slugs(\"/include/perch/causes.h\"), slugs(\"/include/perch/error.h\")
assert len(causes) > 100 and len(kinds) > 20
for event in json.load(sys.stdin):
    if not event.get(\"works\", True):
        assert event[\"cause\"] in causes and event[\"error_kind\"] in kinds and event[\"reason\"], event
" "$2"' sh "$perch" "${PERCH_SOURCE_ROOT:-.}"
	try "prints JSON" sh -c '"$1" list -j | python3 -c "
import json, sys
events = {event[\"name\"]: event for event in json.load(sys.stdin)}
assert events[\"task-clock\"][\"works\"] is True and events[\"task-clock\"][\"kind\"] == \"software\"
assert all(\"reason\" in event for event in events.values() if event.get(\"works\") is False)
"' sh "$perch"
	try "prints one JSON object per line" sh -c '"$1" list -j sw | python3 -c "
import json, sys
first, *lines, last = sys.stdin.read().splitlines()
assert (first, last) == (\"[\", \"]\") and all(json.loads(line.rstrip(\",\")) for line in lines)
"' sh "$perch"
else
	echo "ok - prints JSON # skip: python3 is not installed"
fi

if command -v perf >/dev/null 2>&1; then
	# perf list omits events that do not work; perch list must show all that perf list shows
	perf list 2>/dev/null >"$work/perf_list"
	sed -n 's/^  \([^ ]*\).*\[\(.*\) event\]$/\1 \2/p' "$work/perf_list" | grep -Ev ' (Tool|SDT)$' |
		cut -d' ' -f1 | sort >"$work/perf_names"
	"$perch" list | sed -n 's/^  \([^ ]*\)\( OR \([^ ]*\)\)\{0,1\} .*\[.*/\1\n\3/p' | sort -u >"$work/perch_names"
	if died=$(peer_died); then
		echo "ok - shows all events of perf list # skip $died"
	else
		try "shows all events of perf list" sh -c '[ -z "$(comm -23 "$1" "$2" | tee /dev/stderr)" ]' sh \
			"$work/perf_names" "$work/perch_names"
	fi
else
	echo "ok - shows all events of perf list # skip: perf is not installed"
fi

events=/sys/kernel/tracing/events
if [ -r $events/sched/sched_switch/format ]; then
	try "shows the fields of a tracepoint" finds '^      pid_t next_pid +offset [0-9]+, 4 bytes, signed$' -v \
		sched:sched_switch
	try "shows the fields of a tracepoint with --verbose" finds '^      char next_comm\[16\] ' --verbose sched:sched_switch
	try "suggests names for a misspelled tracepoint" sh -c '! "$1" list sched:sched_swich 2>"$2" && grep -q "did you mean sched_switch" "$2"' \
		sh "$perch" "$work/meant"
	try "writes the fields of all tracepoints in JSON" sh -c '"$1" list -j -v tracepoint | python3 -c "
import json, re, sys
events = json.load(sys.stdin)
assert len(events) > 100
for event in events:
    text = open(\"$2/\" + event[\"name\"].replace(\":\", \"/\") + \"/format\").read()
    fields = re.findall(r\"field:([^;]*?) ?([^ *;[]+)(?:\[(\d*)[^;]*\])?;\toffset:(\d+);\tsize:(\d+);\", text)
    ours = [(field[\"type\"], field[\"name\"]) + tuple(str(field.get(key, \"\")) for key in (\"count\", \"offset\", \"size\"))
            for field in event[\"fields\"]]
    assert ours == fields, (event[\"name\"], ours, fields)
"' sh "$perch" $events
else
	echo "ok - shows the fields of tracepoints # skip: tracefs cannot be read"
fi

for word in off-cpu offcpu off_cpu off-cpu-time offcpu-time; do
	try "suggests the option of perch record for $word" sh -c '
		"$1" list "$2" 2>&1 | grep -q "did you mean the option --off-cpu" &&
		"$1" record -o "$3" -e "$2" true 2>&1 | grep -q "Did you mean the option --off-cpu"' sh "$perch" "$word" "$work/data"
done

try "writes an empty array and exits with 1 when no event matches" sh -c '
	"$1" list -j no-such-event > "$2"; [ $? -eq 1 ] && [ "$(tr -d "\n" < "$2")" = "[]" ]' sh "$perch" "$work/none"

if command -v strace >/dev/null 2>&1; then
	try "opens no tracepoint" sh -c 'strace -f -o "$2" -e trace=perf_event_open "$1" list &&
		! grep -q PERF_TYPE_TRACEPOINT "$2"' sh "$perch" "$work/trace"
else
	echo "ok - opens no tracepoint # skip: strace is not installed"
fi
exit $status
