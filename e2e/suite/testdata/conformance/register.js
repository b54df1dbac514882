// registerTool: the faults, their order, and what registering does. Section 1.2.
'use strict';

const failed = "Failed to execute 'registerTool' on 'ModelContext': ";
const member = (key) => `TypeError: ${failed}Failed to read the '${key}' property from 'ModelContextTool': `;
const circular = () => { const loop = {}; loop.loop = loop; return loop; };

/** order registers what records which members are read. */
const order = async () => {
  const seen = [];
  const recorder = (values, title) => new Proxy(values, {get: (target, key) => { seen.push(`${title}.${String(key)}`); return target[key]; }});
  const annotations = recorder({readOnlyHint: true, untrustedContentHint: true, consequentialHint: true, debugging: true}, 'annotations');
  await mc().registerTool(recorder({...sample(), title: 'x', inputSchema: {}, annotations}, 'tool'), recorder({exposedTo: [], signal: undefined}, 'options'));
  return seen;
};

cases(
  ['no argument', () => text(() => mc().registerTool()), `TypeError: ${failed}1 argument required, but only 0 present.`],
  ['not an object', () => Promise.all([1, 'x', true, Symbol.iterator].map((value) => name(() => mc().registerTool(value)))), Array(4).fill('rejects TypeError')],
  ['what is no dictionary says so', () => text(() => mc().registerTool(1)), `TypeError: ${failed}The provided value is not of type 'ModelContextTool'.`],
  ['undefined and null', () => Promise.all([undefined, null].map((value) => text(() => mc().registerTool(value)))), Array(2).fill(`TypeError: ${failed}The provided value is not of type 'ModelContextTool'.`)],
  ['an empty object', () => text(() => mc().registerTool({})), `${member('description')}Required member is undefined.`],
  ['no name', () => text(() => register({name: undefined})), `${member('name')}Required member is undefined.`],
  ['no description', () => text(() => register({description: undefined})), `${member('description')}Required member is undefined.`],
  ['no execute', () => text(() => register({execute: undefined})), `${member('execute')}Required member is undefined.`],
  ['execute that is no function', () => Promise.all([null, {}, 'x', 1].map((execute) => text(() => register({execute})))), Array(4).fill(`${member('execute')}The given value is not a function.`)],
  ['inputSchema that is no object', () => Promise.all([null, 'x', 1, true].map((inputSchema) => name(() => register({inputSchema})))), Array(4).fill('rejects TypeError')],
  ['inputSchema null says so', () => text(() => register({inputSchema: null})), `${member('inputSchema')}Failed to convert value to 'object'.`],
  ['a name that is a symbol', () => name(() => register({name: Symbol('x')})), 'rejects TypeError'],
  ['names and descriptions are converted to strings', async () => { await register({name: 12, description: null}); const tool = await find('12'); return [tool.name, tool.description]; }, ['12', 'null']],
  ['a title with a lone surrogate', async () => { await register({title: 'a\ud800b'}); return (await find('t')).title; }, 'a\ufffdb'],
  ['a description with a lone surrogate stays', async () => { await register({description: 'a\ud800b'}); return JSON.stringify((await find('t')).description); }, '"a\\ud800b"'],
  ['a getter that throws', () => text(() => mc().registerTool({get name() { throw new RangeError('mine'); }, description: 'd', execute() {}})), 'RangeError: mine'],
  ['annotations that are no object', () => Promise.all([1, 'x', true].map((annotations) => name(() => register({annotations})))), Array(3).fill('rejects TypeError')],
  ['annotations may be null or undefined', () => Promise.all([['a', null], ['b', undefined]].map(([toolName, annotations]) => name(() => register({name: toolName, annotations})))), Array(2).fill({fulfilled: null})],
  ['options that are no object', () => Promise.all([1, 'x', true].map((options) => name(() => register({}, options)))), Array(3).fill('rejects TypeError')],
  ['options may be null', () => name(() => register({}, null)), {fulfilled: null}],
  ['exposedTo that is no sequence', () => Promise.all([1, 'x', {}, null].map((exposedTo) => name(() => register({}, {exposedTo})))), Array(4).fill('rejects TypeError')],
  ['exposedTo may be any iterable', () => name(() => register({}, {exposedTo: new Set(['https://a.test'])})), {fulfilled: null}],
  ['signal that is none', () => Promise.all([1, {}, null, 'x'].map((signal) => name(() => register({}, {signal})))), Array(4).fill('rejects TypeError')],
  ['signal of another kind says so', () => text(() => register({}, {signal: {}})), `TypeError: ${failed}Failed to read the 'signal' property from 'ModelContextRegisterToolOptions': Failed to convert value to 'AbortSignal'.`],
  ['members are read by name, options last', order, ['tool.annotations', 'annotations.consequentialHint', 'annotations.debugging', 'annotations.destructiveHint', 'annotations.idempotentHint', 'annotations.openWorldHint', 'annotations.readOnlyHint', 'annotations.untrustedContentHint', 'annotations.title', 'tool.description', 'tool.execute', 'tool.inputSchema', 'tool.name', 'tool.outputSchema', 'tool.title', 'options.exposedTo', 'options.signal']],

  ['a duplicate name', async () => { await register(); return text(() => register()); }, 'DOMException InvalidStateError: Duplicate tool name'],
  ['a duplicate name before the first is resolved', async () => { const first = register(); return [await text(() => register()), await name(() => first)]; }, ['DOMException InvalidStateError: Duplicate tool name', {fulfilled: null}]],
  ['names differ by case', async () => { await register({name: 'a'}); return name(() => register({name: 'A'})); }, {fulfilled: null}],
  ['an empty description', () => text(() => register({description: ''})), 'DOMException InvalidStateError: Description is required'],
  ['a description of spaces', () => name(() => register({description: ' '})), {fulfilled: null}],
  ['an empty name', () => text(() => register({name: ''})), 'DOMException InvalidStateError: Invalid tool name'],
  ['an aborted signal', () => text(() => register({}, {signal: AbortSignal.abort()})), 'DOMException AbortError: signal is aborted without reason'],
  ['an aborted signal with a reason', () => text(() => register({}, {signal: AbortSignal.abort(new RangeError('why'))})), 'RangeError: why'],
  ['an aborted signal with any value', async () => { try { await register({}, {signal: AbortSignal.abort(7)}); } catch (thrown) { return thrown; } }, 7],
  ['exposedTo that is not secure', () => Promise.all(['http://a.test', '*', 'x', '', 'data:text/plain,x', 'https://'].map((entry) => text(() => register({}, {exposedTo: [entry]})))), Array(6).fill('DOMException SecurityError: Only secure origins are allowed in the exposedTo list.')],
  ['exposedTo that is secure', () => Promise.all(['https://a.test', 'http://localhost', 'http://x.localhost:8', 'http://127.0.0.1:9', 'http://[::1]', 'https://a.test/path?x', 'wss://a.test', 'file:///x'].map((entry, i) => name(() => register({name: `t${i}`}, {exposedTo: [entry]})))), Array(8).fill({fulfilled: null})],
  ['one entry that is not secure', () => name(() => register({}, {exposedTo: ['https://a.test', 'http://a.test']})), 'rejects DOMException SecurityError'],

  ['conversion comes before a duplicate', async () => { await register(); return name(() => register({execute: 1})); }, 'rejects TypeError'],
  ['a bad exposedTo list comes before a duplicate', async () => { await register(); return name(() => register({}, {exposedTo: 1})); }, 'rejects TypeError'],
  ['a duplicate comes before an empty description', async () => { await register(); return text(() => register({description: ''})); }, 'DOMException InvalidStateError: Duplicate tool name'],
  ['a bad name comes before an empty description', () => text(() => register({name: '', description: ''})), 'DOMException InvalidStateError: Invalid tool name'],
  ['an empty description comes before a bad schema', () => text(() => register({description: '', inputSchema: circular()})), 'DOMException InvalidStateError: Description is required'],
  ['a bad schema comes before an aborted signal', () => name(() => register({inputSchema: circular()}, {signal: AbortSignal.abort(new RangeError('why'))})), 'rejects TypeError'],
  ['an aborted signal comes before an insecure origin', () => text(() => register({}, {signal: AbortSignal.abort(new RangeError('why')), exposedTo: ['http://a.test']})), 'RangeError: why'],
  ['a bad schema comes before an insecure origin', () => name(() => register({inputSchema: circular()}, {exposedTo: ['http://a.test']})), 'rejects TypeError'],
  ['a tool that was refused is not there', async () => { await name(() => register({}, {exposedTo: ['http://a.test']})); await name(() => register({name: 'b', description: ''})); return listed(); }, []],

  ['it resolves with undefined', async () => String(await register()), 'undefined'],
  ['it resolves after toolchange', async () => { const seen = []; mc().addEventListener('toolchange', () => seen.push('change')); await register().then(() => seen.push('resolved')); return seen; }, ['change', 'resolved']],
  ['the tool is there at once', async () => { register(); return listed(); }, ['t']],
  ['faults are never thrown', () => { try { return ['', {}, {name: 'a b'}].map((more) => mc().registerTool(more === '' ? undefined : {...sample(), ...more}).catch(() => 0) instanceof Promise); } catch (thrown) { return String(thrown); } }, [true, true, true]],
  ['members beyond the dictionary are ignored', () => name(() => register({outputSchema: {type: 'string'}, handler: 1})), {fulfilled: null}],
  ['outputSchema is not looked at', () => Promise.all([null, 'x', 1].map((outputSchema, i) => name(() => register({name: `t${i}`, outputSchema})))), Array(3).fill({fulfilled: null})],
  ['a class instance is a tool', async () => { class Tool { name = 'c'; description = 'd'; execute() { return 1; } } await mc().registerTool(new Tool()); return listed(); }, ['c']],
  ['execute is called without this', async () => { await register({execute() { return String(this === undefined || this === window); }}); return call('t'); }, 'true'],
  ['many tools', async () => { await Promise.all(Array.from({length: 100}, (_, i) => register({name: `t${i}`}))); return (await listed()).length; }, 100],
  ['a detached document', async () => {
    const element = await frame();
    const inner = element.contentDocument.modelContext;
    element.remove();
    return text(() => inner.registerTool(sample()));
  }, 'DOMException InvalidStateError: The document is not active.'],
  ['conversion comes before a detached document', async () => {
    const element = await frame();
    const inner = element.contentDocument.modelContext;
    element.remove();
    return name(() => inner.registerTool({}));
  }, 'rejects TypeError'],
  ['a document that is not keyed by origin', () => text(() => register()), 'DOMException SecurityError: document.modelContext cannot be used when document.domain is enabled.', {headers: ['Origin-Agent-Cluster: ?0']}],
  ['a document that its policy denies', () => text(() => register()), 'DOMException NotAllowedError: Access to the feature "tools" is disallowed by permissions policy.', {headers: ['Permissions-Policy: tools=()']}],
  ['conversion comes before policy', () => name(() => mc().registerTool({})), 'rejects TypeError', {headers: ['Permissions-Policy: tools=()']}],
  ['policy comes before a bad name', () => name(() => register({name: ''})), 'rejects DOMException NotAllowedError', {headers: ['Permissions-Policy: tools=()']}],
);
