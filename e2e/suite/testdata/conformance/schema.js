// inputSchema: what is taken and how it comes back. Sections 1.2 and 1.3.
'use strict';

const failed = "Failed to execute 'registerTool' on 'ModelContext': ";
const back = async (inputSchema) => { await register({inputSchema}); return (await find('t')).inputSchema ?? 'none'; };

cases(
  ['none', () => back(undefined), 'none'],
  ['an empty object', () => back({}), {}],
  ['an object', () => back({type: 'object', properties: {n: {type: 'number', minimum: 1.5}}, required: ['n']}), {type: 'object', properties: {n: {type: 'number', minimum: 1.5}}, required: ['n']}],
  ['an array', () => back([]), []],
  ['a function', () => name(() => register({inputSchema() {}})), 'rejects TypeError'],
  ['a type that there is not', () => back({type: 'bogus'}), {type: 'bogus'}],
  ['$ref and format', () => back({$ref: '#/x', format: 'nothing'}), {$ref: '#/x', format: 'nothing'}],
  ['a cycle', () => { const a = {}; a.a = a; return name(() => register({inputSchema: a})); }, 'rejects TypeError'],
  ['toJSON is used', () => back({toJSON: () => ({type: 'object'})}), {type: 'object'}],
  ['toJSON gives undefined', () => text(() => register({inputSchema: {toJSON() {}}})), `TypeError: ${failed}invalid input schema: toJSON() returns undefined`],
  ['toJSON throws', () => text(() => register({inputSchema: {toJSON() { throw new RangeError('mine'); }}})), 'RangeError: mine'],
  ['toJSON gives a string', async () => name(() => register({inputSchema: {toJSON: () => 'text'}})), {fulfilled: null}],
  ['a bigint in it', () => name(() => register({inputSchema: {a: 1n}})), 'rejects TypeError'],
  ['functions, symbols and undefined are left out', () => back({a() {}, b: Symbol('x'), c: undefined, d: [undefined, () => 1]}), {d: [null, null]}],
  ['what is inherited is left out', () => back(Object.create({type: 'object'}, {own: {value: 1, enumerable: true}, hidden: {value: 2}})), {own: 1}],
  ['getters are read', () => back({get type() { return 'object'; }}), {type: 'object'}],
  ['a member __proto__', async () => { await register({inputSchema: JSON.parse('{"properties":{"__proto__":{"type":"string"}}}')}); return JSON.stringify((await find('t')).inputSchema); }, '{"properties":{"__proto__":{"type":"string"}}}'],
  ['the order of members', async () => { await register({inputSchema: {z: 1, a: 2, m: 3}}); return Object.keys((await find('t')).inputSchema); }, ['z', 'a', 'm']],
  ['large numbers', () => back({maximum: 9007199254740991, minimum: -0.5, x: 1e300}), {maximum: 9007199254740991, minimum: -0.5, x: 1e300}],
  ['NaN is null', () => back({a: NaN, b: Infinity}), {a: null, b: null}],
  ['a date', () => back({at: new Date(0)}), {at: '1970-01-01T00:00:00.000Z'}],
  ['it is copied when it is registered', async () => { const schema = {type: 'object'}; const done = register({inputSchema: schema}); schema.type = 'other'; await done; return (await find('t')).inputSchema; }, {type: 'object'}],
  ['each getTools gives a copy of its own', async () => { await register({inputSchema: {a: {}}}); const [one, two] = [await find('t'), await find('t')]; one.inputSchema.a.b = 1; return [one.inputSchema === two.inputSchema, two.inputSchema]; }, [false, {a: {}}]],
  ['input is not checked against it', async () => { await register({inputSchema: {type: 'object', required: ['n'], properties: {n: {type: 'number'}}}, execute: (input) => JSON.stringify(input)}); return [await call('t', {}), await call('t', {n: 'x'})]; }, ['{}', '{"n":"x"}']],
  ['a schema of 200 levels', async () => { let schema = {}; for (let i = 0; i < 190; i++) schema = {a: schema}; await register({inputSchema: schema}); return typeof (await find('t')).inputSchema; }, 'object'],
);
