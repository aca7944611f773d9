/* SPDX-License-Identifier: MIT */
/* Starts the page. */

async function start() {
	try {
		const app = new App(readData(await readBlock(byId('data'))));

		performance.mark('drawn');
		/* for tests, and for the console of the browser */
		Object.defineProperty(window, 'perch', { value: app });
	} catch (error) {
		byId('summary').textContent = `The page cannot be shown: ${error.message}`;
		throw error;
	}
}

start();
