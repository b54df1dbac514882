// A page whose list changes: each tool here changes it in one of the ways that there are.
'use strict';

const context = navigator.modelContext;
const tool = (name, execute = () => name) => ({ name, description: `The tool ${name}.`, inputSchema: { type: 'object', properties: {} }, execute });
let abort = new AbortController();

const base = () => [
  tool('register', () => { document.modelContext.registerTool(tool('registered')); return 'done'; }),
  tool('register-signal', () => { abort = new AbortController(); document.modelContext.registerTool(tool('signalled'), { signal: abort.signal }); return 'done'; }),
  tool('abort', () => { abort.abort(); return 'done'; }),
  tool('unregister', () => { navigator.modelContext.unregisterTool('registered'); return 'done'; }),
  tool('replace', () => { context.provideContext({ tools: [...base(), tool('second')] }); return 'done'; }),
];

context.provideContext({ tools: [tool('gone-at-once')] });
context.provideContext({ tools: base() });
// Late: after the load event, and within the time that a page has to be opened.
addEventListener('load', () => { setTimeout(() => document.modelContext.registerTool(tool('late')), 50); });
