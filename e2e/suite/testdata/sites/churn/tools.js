// A page that changes its own tools again and again, in bursts, while a call of it runs.
'use strict';

const readOnly = { readOnlyHint: true };

/** The tools that come and go, by name. */
const there = new Map();
/** What registerTool has promised. */
let promised = [];

function turn(name) {
  const controller = there.get(name);
  if (controller) {
    controller.abort();
    there.delete(name);
    return;
  }
  const made = new AbortController();
  const tool = { name, description: `A tool that comes and goes: ${name}.`, inputSchema: { type: 'object' }, annotations: readOnly, execute: () => `I am ${name}.` };
  promised.push(document.modelContext.registerTool(tool, { signal: made.signal }).catch(() => {})); // it may go before it has come
  there.set(name, made);
}

document.modelContext.registerTool({
  name: 'churn', description: 'Changes the tools of this page as often as it is told, in so many seconds.', annotations: readOnly,
  inputSchema: { type: 'object', properties: { changes: { type: 'integer' }, seconds: { type: 'number' } }, required: ['changes', 'seconds'] },
  async execute({ changes, seconds }) {
    const began = performance.now();
    for (let i = 1, dice = 7; i <= changes; i++) {
      dice = dice * 48271 % 2147483647;
      turn(`t${dice % 23}`);
      if (dice % 8 === 0 || i === changes) { // the end of a burst
        const left = began + seconds * 1000 * i / changes - performance.now();
        await new Promise((resolve) => setTimeout(resolve, left));
      }
    }
    await Promise.all(promised);
    promised = [];
    turn('last'); // right before the call ends, so that its notice is the last one
    await Promise.all(promised);
    return { tools: ['churn', ...there.keys()].sort() };
  },
});
