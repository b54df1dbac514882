import assert from 'node:assert/strict';
import test from 'node:test';
import { openPage, parseReply } from '../testpage/page.mjs';

const add = (name, execute) => `document.modelContext.registerTool({ name: '${name}', description: 'd', execute: ${execute} });`;

test('the input is parsed in the page, anew for each call', async () => {
  const page = openPage();
  page.run(`var kept = []; ${add('keep', '(input) => { kept.push(input); return [Object.getPrototypeOf(input) === Object.prototype, Object.keys(input)] }')}`);
  assert.deepEqual((await page.call('keep', JSON.parse('{"__proto__":{"x":1}}'))).payload, [true, ['__proto__']]);
  await page.call('keep', JSON.parse('{"__proto__":{"x":1}}'));
  assert.equal(page.run('kept[0] !== kept[1]'), true);
  const id = (await page.state()).tools[0].id;
  assert.match(await page.evaluate('call', 'x', id, '{', 100, 1e9), /"k":"error".*"ran":false.*"name":"SyntaxError"/);
});

test('a call that registers a tool comes back with the new state, unless it is known', async () => {
  const page = openPage();
  page.run(add('grow', `() => { ${add('grown', '() => 1')} return 'é' }`));
  const reply = await page.call('grow', {}, { known: 1 });
  assert.deepEqual([reply.payload, reply.rev, reply.state.tools.map((t) => t.name)], ['é', 2, ['grow', 'grown']]);
  assert.equal((await page.call('grown', {}, { known: 2 })).state, null);
});

test('abort ends the call at once and then tells the tool; shutdown ends them all', async () => {
  const page = openPage();
  page.run(`var seen = []; ${add('hang', `(_, { signal }) => new Promise((_, reject) => { signal.onabort = () => { seen.push(signal.reason.name + ' ' + signal.reason.message); reject(1) } })`)}`);
  const first = page.call('hang', {}, { id: 'one' });
  const second = page.call('hang', {}, { id: 'two' });
  const again = await page.call('hang', {}, { id: 'one' });
  assert.deepEqual([again.k, again.ran, again.name], ['error', false, 'InvalidStateError']);
  assert.equal(page.evaluate('abort', 'one', 'deadline'), true);
  assert.equal(page.evaluate('abort', 'one', 'deadline'), false);
  assert.deepEqual([(await first).k, (await first).message], ['aborted', 'deadline']);
  assert.equal(page.run('seen.join()'), 'AbortError deadline');
  assert.equal(page.evaluate('shutdown', 'leaving'), 1);
  assert.equal((await second).k, 'aborted');
  assert.equal(page.evaluate('shutdown', 'leaving'), 0);
});

test('unregistering during a call does not end it', async () => {
  const page = openPage();
  page.run(add('self', `async () => { document.modelContext.unregisterTool('self'); await 0; return 'done' }`));
  assert.equal((await page.call('self')).payload, 'done');
});

/** parsed returns the next reply of a call that stopped. */
const parsed = async (page, ...given) => parseReply(await page.evaluate('wait', ...given));

test('a call that waits for a person says so, goes on, and ends once', async () => {
  const page = openPage();
  page.run(`var pick;
    ${add('seat', `(_, agent) => agent.requestUserInteraction(() => new Promise((r) => { pick = r }))`)}
    ${add('quick', `(_, agent) => agent.requestUserInteraction(async () => 'done')`)}`);
  assert.equal((await page.call('quick')).payload, 'done');
  const ends = async (id, act) => {
    const asking = await page.call('seat', {}, { id });
    assert.deepEqual([asking.k, asking.name], ['asking', 'interaction']);
    const next = parsed(page, id, 0);
    act();
    return next;
  };
  assert.equal((await ends('a', () => page.run(`pick('4A')`))).payload, '4A');
  assert.deepEqual((await ends('b', () => assert.equal(page.evaluate('answer', 'b', true, '{"row":4}'), 'true'))).payload, { row: 4 });
  const declined = await ends('c', () => assert.equal(page.evaluate('answer', 'c', false, ''), 'true'));
  assert.deepEqual([declined.k, declined.name], ['error', 'AbortError']);
  assert.equal((await ends('d', () => page.evaluate('abort', 'd', 'over'))).k, 'aborted');
  assert.equal((await ends('e', () => assert.equal(page.evaluate('remind', 'e'), 'true'))).k, 'asking');
  // What is said while nobody waits is said when somebody does.
  page.run(`pick('late')`);
  await page.state();
  assert.equal((await parsed(page, 'e', 0)).payload, 'late');
  for (const id of ['a', 'e', 'nobody']) {
    assert.equal((await parsed(page, id, 0)).k, 'gone');
    assert.equal(page.evaluate('answer', id, true, ''), 'false');
    assert.equal(page.evaluate('remind', id), 'false');
  }
});

test('requestUserInteraction: in the call only, one at a time, five times, ended by an abort', async () => {
  const page = openPage();
  page.run(`var kept, results = [];
    const note = (p) => p.then((v) => results.push('ok ' + v), (e) => results.push(e.name ?? e));
    ${add('ask', `async (_, agent) => {
      kept = agent;
      for (let i = 0; i < 6; i++) await note(agent.requestUserInteraction(async () => i));
      await note(agent.requestUserInteraction('no function'));
    }`)}
    ${add('two', `async (_, { requestUserInteraction }) => {
      let order = 'before';
      const first = requestUserInteraction(() => { order = 'at once'; return new Promise((r) => setTimeout(r, 5, 1)) });
      const now = order;
      await note(requestUserInteraction(() => 2)); await note(first);
      await note(requestUserInteraction(() => { throw 'thrown' }));
      return now;
    }`)}
    ${add('stuck', `(_, { requestUserInteraction }) => note(requestUserInteraction(() => new Promise(() => {})))`)}`);
  const results = () => page.run(`results.splice(0).join()`);
  await page.call('ask');
  assert.equal(results(), 'ok 0,ok 1,ok 2,ok 3,ok 4,NotAllowedError,TypeError');
  await page.run('note(kept.requestUserInteraction(() => 1))');
  assert.equal(results(), 'InvalidStateError');
  assert.equal((await page.call('two')).payload, 'at once');
  assert.equal(results(), 'InvalidStateError,ok 1,thrown');
  const stuck = page.call('stuck', {}, { id: 's' });
  await page.state();
  page.evaluate('abort', 's', 'deadline');
  assert.equal((await stuck).k, 'aborted');
  await page.state();
  assert.equal(results(), 'AbortError');
});

test('toolcall: who answers, and until when', async () => {
  const page = openPage();
  page.run(`var log = []; var tools = ['sync', 'promise', 'async', 'late', 'fails', 'prevented', 'twice', 'plain', 'throws'];
    document.modelContext.provideContext({ tools: [...tools.map((name) => ({ name, description: 'd', execute: () => 'execute ' + name })), { name: 'bare', description: 'd' }] });
    agent.addEventListener('toolcall', async (e) => {
      log.push('agent ' + e.name);
      const respond = (v) => { try { e.respondWith(v) } catch (x) { log.push(x.name) } };
      if (e.name === 'sync') respond({ got: e.input });
      if (e.name === 'promise') respond(new Promise((r) => setTimeout(r, 5, 'later')));
      if (e.name === 'async') { await 0; respond('too late') }
      if (e.name === 'late') { e.preventDefault(); await new Promise((r) => setTimeout(r, 5)); respond('in time') }
      if (e.name === 'fails') respond(Promise.reject(new RangeError('no')));
      if (e.name === 'prevented') e.preventDefault();
      if (e.name === 'twice') { respond(1); respond(2) }
    });
    document.modelContext.addEventListener('toolcall', (e) => { log.push('context ' + e.name); if (e.name === 'throws') e.respondWith('from context') });`);
  const log = () => page.run(`log.splice(0).join()`);
  const run = async (name) => {
    const { k, payload, name: error } = await page.call(name, { n: 1 });
    return [k, payload ?? error, log()];
  };
  assert.deepEqual(await run('sync'), ['ok', { got: { n: 1 } }, 'agent sync']);
  assert.deepEqual(await run('promise'), ['ok', 'later', 'agent promise']);
  assert.deepEqual(await run('async'), ['ok', 'execute async', 'agent async,context async,InvalidStateError']);
  assert.deepEqual(await run('late'), ['ok', 'in time', 'agent late,context late']);
  assert.deepEqual(await run('fails'), ['error', 'RangeError', 'agent fails']);
  assert.deepEqual(await run('twice'), ['ok', 1, 'agent twice,InvalidStateError']);
  assert.deepEqual(await run('plain'), ['ok', 'execute plain', 'agent plain,context plain']);
  assert.deepEqual(await run('throws'), ['ok', 'from context', 'agent throws,context throws']);
  assert.deepEqual(await run('bare'), ['unhandled', undefined, 'agent bare,context bare']);
  const open = page.call('prevented', {}, { id: 'p' });
  await page.run('new Promise((r) => setTimeout(r, 10))');
  page.evaluate('abort', 'p', 'deadline');
  assert.equal((await open).k, 'aborted');
  assert.equal(page.run(`agent.addEventListener('toolcall', (e) => { try { new e.constructor() } catch (x) { log = [x.message] } }); 1`), 1);
  await page.call('plain');
  assert.match(log(), /Illegal constructor/);
  assert.equal(parseReply(await page.evaluate('call', 'x', 0, '{}', 10, 1e9)).k, 'gone');
});
