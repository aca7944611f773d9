/* SPDX-License-Identifier: MIT */
/* What is shown, and its text in the fragment of the address, which is a link to the view. */

/* The wall clock, or the event with the most samples. */
function mainEvent({ entries, events, wall }) {
	const samples = events.map(() => 0);

	for (let i = 0; i < entries.count; i++)
		if (!entries.old[i])
			samples[entries.event[i]] += entries.samples[i];
	return wall ? wall.event :
		samples.reduce((main, number, i) => (number > samples[main] ? i : main), 0);
}

/* Returns what is shown at first. */
function defaultState(data) {
	return {
		event: mainEvent(data),
		comm: null, thread: null, cpu: null, from: 0, to: data.slices, samples: false,
		row: null, state: '', rows: 'threads',
		group: 'command', recursion: false, lines: false, byWeight: false, icicle: false,
		color: data.oldTitle ? 'change' : data.wall ? 'wait' : 'kind', search: '', view: 'flame', fn: null, path: '',
		sort: data.oldTitle ? 'change' : 'self',
	};
}

const CHOICES = {
	group: ['command', 'thread', 'none'], color: ['kind', 'dso', 'wait', 'change'],
	state: ['', 'off', '0', '1', '2', '3', '4', '5'], rows: ['threads', 'cpus', 'none'],
	view: ['flame', 'butterfly', 'tree'], sort: ['self', 'total', 'change', 'name'],
};

/* Returns the value of a member from its text; undefined if it is none. */
function parseMember(name, text, standard, data) {
	const limits = {
		event: data.events.length - 1, thread: data.threads.count - 1, cpu: 1e6,
		from: data.slices - 1, to: data.slices, fn: data.functions.count - 1,
		row: data.rows.length - 1,
	};

	if (name in CHOICES)
		return CHOICES[name].includes(text) ? text : undefined;
	if (name in limits) {
		const number = Number(text);

		return /^\d+$/.test(text) && number <= limits[name] ? number : undefined;
	}
	if (name === 'path')
		return /^[\d.]*$/.test(text) ? text : undefined;
	return typeof standard === 'boolean' ? text === '1' : text;
}

/* Reads a fragment, which may be any text. */
function readFragment(fragment, data) {
	const state = defaultState(data), standard = defaultState(data);

	for (const [name, text] of new URLSearchParams(fragment.replace(/^#/, ''))) {
		if (!Object.hasOwn(standard, name))
			continue;
		const value = parseMember(name, text, standard[name], data);
		if (value !== undefined)
			state[name] = value;
	}
	if (state.row !== null && data.rows[state.row].isCpu)
		state.row = null;
	if (state.from >= state.to)
		Object.assign(state, { from: 0, to: data.slices });
	if (state.view === 'butterfly' && state.fn === null)
		state.view = 'flame';
	if (!data.oldTitle && state.color === 'change')
		state.color = 'kind';
	if (!data.wall && state.color === 'wait')
		state.color = 'kind';
	if (!data.oldTitle && state.sort === 'change')
		state.sort = 'self';
	return state;
}

function writeFragment(state, data) {
	const standard = defaultState(data), parameters = new URLSearchParams();

	for (const [name, value] of Object.entries(state))
		if (value !== standard[name] && value !== null)
			parameters.set(name, value === true ? '1' : value === false ? '0' : value);
	return parameters.toString();
}
