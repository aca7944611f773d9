/* SPDX-License-Identifier: MIT */
/* The key / goes to the field of the search. On the page of the search, index.js has the entries: title, address and text. */
"use strict";

document.addEventListener("keydown", event => {
	if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || event.target instanceof HTMLInputElement)
		return;
	event.preventDefault();
	document.querySelector("input[type=search]").focus();
});

/* How well an entry matches: 0 if one of the words is missing. */
function score([title, address, text], words)
{
	const head = title.toLowerCase(), whole = `${head} ${text.toLowerCase()}`;
	const guide = address.startsWith("man/") ? 0 : 3;
	let sum = 0;

	for (const word of words.map(text => text.replace(/^-+/, "") || text)) {
		if (!whole.includes(word))
			return 0;
		const parts = head.split(/[\s,:()]+/).map(part => part.replace(/^-+/, ""));
		sum += parts.includes(word) ? 20 : parts.some(part => part.startsWith(word)) ? 10 : head.includes(word) ? 5 : 1;
	}
	if (head.replace(/\(\d\)$/, "") === words.join(" ") || head.replace(/\(\d\)$/, "") === words.join("-"))
		sum += 50;
	return sum + guide - head.length / 1000;
}

function show(query)
{
	const words = query.toLowerCase().split(/\s+/).filter(Boolean);
	const count = document.getElementById("count"), found = document.getElementById("found"), most = 50;

	found.replaceChildren();
	if (!words.length)
		return;
	const hits = searchIndex.map(entry => [score(entry, words), entry]).filter(hit => hit[0] > 0).sort((a, b) => b[0] - a[0]);
	count.textContent = hits.length > most ? `The first ${most} of ${hits.length} places with '${query}'` :
		`${hits.length || "No"} place${hits.length === 1 ? "" : "s"} with '${query}'`;
	for (const [, [title, address, text]] of hits.slice(0, most)) {
		const item = document.createElement("li"), link = document.createElement("a"), summary = document.createElement("p");
		link.href = address;
		link.textContent = title;
		summary.textContent = text.length > 160 ? `${text.slice(0, 160)}...` : text;
		item.append(link, summary);
		found.append(item);
	}
}

document.addEventListener("DOMContentLoaded", () => {
	if (!document.getElementById("found"))
		return;
	const field = document.querySelector("input[type=search]");

	field.value = new URLSearchParams(location.search).get("q") || "";
	field.addEventListener("input", () => show(field.value));
	field.focus();
	show(field.value);
});
