/* SPDX-License-Identifier: MIT */
/*
 * The rows below the time line: what threads or CPUs did when. A recording without switches has
 * ticks in their place: where samples are. A row, or a state, selects samples.
 */

const LANE = 24, LANE_LABEL = 12, MOST_ROWS = 256;

/* By number. In gray the colors have different tones, in the order of their names here: disk,
 * preempted, running, off, runnable, blocked; on dark paper another one. */
const STATE_ROWS = [
	{ name: 'running', light: '#d9711c', dark: '#d67f30' },
	{ name: 'waits for a CPU', light: '#f2c53d', dark: '#fbeaa0' },
	{ name: 'preempted', light: '#8e3b8e', dark: '#d49df0' },
	{ name: 'blocked', light: '#d5e3ee', dark: '#33475a' },
	{ name: 'blocked (D)', light: '#1d3f63', dark: '#3f7fc4' },
	{ name: 'unknown', light: '#a9a9a4', dark: '#5f5f5c' },
];

const UNCERTAIN_TEXT = 'may be wrong: a switch is missing, as records were lost';

function stateName(state) {
	return state === 'off' ? 'all off the CPU' : STATE_ROWS[state].name;
}

/* Returns the time in a selected state; of all states the time on the CPU. */
function timeIn(sums, state) {
	return sums.reduce((sum, ns, i) => isOfState(i, state === '' ? '0' : state) ? sum + ns : sum, 0);
}

function rowLabel(row) {
	return row.isCpu ? `CPU ${row.id}` : `${row.name || '?'} ${row.pid || '?'}/${row.id}`;
}

function statesText(sums) {
	return STATE_ROWS.map(({ name }, i) => [name, sums[i]]).filter(([, ns]) => ns > 0)
		.map(([name, ns]) => `${name} ${formatTime(ns)}`).join(', ');
}

/* Returns the numbers of samples of each row and slice, for rows that have no states. A wait is no
 * work of a CPU. */
function countTicks(data) {
	const { entries, threads, groups } = data, found = new Map();
	const rowOf = (key, make) => {
		if (!found.has(key))
			found.set(key, { ...make(), samples: 0, ticks: new Map() });
		return found.get(key);
	};
	const add = (row, k) => {
		row.samples += groups.samples[k];
		row.ticks.set(groups.slice[k], (row.ticks.get(groups.slice[k]) || 0) + groups.samples[k]);
	};

	for (let i = 0; i < entries.count; i++) {
		const thread = entries.thread[i], pid = threads.pid[thread], id = threads.tid[thread];

		if (entries.old[i] || !id)
			continue;
		const row = rowOf(`${pid}/${id}`, () => ({ isCpu: false, pid, id, name: threads.comm[thread] }));
		for (let k = groups.first[i]; k < groups.first[i + 1]; k++) {
			const cpu = groups.cpu[k];

			add(row, k);
			if (cpu >= 0 && entries.event[i] !== data.off)
				add(rowOf(cpu, () => ({ isCpu: true, pid: 0, id: cpu, name: '' })), k);
		}
	}
	return [...found.values()];
}

/*
 * Returns the rows of the block; without any, those of samples: the ones with most samples. The block
 * of off-CPU time has no CPUs: they have samples.
 */
function makeRows(data) {
	const { rows: known } = data.states;

	if (known.some((row) => row.isCpu) || !(data.flags & HAS_TIMES))
		return known;
	const all = countTicks(data).sort((a, b) => b.samples - a.samples);
	const ofKind = (isCpu) => all.filter((row) => row.isCpu === isCpu).slice(0, MOST_ROWS);
	if (known.length)
		return [...known, ...ofKind(true)];
	const rows = [...ofKind(false), ...ofKind(true)];
	const left = all.filter((row) => !row.isCpu).slice(MOST_ROWS);

	data.leftTicks = { count: left.length,
		samples: left.reduce((sum, row) => sum + row.samples, 0) };
	return rows;
}

class Rows {
	constructor(app, box) {
		this.app = app;
		this.box = box;
		this.canvas = box.querySelector('canvas');
		this.space = box.querySelector('.space');
		this.focused = -1;
		this.hasStates = app.data.states.rows.length > 0;
		this.lines = [];
		app.timeline.drawn = () => this.draw();
		box.addEventListener('scroll', () => this.draw());
		new ResizeObserver(() => this.draw()).observe(box);
		this.makeStates();
		this.listen();
	}

	/* The buttons of states, which are the legend of the colors, too. */
	makeStates() {
		const { app } = this, { data } = app, used = new Set(data.entries.state);
		const sums = STATE_ROWS.map((unused, i) => data.rows.reduce((sum, row) =>
			row.isCpu || !row.sums ? sum : sum + row.sums[i], data.states.left ? data.states.left.sums[i] : 0));

		this.stateButtons = ['0', 'off', '1', '2', '3', '4', '5'].filter((state) =>
			this.hasStates && timeIn(sums, state) > 0).map((state) => {
			const button = element('button', stateName(state), { type: 'button', class: `state-${state}` });
			const has = [...used].some((number) => isOfState(number, state));

			button.disabled = !has;
			button.title = has ? formatTime(timeIn(sums, state)) : `${formatTime(timeIn(sums, state))
			}; the recording has no call chains of it (off-CPU time has)`;
			button.addEventListener('click', () => this.selectState(state));
			return { state, button };
		});
		byId('states').replaceChildren(...this.stateButtons.map(({ button }) => button));
		if (this.hasStates && data.states.spans.uncertain.some((mark) => mark))
			byId('states').append(element('span', 'uncertain', { class: 'uncertain', title: UNCERTAIN_TEXT }));
		byId('row-notes').textContent = this.notes();
	}

	notes() {
		const { states, leftTicks } = this.app.data, notes = [];

		if (states.left && states.left.count)
			notes.push(`${formatNumber(states.left.count)} less busy threads have no row, all together: ${
				statesText(states.left.sums)}.`);
		if (leftTicks && leftTicks.count)
			notes.push(`${formatNumber(leftTicks.count)} threads with ${formatNumber(leftTicks.samples)
			} samples in all have no row.`);
		if (states.quantum)
			notes.push(`What is shorter than ${formatTime(states.quantum)} can be merged with its ` +
				'neighbors, to their sum.');
		return notes.join(' ');
	}

	/* Returns the event that has samples of a state: the wall clock, or else the off-CPU time; of the
	 * time on the CPU the event that is shown, or the one with most samples. */
	eventOf(state) {
		const { app } = this, { data } = app, { entries } = data, off = data.events.indexOf('offcpu-time');

		if (data.wall)
			return data.wall.event;
		if (state !== '0' || app.state.event !== off)
			return state === '0' ? app.state.event : off;
		const samples = data.events.map(() => 0);
		for (let i = 0; i < entries.count; i++)
			samples[entries.event[i]] += entries.samples[i];
		samples[off] = -1;
		return samples.indexOf(Math.max(...samples));
	}

	selectState(state) {
		const { app } = this, event = this.eventOf(state);

		app.change({ state: app.state.state === state ? '' : state,
			...event >= 0 && app.state.state !== state ? { event } : {} });
	}

	/* ---- lines: rows, and the names of processes with several ---- */

	makeLines() {
		const { app, isCpu } = this, { data } = app, groups = new Map();
		/* not by the selected state: rows would move below the pointer */
		const weight = (row) => row.sums ? timeIn(row.sums, '') : row.samples;

		data.rows.forEach((row, index) => {
			if (row.isCpu !== isCpu)
				return;
			const key = isCpu ? '' : row.pid;
			const group = groups.get(key) || { rows: [], weight: 0 };
			group.rows.push({ row, index, weight: weight(row) });
			group.weight += weight(row);
			groups.set(key, group);
		});
		return [...groups.entries()].sort(([, a], [, b]) => b.weight - a.weight).flatMap(([pid, group]) => {
			group.rows.sort((a, b) => isCpu ? a.row.id - b.row.id : b.weight - a.weight || a.row.id - b.row.id);
			return isCpu || group.rows.length < 2 ? group.rows :
				[{ title: `process ${pid}: ${formatNumber(group.rows.length)} threads` }, ...group.rows];
		});
	}

	show(state) {
		const { data } = this.app, kinds = { threads: false, cpus: true };
		const has = (isCpu) => data.rows.some((row) => row.isCpu === isCpu);

		byId('rows-panel').hidden = !(data.flags & HAS_TIMES) || !data.rows.length;
		const cpus = byId('rows').querySelector('[value=cpus]');
		cpus.disabled = !has(true);
		cpus.title = has(true) ? '' : 'The samples have no CPU: record all CPUs, or with --sample-cpu.';
		/* the state can be that of a link */
		const shown = state.rows === 'cpus' && !has(true) ? 'threads' : state.rows;
		byId('rows').value = shown;
		this.box.hidden = shown === 'none';
		this.isCpu = kinds[shown] === true;
		this.lines = shown === 'none' ? [] : this.makeLines();
		this.focused = Math.min(this.focused, this.lines.length - 1);
		this.space.style.height = `${this.lines.length * LANE}px`;
		this.box.style.height = `${Math.max(1, this.lines.length) * LANE + 2}px`;
		for (const { state: of, button } of this.stateButtons) {
			button.setAttribute('aria-pressed', String(of === state.state));
			if (of !== 'off')
				button.style.setProperty('--swatch', STATE_ROWS[of][isDark() ? 'dark' : 'light']);
		}
		this.draw();
	}

	isSelected(line) {
		const { state } = this.app;

		return line.row && (line.row.isCpu ? state.cpu === line.row.id : state.row === line.index);
	}

	toggle(line) {
		const selected = this.isSelected(line);

		if (line.row.isCpu)
			this.app.change({ cpu: selected ? null : line.row.id });
		else
			this.app.change({ row: selected ? null : line.index, thread: null, comm: null });
	}

	/* ---- drawing ---- */

	draw() {
		const { canvas, box, lines } = this, ratio = window.devicePixelRatio || 1;
		const width = box.clientWidth, height = box.clientHeight;

		if (!width || !height || !this.app.rows)
			return;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
		const style = getComputedStyle(document.documentElement), context = canvas.getContext('2d');
		context.scale(ratio, ratio);
		context.font = '11px system-ui, sans-serif';
		context.textBaseline = 'middle';
		this.ink = style.getPropertyValue('--ink');
		this.accent = style.getPropertyValue('--accent');
		this.colors = STATE_ROWS.map((row) => row[isDark() ? 'dark' : 'light']);
		this.hatch = context.createPattern(this.makeHatch(style.getPropertyValue('--paper')), 'repeat');
		for (let i = Math.floor(box.scrollTop / LANE); i < lines.length && i * LANE < box.scrollTop + height; i++)
			this.drawLine(context, lines[i], i, i * LANE - box.scrollTop, width);
		this.shade(context, width, height);
	}

	/* Lines of ink beside lines of paper: one of both is seen on each color. */
	makeHatch(paper) {
		const tile = element('canvas', '', { width: 6, height: 6 }), context = tile.getContext('2d');

		for (let x = 0; x < 6; x++) {
			context.fillStyle = this.ink;
			context.fillRect(x, 5 - x, 1, 1);
			context.fillStyle = paper;
			context.fillRect(x, (6 - x) % 6, 1, 1);
		}
		return tile;
	}

	drawLine(context, line, number, y, width) {
		const selected = this.isSelected(line);

		context.fillStyle = selected ? this.accent : this.ink;
		context.font = `${selected || line.title ? '600 ' : ''}11px system-ui, sans-serif`;
		context.fillText(this.fit(context, line.title || this.describe(line.row), width - 6), 3, y + LANE_LABEL / 2 + 1);
		if (line.row)
			this.drawBar(context, line.row, y + LANE_LABEL + 1, width, LANE - LANE_LABEL - 3);
		if (number === this.focused && document.activeElement === this.canvas) {
			context.strokeStyle = this.accent;
			context.lineWidth = 1.5;
			context.strokeRect(1, y + 1, width - 2, LANE - 2);
		}
	}

	describe(row) {
		return `${rowLabel(row)} · ${row.sums ? statesText(row.sums) : `${formatNumber(row.samples)} samples`}`;
	}

	fit(context, text, width) {
		if (context.measureText(text).width <= width)
			return text;
		let length = text.length;

		while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width)
			length = Math.floor(length * 0.9);
		return `${text.slice(0, length)}…`;
	}

	drawBar(context, row, y, width, tall) {
		if (row.ticks)
			this.drawTicks(context, row, y, width, tall);
		else
			this.drawSpans(context, row, y, width, tall);
	}

	drawTicks(context, row, y, width, tall) {
		const { timeline } = this.app, most = Math.max(...row.ticks.values());

		context.fillStyle = this.colors[RUNNING];
		for (const [slice, samples] of row.ticks) {
			const left = timeline.xOf(slice, width), right = timeline.xOf(slice + 1, width);

			if (right < 0 || left > width)
				continue;
			context.globalAlpha = 0.35 + 0.65 * samples / most;
			context.fillRect(left, y, Math.max(1, right - left), tall);
		}
		context.globalAlpha = 1;
	}

	/* Returns the first span of a row that ends behind a time. */
	spanAt(row, time) {
		const { end } = this.app.data.states.spans;
		let low = row.first, high = row.end;

		while (low < high) {
			const middle = low + high >> 1;

			if (end[middle] <= time)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	/* Wide spans are drawn as they are. Those that share a pixel are drawn as the sum of their states. */
	drawSpans(context, row, y, width, tall) {
		const { timeline, data } = this.app, { spans } = data.states;
		const pixel = { at: -1, sums: new Float64Array(STATES), uncertain: 0 };
		const timeOf = (x) => timeline.nsOf(x, width), last = timeOf(width), each = timeOf(1) - timeOf(0);
		const flush = () => {
			if (pixel.at >= 0)
				this.drawParts(context, pixel.sums, each, { left: pixel.at, wide: 1, y, tall, uncertain: pixel.uncertain });
			pixel.sums.fill(0);
			pixel.uncertain = 0;
		};

		for (let k = this.spanAt(row, timeOf(0)); k < row.end && spans.start[k] < last; k++) {
			const left = Math.max(0, timeline.xOfNs(spans.start[k], width));
			const right = Math.min(width, timeline.xOfNs(spans.end[k], width));

			if (right - left < 1) {
				const at = Math.floor(left);

				if (at !== pixel.at)
					flush();
				pixel.at = at;
				pixel.uncertain |= spans.uncertain[k];
				this.addParts(pixel.sums, k);
				continue;
			}
			this.drawParts(context, this.addParts(new Float64Array(STATES), k), spans.end[k] - spans.start[k],
				{ left, wide: right - left, y, tall, uncertain: spans.uncertain[k] });
		}
		flush();
	}

	/* Adds the times of the states of a span. */
	addParts(sums, k) {
		const { spans } = this.app.data.states, length = spans.end[k] - spans.start[k];

		if (spans.state[k] !== MIXED)
			sums[spans.state[k]] += length;
		else
			spans.parts.get(k).forEach((part, state) => { sums[state] += part * length; });
		return sums;
	}

	/* The time on the CPU is below. What is not selected is faint, what may be wrong is hatched. */
	drawParts(context, sums, whole, { left, wide, y, tall, uncertain }) {
		const { state } = this.app.state, x = Math.round(left);
		const right = Math.max(x + 1, Math.round(left + wide));
		let from = y + tall;

		sums.forEach((ns, i) => {
			const part = Math.min(1, ns / whole) * tall;

			from -= part;
			context.globalAlpha = isOfState(i, state) ? 1 : 0.25;
			context.fillStyle = this.colors[i];
			if (part > 0)
				context.fillRect(x, Math.max(y, from), right - x, part);
		});
		context.globalAlpha = 1;
		if (uncertain) {
			context.fillStyle = this.hatch;
			context.fillRect(x, y, right - x, tall);
		}
	}

	/* What is outside of the selected range. */
	shade(context, width, height) {
		const { timeline } = this.app, left = timeline.xOf(timeline.from, width);
		const right = timeline.xOf(timeline.to, width);

		context.fillStyle = this.ink;
		context.globalAlpha = 0.2;
		if (left > 0)
			context.fillRect(0, 0, Math.min(left, width), height);
		if (right < width)
			context.fillRect(Math.max(0, right), 0, width, height);
		context.globalAlpha = 1;
	}

	/* ---- what the user does ---- */

	lineAt(event) {
		const number = Math.floor((event.offsetY + this.box.scrollTop) / LANE);

		return number < this.lines.length ? number : -1;
	}

	/* Returns what a row does at a position, as text. */
	textAt(row, x) {
		const { timeline, data } = this.app, { spans } = data.states, ns = timeline.nsOf(x, this.box.clientWidth);

		if (row.ticks) {
			const slice = Math.floor(ns / data.duration * data.slices);

			return `${formatNumber(row.ticks.get(slice) || 0)} samples at ${formatTime(ns)}`;
		}
		const k = this.spanAt(row, ns);
		if (k >= row.end || spans.start[k] > ns)
			return `${row.isCpu ? 'idle' : 'nothing known'} at ${formatTime(ns)}`;
		const where = `from ${formatTime(spans.start[k])}, for ${formatTime(spans.end[k] - spans.start[k])}`;
		const mark = spans.uncertain[k] ? `, ${UNCERTAIN_TEXT}` : '';
		if (spans.state[k] === MIXED)
			return `${statesText(this.addParts(new Float64Array(STATES), k))}, ${where}, merged${mark}`;
		return `${STATE_ROWS[spans.state[k]].name}${this.threadText(spans.thread[k])}, ${where}${mark}`;
	}

	threadText(tid) {
		const row = tid < 0 ? null : this.app.data.rows.find((other) => !other.isCpu && other.id === tid);

		return tid < 0 ? '' : `: ${row ? rowLabel(row) : `thread ${tid}`}`;
	}

	hover(event) {
		const { app } = this, number = event ? this.lineAt(event) : -1, { row } = this.lines[number] || {};
		const tip = byId('tip');

		tip.hidden = !row;
		app.tipTree = null;
		if (!row)
			return;
		tip.replaceChildren(element('b', rowLabel(row)), element('div', this.textAt(row, event.offsetX)));
		app.placeTip(event);
	}

	focus(number) {
		this.focused = Math.max(0, Math.min(this.lines.length - 1, number));
		const top = this.focused * LANE, { box } = this, line = this.lines[this.focused];

		if (top < box.scrollTop)
			box.scrollTop = top;
		else if (top + LANE > box.scrollTop + box.clientHeight)
			box.scrollTop = top + LANE - box.clientHeight;
		byId('live').textContent = line.title || this.describe(line.row);
		this.draw();
	}

	press(event) {
		const { focused } = this, page = Math.floor(this.box.clientHeight / LANE), line = this.lines[focused];
		const moves = { ArrowUp: focused - 1, ArrowDown: focused + 1, PageUp: focused - page, PageDown: focused + page,
			Home: 0, End: this.lines.length - 1 };

		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (Object.hasOwn(moves, event.key)) {
			this.focus(moves[event.key]);
		} else if (event.key === 'Enter' || event.key === ' ') {
			if (line && line.row)
				this.toggle(line);
		} else {
			this.app.timeline.press(event);
			return;
		}
		event.preventDefault();
	}

	listen() {
		const { canvas, app } = this;

		app.timeline.selectBy(canvas, (event) => {
			const line = this.lines[this.lineAt(event)];

			if (line && line.row)
				this.toggle(line);
		});
		canvas.addEventListener('mousemove', (event) => this.hover(event));
		canvas.addEventListener('mouseleave', () => this.hover(null));
		canvas.addEventListener('focus', () => this.focus(this.focused));
		canvas.addEventListener('blur', () => this.draw());
		canvas.addEventListener('keydown', (event) => this.press(event));
		byId('rows').addEventListener('change', (event) => app.change({ rows: event.target.value }));
		byId('zoom-in').addEventListener('click', () => app.timeline.zoomToRange());
		byId('zoom-out').addEventListener('click', () => app.timeline.zoom(null));
	}
}
