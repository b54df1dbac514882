// Tools whose results are more than JSON.parse gives, and tools that promise what they return.
'use strict';

const typed = (name, execute, outputSchema) => document.modelContext.registerTool({
  name, description: `Returns ${name}.`, inputSchema: { type: 'object', properties: {} }, outputSchema, annotations: { readOnlyHint: true }, execute,
});
typed('numbers', () => ({ huge: 2n ** 64n, exact: JSON.rawJSON('12345678901234567890'), when: new Date(0) }));
typed('picture', () => document.querySelector('canvas'));
typed('mixed', () => ({ note: 'a file', file: new File(['abc'], 'a.csv', { type: 'text/csv' }) }));
typed('tainted', () => ({ at: [() => 1] }));
const price = { type: 'object', properties: { price: { type: 'number' } }, required: ['price'] };
typed('kept', () => ({ price: 1.5 }), price);
typed('broken', () => ({ price: 'much' }), price);
typed('listed', () => ['a'], { type: 'array', items: { type: 'string' } });
typed('with.dot', () => 1);
