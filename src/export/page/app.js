/* SPDX-License-Identifier: MIT */
/* The page: its state, and what is made again when the state changes. */

const byId = (id) => document.getElementById(id);

/* Members of the state that select samples, that make the tree, and that only draw it. */
const SELECTING = ['event', 'comm', 'thread', 'cpu', 'row', 'state', 'from', 'to', 'samples'];
const BUILDING = ['group', 'recursion', 'lines', 'byWeight'];

class App {
	constructor(data) {
		this.data = data;
		this.keys = new Keys(data);
		for (const group of ['command', 'thread']) /* the same numbers in each link */
			for (let i = 0; i < data.threads.count; i++)
				this.keys.ofName(groupName(data, group, i));
		this.state = readFragment(location.hash, data);
		const handlers = {
			zoomed: (graph, node) => this.zoomed(graph, node),
			focused: (graph, node) => this.focused(graph, node),
			hovered: (graph, node, event) => this.showTip(graph, node, event),
			opened: (graph, node) => this.open(graph.tree.key[node]),
			drawn: (graph) => this.drawn(graph),
		};
		this.flame = new FlameGraph(byId('flame'), handlers);
		this.callers = new FlameGraph(byId('callers'), handlers);
		this.callees = new FlameGraph(byId('callees'), handlers);
		this.timeline = new Timeline(byId('timeline'), (from, to) => this.change({ from, to }));
		this.rows = new Rows(this, byId('rows-box'));
		this.functions = new FunctionTable(this, byId('sandwich'));
		this.callTree = new CallTree(this, byId('tree'));
		this.controls = new Controls(this);
		this.update(true, true);
	}

	/* Changes the state. keep: the change makes no step in the browser's history. */
	change(changes, keep) {
		const changed = (names) => names.some((name) => name in changes &&
			changes[name] !== this.state[name]);
		const selects = changed(SELECTING), builds = selects || changed(BUILDING);

		Object.assign(this.state, changes);
		this.update(selects, builds);
		const fragment = `#${writeFragment(this.state, this.data)}`;
		if (keep)
			history.replaceState(null, '', fragment);
		else if (fragment !== location.hash)
			history.pushState(null, '', fragment);
	}

	/* Shows the state that the address has now. */
	followLink() {
		this.state = readFragment(location.hash, this.data);
		this.update(true, true);
	}

	update(selects, builds) {
		const { state, data, keys } = this;

		if (selects) {
			this.weights = weigh(data, state);
			this.lineCache = new Map();
		}
		if (builds) {
			const sums = { total: this.weights.total, totalOld: this.weights.totalOld };

			this.tree = buildTree(data, keys, this.weights, state);
			/* a frame of a merged tree can have less than the total of its function */
			this.plain = state.recursion ? buildTree(data, keys, this.weights,
				{ ...state, recursion: false }) : this.tree;
			this.tree.sums = sums;
			this.sums = sumFunctions(this.plain);
			this.butterflyOf = null;
		}
		this.colors = new Colors(keys, state.color, isDark());
		this.search();
		this.controls.show(selects);
		this.showViews();
		this.functions.show(this.sums, { sort: state.sort, regexp: this.regexp });
		if (data.flags & HAS_TIMES)
			this.timeline.show(sumSlices(data, state), { from: state.from, to: state.to,
				duration: data.duration, samples: this.weights.allSamples });
		this.rows.show(state);
	}

	showViews() {
		const { state, colors } = this, path = state.path ? state.path.split('.').map(Number) : [];

		for (const view of CHOICES.view)
			byId(`view-${view}`).hidden = state.view !== view;
		if (state.view === 'flame')
			this.flame.show(this.tree, { colors, path, icicle: state.icicle });
		else if (state.view === 'tree') {
			this.callTree.show(this.tree);
			this.showPruned(0);
		} else
			this.showButterfly();
		const graph = state.view === 'tree' ? this.flame : this.graph();
		this.describe(graph.tree || this.tree, graph.tree ? graph.zoomed : 0);
	}

	showButterfly() {
		const { state, colors } = this, { fn } = state;

		if (this.butterflyOf !== fn) {
			this.butterfly = buildButterfly(this.plain, fn, state);
			this.butterfly.callers.sums = this.butterfly.callees.sums = this.tree.sums;
			this.butterflyOf = fn;
		}
		byId('butterfly-name').textContent = this.data.functions.name[fn];
		this.callers.show(this.butterfly.callers, { colors, icicle: false });
		this.callees.show(this.butterfly.callees, { colors, icicle: true });
	}

	graph() {
		return this.state.view === 'butterfly' ? this.callees : this.flame;
	}

	/* ---- search ---- */

	/* Finds the functions that match, and the share of their samples. */
	search() {
		const { state, keys, plain: tree } = this, matches = [];

		this.regexp = this.searchError = null;
		if (state.search) {
			try {
				this.regexp = new RegExp(state.search, 'i');
			} catch (error) {
				this.searchError = error.message;
			}
		}
		this.matched = 0;
		if (this.regexp) {
			const inside = new Uint8Array(tree.count);

			for (let i = 1; i < tree.count; i++) {
				const key = tree.key[i];

				if (matches[key] === undefined)
					matches[key] = this.regexp.test(keys.label(key));
				inside[i] = inside[tree.parent[i]] || matches[key] ? 1 : 0;
				if (matches[key] && !inside[tree.parent[i]])
					this.matched += tree.total[i];
			}
		}
		for (const graph of [this.flame, this.callers, this.callees])
			graph.matches = this.regexp ? matches : null;
	}

	/* ---- what graphs report ---- */

	zoomed(graph, node) {
		if (graph !== this.flame)
			return;
		this.state.path = this.tree.path(node).join('.');
		history.replaceState(null, '', `#${writeFragment(this.state, this.data)}`);
		byId('out').disabled = node === 0;
	}

	focused(graph, node) {
		this.describe(graph.tree, node);
		this.say(graph.tree, node);
	}

	/* Shows the callers and callees of a function. */
	open(key) {
		const fn = this.keys.functionOf(key);

		if (fn >= 0)
			this.change({ view: 'butterfly', fn });
	}

	drawn(graph) {
		if (graph === this.graph() && this.state.view !== 'tree')
			this.showPruned(graph.hidden);
	}

	showPruned(hidden) {
		const text = hidden ? `${formatNumber(hidden)} frames are narrower than half ` +
			'a pixel and are not drawn; zoom in to see them.' : '';
		if (byId('pruned').textContent !== text)
			byId('pruned').textContent = text;
	}

	/* ---- texts ---- */

	linesOf(fn) {
		if (!this.lineCache.has(fn))
			this.lineCache.set(fn, sumLines(this.data, this.weights, fn));
		return this.lineCache.get(fn);
	}

	changeOfSum(row) {
		const { total, totalOld } = this.weights;

		return (total ? row.total / total : 0) - (totalOld ? row.old / totalOld : 0);
	}

	/* without: the name of a row that is left out */
	fillDescription(box, tree, node, without) {
		const list = element('dl');

		for (const [name, value] of describeNode(this, tree, node).filter(([row]) => row !== without))
			list.append(element('dt', name), element('dd', value));
		box.replaceChildren(element('b', tree.keys.label(tree.key[node])), list);
	}

	/* Shows what is to say about a frame below the graph. A table has the lines. */
	describe(tree, node) {
		const fn = tree.keys.functionOf(tree.key[node]), { state } = this;

		this.described = { tree, node };
		this.fillDescription(byId('detail'), tree, node, 'Lines');
		if (fn >= 0 && !(state.view === 'butterfly' && state.fn === fn)) {
			const button = element('button', 'Callers and callees', { type: 'button' });

			button.addEventListener('click', () => this.open(tree.key[node]));
			byId('detail').append(button);
		}
		showLines(byId('source-lines'), fn >= 0 ? this.linesOf(fn) : [], tree.sums.total);
	}

	/* For screen readers. */
	say(tree, node) {
		byId('live').textContent = `${tree.keys.label(tree.key[node])}, ` +
			`${formatShare(tree.total[node], tree.sums.total)}, level ${tree.depth[node]}`;
	}

	showTip(graph, node, event) {
		const tip = byId('tip');

		tip.hidden = node < 0;
		if (node < 0)
			return;
		if (this.tipOf !== node || this.tipTree !== graph.tree)
			this.fillDescription(tip, graph.tree, node);
		this.tipOf = node;
		this.tipTree = graph.tree;
		this.placeTip(event);
	}

	placeTip(event) {
		const tip = byId('tip'), { width, height } = tip.getBoundingClientRect();
		const left = Math.min(event.clientX + 14, window.innerWidth - width - 6);
		const below = event.clientY + 18 + height < window.innerHeight;
		tip.style.left = `${Math.max(4, left)}px`;
		tip.style.top = `${below ? event.clientY + 18 : Math.max(4, event.clientY - height - 10)}px`;
	}

	/* Returns the view as text. */
	text() {
		const { state } = this;

		if (state.view === 'butterfly')
			return `callers of\n${treeText(this.butterfly.callers, 0, 0.001)}\n` +
				`callees of\n${treeText(this.butterfly.callees, 0, 0.001)}`;
		return treeText(this.tree, state.view === 'flame' ? this.flame.zoomed : 0, 0.001);
	}
}

function isDark() {
	return document.documentElement.classList.contains('dark');
}
