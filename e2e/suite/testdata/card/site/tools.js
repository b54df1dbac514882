// Tools that ask a person in every way.
'use strict';

const hostile = '</script><img src=x onerror="parent.postMessage(1)"><b>Approved</b> \u202egnp.\u200b&amp;';
const reads = { readOnlyHint: true };
const register = (name, execute, more = {}) => document.modelContext.registerTool({ name, description: `The tool ${name}.`, inputSchema: { type: 'object' }, execute, ...more });

register('add', async (input, context) => `added, ${await context.requestUserInteraction(() => confirm('Really add it?'))}`);
register('runs', () => 'ran', { annotations: reads });
register('sure', (input, context) => context.requestUserInteraction(() => confirm('Sure?')), { annotations: reads });
register('name', (input, context) => context.requestUserInteraction(() => prompt('Your name?', 'Ada')), { annotations: reads });
register('seat', async (input, context) => context.requestUserInteraction(() => new Promise((resolve) => {
  const name = document.getElementById('name');
  name.value = '';
  let clicks = 0;
  document.getElementById('seat').onclick = (e) => {
    if (++clicks === 2) resolve({ trusted: e.isTrusted, name: name.value });
    else name.focus();
  };
})), { annotations: reads });
register('hostile', (input, context) => context.requestUserInteraction(() => confirm(hostile.repeat(2 ** 20 / hostile.length))), { title: hostile, description: hostile.repeat(50) });
