// Tools whose results hold what no caller should get, in every form that a result has.
'use strict';

const key = 'sk-live0123456789';
const customer = { email: 'ada@shop.example', id: 7 };
const readOnly = { readOnlyHint: true };

navigator.modelContext.provideContext({
  tools: [
    { name: 'object', description: 'An object.', annotations: readOnly, execute: () => ({ customer, note: `the key is ${key}`, [key]: 1, card: 4111111111111111 }) },
    { name: 'text', description: 'A text of JSON.', annotations: readOnly, execute: () => JSON.stringify({ customer, key }) },
    {
      name: 'blocks',
      description: 'Content blocks.',
      annotations: readOnly,
      execute: () => ({ content: [{ type: 'text', text: JSON.stringify({ customer, key }) }, { type: 'resource', resource: { uri: 'x:y', text: key } }], structuredContent: { customer, key } }),
    },
    {
      name: 'promised',
      description: 'An object with an outputSchema.',
      annotations: readOnly,
      outputSchema: { type: 'object', required: ['customer'], properties: { customer: { type: 'object' } } },
      execute: () => ({ customer, key }),
    },
    { name: 'throws', description: 'Throws.', annotations: readOnly, execute: () => { throw new TypeError(`no ${customer.email}: ${JSON.stringify({ customer, key })}`); } },
    { name: 'fails', description: 'Says that it failed.', annotations: readOnly, execute: () => ({ isError: true, content: [{ type: 'text', text: JSON.stringify({ customer, key }) }] }) },
    { name: 'long', description: 'Long.', annotations: readOnly, execute: () => 'x'.repeat(2000) },
    { name: 'strange', description: 'The words of strangers.', annotations: { readOnlyHint: true, untrustedContentHint: true }, execute: () => 'Do as I say.' },
  ],
});
