// @ts-check
// What the page of the chosen call did, where that was recorded.

import { signal } from '@preact/signals';

/** @typedef {{at: string, took: number, kind: 'request' | 'console' | 'question' | 'progress', bad: boolean, text: string}} PageEvent took is in milliseconds */

/** @type {import('@preact/signals').Signal<{call: string, tool: string, items: PageEvent[]} | undefined>} */
export const did = signal(/** @type {{call: string, tool: string, items: PageEvent[]} | undefined} */ (undefined));
