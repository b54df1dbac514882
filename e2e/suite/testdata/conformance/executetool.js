// executeTool: arguments and faults. Section 1.3.
'use strict';

const failed = "Failed to execute 'executeTool' on 'ModelContext': ";
const echo = (more) => register({execute: (input) => JSON.stringify(input), ...more});
const unknown = 'DOMException UnknownError: Tool was executed but the invocation failed. For example, the script function threw an error';
const without = async (key) => { await echo(); const tool = {...await find('t')}; delete tool[key]; return name(() => mc().executeTool(tool)); };
const changed = async (more) => { await echo(); return name(async () => mc().executeTool({...await find('t'), ...more})); };

cases(
  ['no argument', () => text(() => mc().executeTool()), `TypeError: ${failed}1 argument required, but only 0 present.`],
  ['not a tool', () => Promise.all([1, 'x', null, undefined, {}].map((tool) => name(() => mc().executeTool(tool)))), Array(5).fill('rejects TypeError')],
  ['a tool by its name', async () => { await echo(); return name(() => mc().executeTool('t')); }, 'rejects TypeError'],
  ['no name', () => without('name'), 'rejects TypeError'],
  ['no description', () => without('description'), 'rejects TypeError'],
  ['no window', () => without('window'), 'rejects TypeError'],
  ['no origin', () => without('origin'), 'rejects TypeError'],
  ['title, inputSchema and annotations may be missing', async () => { await echo({title: 'x', inputSchema: {}, annotations: {}}); const {name: toolName, description, window: view, origin} = await find('t'); return name(() => mc().executeTool({name: toolName, description, window: view, origin})); }, {fulfilled: '{}'}],
  ['a window that is none', () => changed({window: {}}), 'rejects TypeError'],
  ['a window that is null', () => changed({window: null}), 'rejects TypeError'],
  ['an origin that cannot be read', () => changed({origin: 'x'}), 'rejects DOMException NotSupportedError'],
  ['an opaque origin', () => changed({origin: 'null'}), 'rejects DOMException NotSupportedError'],
  ['another origin', () => changed({origin: 'https://a.test'}), 'rejects DOMException UnknownError'],
  ['another description', () => changed({description: 'other'}), {fulfilled: '{}'}],
  ['a name that is not there', async () => { await echo(); return text(async () => mc().executeTool({...await find('t'), name: 'u'})); }, 'DOMException UnknownError: The operation failed for an unknown transient reason (e.g. out of memory).'],
  ['a tool that was unregistered', async () => { const controller = new AbortController(); await register({}, {signal: controller.signal}); const tool = await find('t'); controller.abort(); return text(() => mc().executeTool(tool)); }, 'DOMException UnknownError: The operation failed for an unknown transient reason (e.g. out of memory).'],
  ['a tool that took the place of the one that was found', async () => { const controller = new AbortController(); await register({execute: () => 'one'}, {signal: controller.signal}); const tool = await find('t'); controller.abort(); await register({execute: () => 'two'}); return text(() => mc().executeTool(tool)); }, {fulfilled: 'two'}],

  ['no input is an empty object', async () => { await echo(); return call('t'); }, '{}'],
  ['undefined is an empty object', async () => { await echo(); return call('t', undefined); }, '{}'],
  ['an object', async () => { await echo(); return call('t', {a: 1, b: [true, null, 'x'], c: {d: {}}}); }, '{"a":1,"b":[true,null,"x"],"c":{"d":{}}}'],
  ['the order of its members', async () => { await echo(); return call('t', {z: 1, a: 2, m: {y: 1, b: 2}}); }, '{"z":1,"a":2,"m":{"y":1,"b":2}}'],
  ['an array', async () => { await echo(); return call('t', [1, 2]); }, '[1,2]'],
  ['a JSON text, as browsers up to 154 wanted it', async () => { await echo(); return call('t', '{"a":1}'); }, '{"a":1}'],
  ['what is no object', async () => { await echo(); return Promise.all(['x', 1, true, null].map((input) => text(() => call('t', input)))); }, Array(4).fill(`TypeError: ${failed}invalid input object: value is not an object`)],
  ['a function', async () => { await echo(); return name(() => call('t', () => 1)); }, 'rejects TypeError'],
  ['a cycle', async () => { await echo(); const a = {}; a.a = a; return name(() => call('t', a)); }, 'rejects TypeError'],
  ['toJSON is used', async () => { await echo(); return call('t', {toJSON: () => ({a: 1})}); }, '{"a":1}'],
  ['toJSON throws', async () => { await echo(); return text(() => call('t', {toJSON() { throw new RangeError('mine'); }})); }, 'RangeError: mine'],
  ['undefined members are left out', async () => { await echo(); return call('t', {a: undefined, b: () => 1, c: [undefined]}); }, '{"c":[null]}'],
  ['a bigint in it', async () => { await echo(); return name(() => call('t', {a: 1n})); }, 'rejects TypeError'],
  ['a member __proto__', async () => { await echo(); return call('t', JSON.parse('{"__proto__":{"polluted":true}}')); }, '{"__proto__":{"polluted":true}}'],
  ['a lone surrogate', async () => { await register({execute: (input) => String(input.s.charCodeAt(0))}); return call('t', {s: '\ud800'}); }, String(0xd800)],
  ['large numbers', async () => { await echo(); return call('t', {a: 9007199254740991, b: -0, c: 1e300, d: 1.5}); }, '{"a":9007199254740991,"b":0,"c":1e+300,"d":1.5}'],
  ['the tool gets a copy', async () => { const input = {a: {b: 1}}; await register({execute: (given) => { given.a.b = 2; return String(given === input); }}); return [await call('t', input), input.a.b]; }, ['false', 1]],
  ['input is read at once', async () => { await echo(); const tool = await find('t'); const input = {a: 1}; const done = mc().executeTool(tool, input); input.a = 2; return done; }, '{"a":1}'],

  ['execute gets two arguments', async () => { await register({execute() { return String(arguments.length); }}); return call('t', {}); }, '2'],
  ['the second one has a signal', async () => { await register({execute: (input, options) => JSON.stringify([options.signal instanceof AbortSignal, options.signal.aborted, Object.getPrototypeOf(options) === Object.prototype])}); return call('t'); }, '[true,false,true]'],
  ['what the second one has', async () => { await register({execute: (input, options) => Object.keys(options).join()}); return call('t'); }, 'signal,requestUserInteraction'],
  ['execute runs later than executeTool', async () => { const seen = []; await register({execute: () => { seen.push('ran'); return ''; }}); const tool = await find('t'); const done = mc().executeTool(tool); seen.push('called'); await done; return seen; }, ['called', 'ran']],
  ['calls of one tool run at once', async () => {
    const open = [];
    await register({execute: () => new Promise((resolve) => { if (open.push(resolve) === 3) open.forEach((end) => end('together')); })});
    return Promise.all([call('t'), call('t'), call('t')]);
  }, ['together', 'together', 'together']],
  ['a tool may call another one', async () => { await echo({name: 'inner'}); await register({execute: async () => call('inner', {a: 1})}); return call('t'); }, '{"a":1}'],
  ['a tool may call itself', async () => { await register({execute: async ({n}) => n === 0 ? 'end' : call('t', {n: n - 1})}); return call('t', {n: 3}); }, 'end'],

  ['a tool that throws', () => result(() => { throw new RangeError('mine'); }), unknown],
  ['a tool that throws a text', () => result(() => { throw 'mine'; }), unknown],
  ['a tool that rejects', () => result(async () => { throw new RangeError('mine'); }), unknown],
  ['a thenable counts', () => result(() => ({then: (resolve) => resolve('later')})), {fulfilled: 'later'}],
  ['a promise of a promise', () => result(async () => Promise.resolve('deep')), {fulfilled: 'deep'}],

  ['options that are no object', async () => { await echo(); return Promise.all([1, 'x', true].map((options) => name(() => call('t', {}, options)))); }, Array(3).fill('rejects TypeError')],
  ['options may be null', async () => { await echo(); return name(() => call('t', {}, null)); }, {fulfilled: '{}'}],
  ['a signal that is none', async () => { await echo(); return Promise.all([1, {}, null].map((signal) => name(() => call('t', {}, {signal})))); }, Array(3).fill('rejects TypeError')],
  ['members of a tool are read by name', async () => {
    await echo();
    const seen = [];
    const tool = new Proxy(await find('t'), {get: (target, key) => { seen.push(String(key)); return target[key]; }});
    await name(() => mc().executeTool(tool));
    return seen.filter((key) => key !== 'then');
  }, ['annotations', 'description', 'inputSchema', 'name', 'origin', 'title', 'window']],
  ['a denied document', async () => text(() => mc().executeTool({name: 't', description: 'd', window, origin: location.origin})), 'DOMException NotAllowedError: Access to the feature "tools" is disallowed by permissions policy.', {headers: ['Permissions-Policy: tools=()']}],
  ['conversion comes before policy', () => name(() => mc().executeTool({})), 'rejects TypeError', {headers: ['Permissions-Policy: tools=()']}],
  ['a detached document', async () => { await echo(); const tool = await find('t'); const element = await frame(); const inner = element.contentDocument.modelContext; element.remove(); return text(() => inner.executeTool(tool)); }, 'DOMException InvalidStateError: The document is not active.'],
  ['a window that is detached', async () => {
    const element = await frame();
    await element.contentDocument.modelContext.registerTool(sample());
    const tool = await find('t');
    element.remove();
    return name(() => mc().executeTool(tool));
  }, 'rejects DOMException InvalidStateError'],
);
