import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

const source = readFileSync(new URL('../adapters/page-servers.js', import.meta.url), 'utf8');
const AsyncFunction = (async () => {}).constructor;
const origin = 'https://page.test';

/** A window with the adapter, and nothing else of a browser. What is in taken is the page's own tool. */
function open(taken = []) {
  const window = {}, listeners = [], posted = [], tools = new Map();
  window.postMessage = (message, to) => posted.push({ ...message, to });
  const globals = {
    window, setTimeout: (f, ms) => { // nobody waits for the end of its patience
      const timer = setTimeout(f, ms);
      timer.unref?.();
      return timer;
    },
    location: { origin }, addEventListener: (_, listener) => listeners.push(listener),
    modelContext: {
      registerTool(tool, { signal }) {
        if (taken.includes(tool.name) || tools.has(tool.name)) return Promise.reject(new Error('Duplicate tool name'));
        tools.set(tool.name, tool);
        signal.addEventListener('abort', () => tools.delete(tool.name));
        return Promise.resolve();
      },
    },
  };
  new AsyncFunction(...Object.keys(globals), `'use strict';${source}`)(...Object.values(globals));
  const deliver = (channel, payload, from = {}) => listeners.forEach((listener) =>
    listener({ source: window, origin, data: { channel, type: 'mcp', direction: 'server-to-client', payload }, ...from }));
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  /** Answers the next request of a method. */
  const answer = async (method, result, channel = 'c') => {
    await settle();
    const at = posted.findIndex((message) => message.channel === channel && message.payload.method === method);
    assert.ok(at >= 0, `there is no ${method} among ${JSON.stringify(posted)}`);
    const [{ payload }] = posted.splice(at, 1);
    deliver(channel, { jsonrpc: '2.0', id: payload.id, ...result });
    await settle();
    return payload;
  };
  const start = async (list, channel = 'c') => {
    deliver(channel, 'mcp-server-ready');
    await answer('initialize', { result: {} }, channel);
    await answer('tools/list', { result: { tools: list } }, channel);
  };
  return { posted, tools, deliver, settle, answer, start };
}

const named = (...names) => names.map((name) => ({ name, description: 'd', inputSchema: { type: 'object' } }));

test('only a server of the window and origin is spoken to, and asked once', async () => {
  const page = open();
  page.deliver('c', 'mcp-server-ready', { source: {} });
  page.deliver('c', 'mcp-server-ready', { origin: 'https://evil.test' });
  page.deliver('c', { jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  assert.deepEqual(page.posted, []);
  page.deliver('c', 'mcp-server-ready');
  page.deliver('c', 'mcp-server-ready');
  assert.deepEqual(page.posted.map(({ to, direction, payload }) => [to, direction, payload.method, payload.params.protocolVersion, payload.params.capabilities]),
    [[origin, 'client-to-server', 'initialize', '2025-06-18', {}]]);
});

test('four servers, and 256 tools of all of them', async () => {
  const page = open();
  for (const channel of ['a', 'b', 'c', 'd', 'e']) page.deliver(channel, 'mcp-server-ready');
  assert.deepEqual(page.posted.map(({ channel }) => channel), ['a', 'b', 'c', 'd']);
  const many = open();
  await many.start(named(...Array.from({ length: 200 }, (_, i) => `a${i}`)), 'a');
  await many.start(named(...Array.from({ length: 200 }, (_, i) => `b${i}`)), 'b');
  assert.equal(many.tools.size, 256);
});

test('a list that changed takes back what is gone, and a name of the page is left to it', async () => {
  const page = open(['mine']);
  await page.start(named('a', 'b', 'mine'));
  assert.deepEqual([...page.tools.keys()], ['a', 'b']);
  page.deliver('c', { jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  await page.answer('tools/list', { result: { tools: [...named('b'), { name: 'a', description: 'other' }, null, { name: 3 }] } });
  assert.deepEqual([...page.tools].map(([name, { description }]) => [name, description]), [['b', 'd'], ['a', 'other']]);
  page.deliver('c', 'mcp-server-stopped');
  assert.equal(page.tools.size, 0);
});

test('a call has a result, an error, and a bound in bytes', async () => {
  const page = open();
  await page.start(named('a'));
  const call = (result) => {
    const ended = page.tools.get('a').execute({ x: 1 }, {}).then((value) => value, (error) => error.message);
    return page.answer('tools/call', result).then(async ({ params }) => [params, await ended]);
  };
  assert.deepEqual(await call({ result: { content: [] } }), [{ name: 'a', arguments: { x: 1 } }, { content: [] }]);
  assert.deepEqual((await call({ error: { code: 1, message: 'not so' } }))[1], 'not so');
  assert.deepEqual((await call({ result: 'x'.repeat(1024 * 1024) }))[1], 'The MCP server of the page sent more than 1 MiB.');
});

test('a call that is given up, or takes 30 s, is cancelled at the server', async (t) => {
  const page = open();
  await page.start(named('a'));
  const gone = new AbortController();
  const first = page.tools.get('a').execute({}, { signal: gone.signal });
  gone.abort(new Error('enough'));
  await assert.rejects(first, /enough/);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const second = page.tools.get('a').execute({}, {});
  t.mock.timers.tick(29_999);
  const cancelled = () => page.posted.filter(({ payload }) => payload.method === 'notifications/cancelled').map(({ payload }) => payload.params.reason);
  assert.deepEqual(cancelled(), ['enough']);
  t.mock.timers.tick(1);
  await assert.rejects(second, /within 30 s/);
  assert.equal(cancelled().length, 2);
});
