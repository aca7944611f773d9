/* SPDX-License-Identifier: MIT */
/*
 * A tree as a flame graph (root below) or icicle graph (root above) on a canvas. The canvas has the
 * size of what is visible; a box around it scrolls, and what is visible is drawn. To print, the
 * canvas has the whole tree. Strips of it have the width of the paper, because a browser begins a
 * new page between canvases, but not in one.
 */

const ROW = 18, NARROW = 0.5, FONT = '11px ui-monospace, Menlo, Consolas, monospace';
const ZOOM_MS = 180, PRINT_WIDTH = 1000, PRINT_PIXELS = 16e6;
const STRIP = 4, PAGE_ROWS = 50; /* rows of a strip, and of the first page */

class FlameGraph {
	/* handlers: zoom(node), focus(node), open(node) */
	constructor(box, handlers) {
		this.box = box;
		this.handlers = handlers;
		this.space = box.querySelector('.space');
		this.canvas = box.querySelector('canvas');
		this.context = this.canvas.getContext('2d');
		this.tree = null;
		this.zoomed = this.focused = 0;
		this.hovered = -1;
		this.hidden = 0;
		this.frames = [];
		box.addEventListener('scroll', () => this.scrolledTo());
		new ResizeObserver(() => {
			this.resize();
			this.scrollBack();
		}).observe(box);
		this.listen();
	}

	/* Shows a tree. path: what is zoomed in. */
	show(tree, options) {
		const same = this.tree !== null && this.icicle === options.icicle;

		Object.assign(this, { tree, colors: options.colors, icicle: options.icicle });
		this.zoomed = this.focused = tree.find(options.path || []);
		this.hovered = -1;
		this.range = this.rangeOf(this.zoomed);
		this.levels = 1;
		for (let i = 0; i < tree.count; i++)
			if (tree.depth[i] >= this.levels && tree.total[i] > 0)
				this.levels = tree.depth[i] + 1;
		this.space.style.height = `${this.levels * ROW}px`;
		this.box.style.height = `${this.levels * ROW + 2}px`; /* with its border */
		this.resize();
		if (!same)
			this.fromRoot = 0;
		this.scrollBack();
		this.requestDraw();
	}

	/* Returns the last position of the scroll bar. */
	end() {
		return this.space.offsetHeight - this.box.clientHeight;
	}

	/* The distance from the root stays when the tree gets other levels, and after printing. */
	scrollBack() {
		if (this.tree && !this.printing)
			this.box.scrollTop = this.icicle ? this.fromRoot : this.end() - this.fromRoot;
	}

	scrolledTo() {
		const { box } = this;

		if (!this.tree || this.printing || !box.clientHeight)
			return;
		this.fromRoot = this.icicle ? box.scrollTop : Math.max(0, this.end() - box.scrollTop);
		this.requestDraw();
	}

	rangeOf(node) {
		return { from: this.tree.start[node], width: this.tree.total[node] || 1 };
	}

	resize() {
		const { box, canvas } = this;

		if (this.printing && this.tree) {
			this.width = PRINT_WIDTH;
			this.height = this.levels * ROW;
			this.ratio = Math.min(2, Math.sqrt(PRINT_PIXELS / this.width / this.height));
			this.ratio = Math.ceil(this.ratio * ROW) / ROW; /* rows have whole pixels */
		} else {
			this.width = box.clientWidth;
			this.height = box.clientHeight;
			this.ratio = window.devicePixelRatio || 1;
		}
		canvas.width = Math.round(this.width * this.ratio);
		canvas.height = Math.round(this.height * this.ratio);
		canvas.style.width = `${this.width}px`;
		canvas.style.height = `${this.height}px`;
		this.draw();
	}

	/* printing: the whole graph is drawn, until it is called with false. The root is above if the
	 * graph is longer than a page. */
	print(printing) {
		this.printing = printing;
		this.rootAbove = printing && this.levels > PAGE_ROWS;
		if (printing && this.motion) {
			this.range = this.motion.to;
			this.motion = null;
		}
		this.resize();
		this.scrollBack();
		for (const strip of this.box.querySelectorAll('.strip'))
			strip.remove();
		if (printing)
			this.addStrips();
	}

	/* The strips are bitmaps: Chromium prints what was drawn on a canvas just now in another size. */
	addStrips() {
		const { canvas, box } = this, tall = Math.round(STRIP * ROW * this.ratio);

		for (let y = 0; y < canvas.height; y += tall) {
			const part = new OffscreenCanvas(canvas.width, Math.min(tall, canvas.height - y));
			const strip = element('canvas', '', { class: 'strip', width: part.width, height: part.height });

			part.getContext('2d').drawImage(canvas, 0, -y);
			strip.getContext('bitmaprenderer').transferFromImageBitmap(part.transferToImageBitmap());
			box.append(strip);
		}
	}

	/* Returns how far the canvas is below the upper end of the graph. */
	top() {
		return this.printing ? 0 : this.box.scrollTop;
	}

	requestDraw() {
		if (this.pending)
			return;
		this.pending = true;
		requestAnimationFrame((now) => {
			this.pending = false;
			this.step(now);
			this.draw();
		});
	}

	/* Moves the visible range towards the zoomed frame. */
	step(now) {
		if (!this.motion)
			return;
		const { from, to, start } = this.motion, part = Math.min(1, (now - start) / ZOOM_MS);
		const eased = 1 - (1 - part) ** 3;

		this.range = {
			from: from.from + (to.from - from.from) * eased,
			width: from.width + (to.width - from.width) * eased,
		};
		if (part < 1)
			this.requestDraw();
		else
			this.motion = null;
	}

	/* ---- drawing ---- */

	rowOf(depth) {
		const row = this.icicle || this.rootAbove ? depth : Math.max(this.levels, this.height / ROW) - 1 - depth;

		return row * ROW - this.top();
	}

	draw() {
		if (!this.tree || !this.width)
			return;
		const { context, tree, range, width, height } = this, scale = width / range.width;
		const stack = [0];

		context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		context.clearRect(0, 0, width, height);
		context.font = FONT;
		context.textBaseline = 'middle';
		this.letter = this.letter || context.measureText('mmmmmmmmmm').width / 10;
		this.hidden = 0;
		while (stack.length) {
			const node = stack.pop(), wide = tree.total[node] * scale;
			const x = (tree.start[node] - range.from) * scale;

			if (x >= width || x + wide <= 0)
				continue;
			if (wide < NARROW) {
				if (tree.total[node] > 0)
					this.hidden += tree.size[node];
				continue;
			}
			this.drawFrame(node, Math.max(0, x), Math.min(width, x + wide));
			for (let i = tree.firstChild[node]; i < tree.firstChild[node + 1]; i++)
				stack.push(tree.children[i]);
		}
		if (this.focused || document.activeElement === this.canvas)
			this.drawOutline(this.focused, 2);
		if (this.hovered >= 0)
			this.drawOutline(this.hovered, 1);
		this.handlers.drawn(this);
	}

	drawFrame(node, left, right) {
		const { context, tree, colors } = this, y = this.rowOf(tree.depth[node]);
		const width = right - left;

		if (y < -ROW || y > this.height)
			return;
		context.fillStyle = this.matches && this.matches[tree.key[node]] ?
			colors.dark ? '#8e2bb8' : '#e58cff' : colors.of(tree, node);
		context.globalAlpha = tree.depth[node] < tree.depth[this.zoomed] ? 0.55 : 1;
		context.fillRect(left, y, width > 2 ? width - 0.6 : width, ROW - 1);
		if (width > 4 * this.letter) {
			context.fillStyle = colors.text;
			context.fillText(this.fit(tree.keys.label(tree.key[node]), width - 6), left + 3,
				y + ROW / 2);
		}
		context.globalAlpha = 1;
	}

	/* Returns the text, cut to a width. */
	fit(text, width) {
		const most = Math.floor(width / this.letter);

		return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
	}

	drawOutline(node, thick) {
		const { context, range, width, tree } = this, scale = width / range.width;
		const left = Math.max(0, (tree.start[node] - range.from) * scale);
		const right = Math.min(width, (tree.start[node] + tree.total[node] - range.from) * scale);

		if (right <= left)
			return;
		context.strokeStyle = this.colors.text;
		context.lineWidth = thick;
		context.strokeRect(left + thick / 2, this.rowOf(tree.depth[node]) + thick / 2,
			Math.max(1, right - left - thick), ROW - 1 - thick);
	}

	/* ---- what the user does ---- */

	/* Returns the frame at a position of the canvas; -1 if there is none. */
	frameAt(x, y) {
		const { tree, range, width } = this;
		const at = range.from + x / width * range.width;
		const row = Math.floor((y + this.box.scrollTop) / ROW);
		const depth = this.icicle ? row :
			Math.ceil(Math.max(this.levels, this.height / ROW) - 1 - (y + this.box.scrollTop) / ROW);
		let node = 0;

		while (node >= 0 && tree.depth[node] < depth)
			node = this.childAt(node, at);
		return node >= 0 && tree.total[node] * width / range.width >= NARROW ? node : -1;
	}

	childAt(node, at) {
		const { tree } = this;
		let low = tree.firstChild[node], high = tree.firstChild[node + 1];

		while (low < high) {
			const middle = low + high >> 1, child = tree.children[middle];

			if (at < tree.start[child])
				high = middle;
			else if (at >= tree.start[child] + tree.total[child])
				low = middle + 1;
			else
				return child;
		}
		return -1;
	}

	/* Zooms so that a frame has the whole width. */
	zoom(node) {
		const still = window.matchMedia('(prefers-reduced-motion: reduce)').matches;

		this.zoomed = this.focused = node;
		if (still) {
			this.motion = null;
			this.range = this.rangeOf(node);
		} else {
			this.motion = { from: this.range, to: this.rangeOf(node), start: performance.now() };
		}
		this.reveal(node);
		this.requestDraw();
		this.handlers.zoomed(this, node);
	}

	focus(node) {
		const { start, total } = this.tree, { from, width } = this.motion ?
			this.motion.to : this.range;

		this.focused = node;
		this.reveal(node);
		if (start[node] < from || start[node] + total[node] > from + width)
			this.zoom(node);
		this.requestDraw();
		this.handlers.focused(this, node);
	}

	/* Scrolls to the row of a frame. */
	reveal(node) {
		const y = this.rowOf(this.tree.depth[node]);

		if (y < 0)
			this.box.scrollTop += y;
		else if (y + ROW > this.height)
			this.box.scrollTop += y + ROW - this.height;
	}

	hover(event) {
		const node = event ? this.frameAt(event.offsetX, event.offsetY) : -1;

		if (node !== this.hovered) {
			this.hovered = node;
			this.requestDraw();
		}
		this.canvas.style.cursor = node >= 0 ? 'pointer' : 'default';
		this.handlers.hovered(this, node, event);
	}

	/* The frame beside the focused one that has samples: step is 1 or -1. */
	sibling(step) {
		const { tree, focused } = this;

		if (!focused)
			return -1;
		const row = Array.from(tree.childrenOf(tree.parent[focused])).filter(
			(node) => tree.total[node] > 0);
		const at = row.indexOf(focused) + step;
		return at >= 0 && at < row.length ? row[at] : -1;
	}

	heaviestChild() {
		const { tree } = this;

		return tree.childrenOf(this.focused).reduce((best, node) => tree.total[node] > 0 &&
			(best < 0 || tree.total[node] > tree.total[best]) ? node : best, -1);
	}

	keyTarget(key) {
		const { tree, focused } = this;
		const inward = this.icicle ? 'ArrowDown' : 'ArrowUp';

		switch (key) {
		case 'ArrowLeft': return this.sibling(-1);
		case 'ArrowRight': return this.sibling(1);
		case 'ArrowUp':
		case 'ArrowDown': return key === inward ? this.heaviestChild() : tree.parent[focused];
		case 'Home': return 0;
		default: return -1;
		}
	}

	/* Returns whether it is a key of the graph. */
	press(key) {
		const node = this.keyTarget(key);

		if (node >= 0)
			this.focus(node);
		else if (key === 'Enter' || key === ' ')
			this.zoom(this.focused);
		else if (key === 'Backspace')
			this.zoom(Math.max(0, this.tree.parent[this.zoomed]));
		else if (key === 'Escape' || key === '0')
			this.zoom(0);
		return node >= 0 || /^(Arrow(Up|Down|Left|Right)|Home|Enter| |Backspace|Escape|0)$/.test(key);
	}

	listen() {
		const { canvas } = this;

		canvas.addEventListener('focus', () => this.requestDraw());
		canvas.addEventListener('blur', () => this.requestDraw());
		canvas.addEventListener('mousemove', (event) => this.hover(event));
		canvas.addEventListener('mouseleave', () => this.hover(null));
		canvas.addEventListener('click', (event) => {
			const node = this.frameAt(event.offsetX, event.offsetY);

			if (node < 0)
				return;
			if (event.shiftKey)
				this.handlers.opened(this, node);
			else
				this.zoom(node);
			this.handlers.focused(this, node);
		});
		canvas.addEventListener('keydown', (event) => {
			if (!event.ctrlKey && !event.metaKey && !event.altKey && this.press(event.key))
				event.preventDefault();
		});
	}
}
