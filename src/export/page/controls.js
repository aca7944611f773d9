/* SPDX-License-Identifier: MIT */
/* The controls above the graph, the keys of the page, and its other texts. */

const KEYS = [
	['Arrows', 'move between frames'], ['Enter', 'zoom to the frame'], ['Escape', 'zoom out'],
	['Backspace', 'zoom to the caller'], ['/', 'search'], ['b', 'callers and callees of the frame'],
	['f', 'flame graph'], ['t', 'call tree'], ['i', 'root above or below'],
	['r', 'merge recursion'], ['l', 'split by line'], ['c', 'copy the stack of the frame'],
	['+ −', 'in the time line: zoom the time'],
];

/* Rows of the legend of DSOs, and the hash that gives a color of it the middle tone. */
const LEGEND_DSOS = 16, MIDDLE_TONE = 1024;

class Controls {
	constructor(app) {
		this.app = app;
		this.fillTexts();
		this.fillSelects();
		this.listen();
		this.listenTheme();
	}

	fillTexts() {
		const { data } = this.app;

		byId('title').textContent = data.title;
		document.title = data.title;
		byId('notes').replaceChildren(...data.notes.map((note) => element('p', note)));
		byId('help').replaceChildren(...KEYS.map(([key, text]) => {
			const line = element('div');

			line.append(element('kbd', key), ` ${text}`);
			return line;
		}), element('div', 'Shift and click: callers and callees of the frame'));
	}

	/* Fills a list of choices, and hides it if there is one only. */
	fill(id, choices) {
		const select = byId(id);

		select.replaceChildren(...choices.map(([value, text]) => element('option', text, { value })));
		select.parentElement.hidden = choices.length < 2;
	}

	fillSelects() {
		const { data } = this.app, { threads, groups } = data;
		const used = new Set(data.entries.event), cpus = new Set(groups.cpu);
		const comms = [...new Set(threads.comm)].sort();
		const withTid = Array.from(threads.tid.keys()).filter((i) => threads.tid[i]);

		this.fill('event', data.events.map((name, i) => [i, name]).filter(([i]) => used.has(i) ||
			(data.wall && i === data.wall.event)));
		this.fill('comm', comms.length < 2 ? [] : [['', 'all'], ...comms.map((comm) => [`=${comm}`,
			comm])]);
		this.fill('thread', withTid.length < 2 ? [] : [['', 'all'], ...withTid.map((i) => [i,
			groupName(data, 'thread', i)])]);
		cpus.delete(-1);
		this.fill('cpu', cpus.size < 2 ? [] : [['', 'all'], ...[...cpus].sort((a, b) => a - b)
			.map((cpu) => [cpu, cpu])]);
		byId('measure').parentElement.hidden = Boolean(data.flags & HAS_COUNTS);
		byId('timeline').hidden = !(data.flags & HAS_TIMES);
		for (const [value, has] of [['change', data.oldTitle], ['wait', data.wall]])
			if (!has)
				byId('color').querySelector(`[value=${value}]`).remove();
	}

	/* Shows the state in the controls. */
	show(selected) {
		const { state, data, weights } = this.app;
		const number = (value) => value === null ? '' : String(value);

		byId('event').value = number(state.event);
		byId('comm').value = state.comm === null ? '' : `=${state.comm}`;
		byId('thread').value = number(state.thread);
		byId('cpu').value = number(state.cpu);
		byId('group').value = state.group;
		byId('color').value = state.color;
		byId('measure').value = state.samples ? 'samples' : 'period';
		for (const name of ['icicle', 'recursion', 'lines', 'byWeight'])
			byId(name).checked = state[name];
		if (byId('search').value !== state.search)
			byId('search').value = state.search;
		byId('search').classList.toggle('wrong', Boolean(this.app.searchError));
		byId('matched').textContent = this.app.searchError || (this.app.regexp ?
			`matched: ${formatShare(this.app.matched, weights.total)}` : '');
		for (const view of CHOICES.view) {
			byId(`tab-${view}`).setAttribute('aria-selected', String(state.view === view));
			byId(`tab-${view}`).tabIndex = state.view === view ? 0 : -1;
		}
		byId('tab-butterfly').disabled = state.fn === null;
		byId('out').disabled = !state.path;
		this.showLegend();
		if (selected)
			this.showSummary(data, state, weights);
	}

	showSummary(data, state, weights) {
		const parts = [`${data.events[state.event] || 'no event'}: ` +
			formatWeight(this.app, weights.total)];
		const part = state.cpu !== null || state.from > 0 || state.to < data.slices;
		const selected = [
			...state.row === null ? [] : [`thread ${rowLabel(data.rows[state.row])}`],
			...state.cpu === null ? [] : [`CPU ${state.cpu}`],
			...state.state === '' ? [] : [stateName(state.state)],
		];

		if (!(data.flags & HAS_COUNTS))
			parts.unshift(`${formatNumber(weights.totalSamples)} samples`);
		if (selected.length)
			parts.push(`only ${selected.join(', ')}`);
		if (data.oldTitle)
			parts.push(`compared with ${data.oldTitle}`);
		if (part && data.flags & HAS_AVERAGES && !state.samples)
			parts.push('each sample of a stack has the same part of its event count, because ' +
				'the recording is large');
		byId('summary').textContent = parts.join(' · ');
	}

	showLegend() {
		const { app } = this, { state, colors, data } = app, rows = [];

		if (state.color === 'kind') {
			const used = new Set(Array.from(data.functions.kind, (kind, fn) => kindOf(data, fn)));

			for (const row of KINDS)
				if (used.has(row))
					rows.push([row.name, colors.tone(row.hue, row.chroma, MIDDLE_TONE)]);
		} else if (state.color === 'dso') {
			const dsos = this.sumDsos();

			for (const dso of dsos.slice(0, LEGEND_DSOS))
				rows.push([dso || 'unknown', colors.ofDso(dso, MIDDLE_TONE)]);
			if (dsos.length > LEGEND_DSOS)
				rows.push([`${formatNumber(dsos.length - LEGEND_DSOS)} more`, null]);
		} else if (state.color === 'wait') {
			rows.push(['on the CPU', colors.ofWait(0)], ['off the CPU', colors.ofWait(1)]);
		} else if (state.color === 'change') {
			rows.push(['larger share than before', colors.ofChange(0.05)],
				['smaller share than before', colors.ofChange(-0.05)]);
		}
		byId('legend').hidden = state.view === 'tree';
		byId('legend').replaceChildren(...rows.map(([text, color]) => {
			const item = element('span', text);

			if (color)
				item.style.setProperty('--swatch', color);
			else
				item.className = 'rest';
			return item;
		}));
	}

	/* Returns the DSOs of the selected samples, the one with most of them first. */
	sumDsos() {
		const { sums, data } = this.app, selfs = new Map();

		for (const { fn, self } of sums) {
			const dso = data.functions.dso[fn];

			selfs.set(dso, (selfs.get(dso) || 0) + self);
		}
		return [...selfs.keys()].sort((a, b) => selfs.get(b) - selfs.get(a) || (a < b ? -1 : 1));
	}

	/* ---- what the user does ---- */

	listen() {
		const { app } = this;
		const number = (text) => text === '' ? null : Number(text);
		const select = (id, make) => byId(id).addEventListener('change', (event) =>
			app.change(make(event.target.value)));

		select('event', (value) => ({ event: Number(value), state: '' }));
		select('comm', (value) => ({ comm: value === '' ? null : value.slice(1), thread: null, row: null }));
		select('thread', (value) => ({ thread: number(value), comm: null, row: null }));
		select('cpu', (value) => ({ cpu: number(value) }));
		select('group', (value) => ({ group: value, path: '' }));
		select('color', (value) => ({ color: value }));
		select('measure', (value) => ({ samples: value === 'samples' }));
		for (const name of ['icicle', 'recursion', 'lines', 'byWeight'])
			byId(name).addEventListener('change', (event) => app.change({ [name]: event.target.checked,
				...name === 'lines' ? { path: '' } : {} }));
		byId('search').addEventListener('input', (event) => app.change({ search: event.target.value },
			true));
		byId('controls').addEventListener('submit', (event) => event.preventDefault());
		for (const view of CHOICES.view)
			byId(`tab-${view}`).addEventListener('click', () => app.change({ view }));
		byId('out').addEventListener('click', () => app.flame.zoom(0));
		byId('copy').addEventListener('click', () => this.copy(app.text()));
		byId('keys').addEventListener('click', () => this.toggleHelp());
		byId('views').addEventListener('keydown', (event) => this.moveTab(event));
		document.addEventListener('keydown', (event) => this.press(event));
		window.addEventListener('popstate', () => app.followLink());
		window.addEventListener('beforeprint', () => this.print(true));
		window.addEventListener('afterprint', () => this.print(false));
	}

	/* Arrow keys move between the tabs. */
	moveTab(event) {
		const tabs = [...byId('views').querySelectorAll('[role=tab]:not(:disabled)')];
		const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], at = tabs.indexOf(event.target);

		if (!step || at < 0)
			return;
		const next = tabs[(at + step + tabs.length) % tabs.length];
		next.focus();
		next.click();
	}

	toggleHelp() {
		byId('help').hidden = !byId('help').hidden;
		byId('keys').setAttribute('aria-expanded', String(!byId('help').hidden));
	}

	async copy(text) {
		byId('live').textContent = await copyText(text) ? 'Copied.' : 'The browser refused to copy.';
		byId('copy').textContent = byId('live').textContent.startsWith('Copied') ? 'Copied' :
			'Not copied';
		setTimeout(() => { byId('copy').textContent = 'Copy as text'; }, 1500);
	}

	press(event) {
		const { app } = this, { state } = app, typing = /^(INPUT|SELECT|TEXTAREA)$/;

		if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented ||
		    typing.test(event.target.tagName))
			return;
		const { tree, node } = app.described;
		const actions = {
			'/': () => byId('search').focus(),
			'?': () => this.toggleHelp(),
			b: () => app.open(tree.key[node]),
			f: () => app.change({ view: 'flame' }),
			t: () => app.change({ view: 'tree' }),
			i: () => app.change({ icicle: !state.icicle }),
			r: () => app.change({ recursion: !state.recursion }),
			l: () => app.change({ lines: !state.lines, path: '' }),
			c: () => this.copy(stackText(tree, node)),
			Escape: () => state.view === 'tree' || app.graph().zoom(0),
		};
		if (!Object.hasOwn(actions, event.key))
			return;
		event.preventDefault();
		actions[event.key]();
		if (byId('pictures').contains(event.target) && !event.target.getClientRects().length)
			this.focusView();
	}

	/* The view that is shown has the focus, after the one that had it is hidden. */
	focusView() {
		const { app } = this, row = byId('tree').querySelector('tbody tr');

		(app.state.view === 'tree' ? row : app.graph().canvas).focus({ preventScroll: true });
	}

	/* ---- dark and light ---- */

	listenTheme() {
		this.system = window.matchMedia('(prefers-color-scheme: dark)');
		this.system.addEventListener('change', () => this.applyTheme());
		byId('theme').addEventListener('change', () => this.applyTheme());
		document.documentElement.classList.toggle('dark', this.system.matches);
	}

	applyTheme() {
		const choice = byId('theme').value;

		this.setDark(choice ? choice === 'dark' : this.system.matches);
	}

	/* Paper is light, and has the whole graphs. */
	print(printing) {
		const { app } = this;

		if (printing)
			this.setDark(false);
		else
			this.applyTheme();
		for (const graph of app.state.view === 'butterfly' ? [app.callers, app.callees] : [app.flame])
			graph.print(printing);
	}

	setDark(dark) {
		document.documentElement.classList.toggle('dark', dark);
		this.app.update(false, false);
	}
}
