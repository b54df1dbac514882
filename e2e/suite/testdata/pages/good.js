// Tools that do what they say.
'use strict';

const reads = { readOnlyHint: true };
const anything = { type: 'object', properties: {} };

const goodTools = [
  {
    name: 'echo', description: 'Returns its arguments.', annotations: reads,
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string', description: 'A text' }, count: { type: 'integer' }, ratio: { type: 'number' }, yes: { type: 'boolean' },
        list: { type: 'array' }, map: { type: 'object' }, maybe: { type: ['string', 'null'] }, any: {},
      },
    },
    execute: (input) => input,
  },
  { name: 'say', description: 'Returns text blocks.', annotations: reads, inputSchema: anything, execute: () => ({ content: [{ type: 'text', text: 'one' }, { type: 'text', text: 'two' }] }) },
  {
    name: 'change', description: 'Changes something.',
    inputSchema: { type: 'object', properties: { what: { type: 'string' }, secret: { type: 'string' } }, required: ['what'] },
    execute: ({ what }) => `changed ${what}`,
  },
  { name: 'hold', description: 'Waits until the server answers.', annotations: reads, inputSchema: anything, execute: async () => (await fetch('/hold')).text() },
  { name: 'refuse', description: 'Says that it failed.', annotations: reads, inputSchema: anything, execute: () => ({ isError: true, content: [{ type: 'text', text: 'not today' }] }) },
];
for (const tool of goodTools) document.modelContext.registerTool(tool);
