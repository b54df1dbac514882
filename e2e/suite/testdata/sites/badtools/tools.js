// Tools that make a client lose its whole list when they reach it as they are, between two good ones. The kinds are those of
// which a client is known that does. What the interface itself refuses is in the result of the tool refused.
'use strict';

const object = (more) => ({ type: 'object', properties: {}, ...more });
/** A schema that is not an object: registerTool asks for one, and what counts is what it says as JSON. */
const json = (value) => ({ toJSON: () => value });
const refusals = {};

const good = (name) => ({ name, description: 'A good tool.', inputSchema: object(), annotations: { readOnlyHint: true }, execute: () => `I am ${name}.` });
const input = (name, inputSchema, more) => ({ ...good(name), description: `Its input schema is bad: ${name}.`, inputSchema, ...more });
const output = (name, outputSchema, result) => ({ ...good(name), description: `Its output schema is bad: ${name}.`, outputSchema, execute: () => result });

const tools = [
  good('good-first'),
  { ...good('refused'), description: 'Which of the tools the page could not register.', execute: () => refusals },

  input('no-type', { properties: { a: { type: 'string' } } }),
  input('type-string', { type: 'string' }),
  input('type-list', { type: ['object', 'null'] }),
  input('schema-true', json(true)),
  input('schema-null', json(null)),
  input('properties-list', { type: 'object', properties: [] }),
  input('required-string', { type: 'object', properties: { x: {} }, required: 'x' }),
  input('property-true', object({ properties: { anything: true } })),
  input('draft-04', { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object', properties: { n: { type: 'number', minimum: 0, exclusiveMinimum: true } } }),
  input('bad-pattern', object({ properties: { a: { type: 'string', pattern: '([' } } })),
  input('http-reference', object({ properties: { a: { $ref: 'https://schemas.example/a.json' } } })),
  input('file-reference', object({ properties: { a: { $ref: 'file:///etc/hostname' } } })),
  input('lost-reference', object({ properties: { a: { $ref: '#/$defs/nowhere' } } })),
  input('param-header', object({ properties: { a: { type: 'string', 'x-mcp-header': 'bad header\r\n' } } })),
  input('long-description', object(), { description: 'x'.repeat(2 ** 20) }),

  output('output-string', { type: 'string' }, 'a text'),
  output('output-list', { type: 'array', items: { type: 'string' } }, ['a']),
  output('output-reference', object({ properties: { a: { $ref: '#/$defs/nowhere' } } }), { a: 1 }),
  output('output-text', object({ properties: { a: { type: 'string' } } }), 'no object'),
  output('output-other', object({ properties: { a: { type: 'string' } }, required: ['a'] }), { b: 1 }),
  { ...output('output-fails', object({ required: ['a'] })), execute: () => { throw new Error('no result at all'); } },

  { ...good('space name'), description: 'A space in its name.' },
  { ...good('näme'), description: 'A letter in its name that others do not have.' },
  { ...good('slash/name'), description: 'A slash in its name.' },
  { ...good('dotted.name'), description: 'A dot in its name.' },
  { ...good('long-'.repeat(25)), description: 'A name of 125 characters.' },
  { ...good(''), description: 'No name.' },
  { ...good('pagetools_search'), description: 'The name of a tool that is not its own.' },
  good('good-last'),
];

for (const tool of tools) document.modelContext.registerTool(tool).catch((error) => { refusals[tool.name || 'no name'] = error.message; });
