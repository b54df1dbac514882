// What every client is tested with. A client is an object of ours around somebody's library:
//
//   can   {changed, progress, cancel, elicit}: false, or a reason in words, for what the library cannot do
//   open  (server, {onElicit, onChanged}) connects, and resolves to
//           list()            the tools, as {name, description, inputSchema}
//           call(name, args, {signal, onProgress})   {content, structured, isError}
//           read(uri)         the contents of a resource; undefined when the library reads none
//           version           of the protocol that was agreed on; undefined when the library does not say
//           close()
//
// server is {url} or {command, args, env}. onElicit takes the params of an elicitation and returns its result; a client that is
// opened without it declares no elicitation.

import assert from 'node:assert/strict';
import { done, Skip, test } from './tap.mjs';

/** What the Go side passes: how to reach the servers, and the address of the pages. */
export const options = JSON.parse(process.argv[2]);

export const words = (result) => result.content.filter((block) => block.type === 'text').map((block) => block.text).join('\n');

/** What a tool returned that returns no content blocks: it comes as JSON. */
const value = (result) => {
  const text = words(result);
  try { return JSON.parse(text); } catch { return text; } // a string of the page is its text
};

/** @param {string | undefined} reason */
const need = (reason) => {
  if (reason !== undefined) throw new Skip(reason);
};

/** An event that a test waits for. */
function event() {
  const { promise, resolve } = Promise.withResolvers();
  return { promise, happen: resolve };
}

/** Asks the server of the page, which answers when it has happened. */
export async function site(path, id) {
  const response = await fetch(`${options.site}${path}?id=${encodeURIComponent(id)}`, { method: 'POST' });
  assert.equal(response.status, 200, path);
  return response.text();
}

/** A person who fills in a form as its schema asks. */
export function accept(params, text = 'Ada') {
  const content = {};
  for (const [name, schema] of Object.entries(params.requestedSchema?.properties ?? {})) {
    const [first] = schema.enum ?? schema.oneOf?.map((choice) => choice.const) ?? [];
    content[name] = first ?? { boolean: true, string: text, integer: 1, number: 1 }[schema.type];
  }
  return { action: 'accept', content };
}

async function listed(client) {
  const tools = await client.list();
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/** Runs all tests of a client and ends the process. */
export async function run({ can, open }) {
  console.log('TAP version 14');
  const answers = [];
  const asked = [];
  let changed = event();
  const listeners = {
    onChanged: () => changed.happen(),
    onElicit: async (params) => {
      asked.push(params);
      const answer = answers.shift() ?? 'decline';
      return answer === 'accept' ? accept(params) : { action: answer };
    },
  };
  let client;
  await test('connect', async () => { client = await open(options.server, listeners); });
  if (!client) done();
  await test('the version of the protocol', async () => {
    need(client.version ? undefined : 'it does not say');
    assert.equal(client.version, options.era === 'legacy' ? '2025-11-25' : '2026-07-28');
  });

  await basics(client);
  await test('a change of the list is told', async () => { // the first test that changes it: no older notice can be taken for a newer one
    need(can.changed);
    for (const [tool, there] of [['grow', true], ['shrink', false]]) {
      changed = event();
      await client.call(tool, { name: 'shoot' });
      await changed.promise;
      assert.equal((await listed(client)).has('shoot'), there, tool);
    }
  });
  await test('a tool that a call registers is in the next list', async () => {
    await client.call('grow', { name: 'sprout' });
    assert.ok((await listed(client)).has('sprout'), 'the next list does not have it');
    assert.equal(value(await client.call('sprout', {})), 'I am sprout.');
    await client.call('shrink', { name: 'sprout' });
    assert.ok(!(await listed(client)).has('sprout'), 'the next list still has it');
  });
  await longCalls(client, can);
  await parts(client, can);
  await elicitations(client, can, { answers, asked });
  await test('close', () => client.close());
  await test('a client that declares no elicitation is told where a person can answer', () => unasked(open));
  await badTools(open);
  done();
}

async function basics(client) {
  await test('list', async () => {
    const tools = await listed(client);
    for (const name of ['echo', 'say', 'fail', 'draw', 'hold', 'recite', 'grow', 'shrink', 'buy', 'greet']) assert.ok(tools.has(name), `no tool ${name}`);
    for (const { name, description, inputSchema } of tools.values()) {
      assert.ok(description, `${name} has no description`);
      assert.equal(inputSchema.type, 'object', name);
    }
  });
  await test('call', async () => {
    const result = await client.call('echo', { text: 'Grüße, 世界', count: 3 });
    assert.ok(!result.isError, words(result));
    assert.deepEqual(value(result), { text: 'Grüße, 世界', count: 3 });
    if (result.structured !== undefined) assert.deepEqual(result.structured, { text: 'Grüße, 世界', count: 3 });
  });
  await test('call of a tool without arguments', async () => assert.equal(value(await client.call('say', {})), 'a plain text'));
  await test('an image and a text', async () => {
    const { content, structured } = await client.call('draw', {});
    assert.equal(structured, undefined, 'clients that see structured content drop the image');
    assert.deepEqual(content.map((block) => block.type), ['image', 'text']);
    assert.equal(content[0].mimeType, 'image/png');
    assert.equal(Buffer.from(content[0].data, 'base64').subarray(1, 4).toString(), 'PNG');
  });
  await test('files that the page saves', async () => {
    need(client.read ? undefined : 'it reads no resources');
    const { content } = await client.call('save', {});
    const [, link, embedded] = content;
    assert.equal(words({ content }), 'saved');
    assert.deepEqual([link.type, link.name, link.mimeType, link.size], ['resource_link', 'bytes.bin', 'application/octet-stream', 100_000]);
    assert.deepEqual([embedded.type, embedded.resource.text], ['resource', 'a,b\n1,2\n']);
    const [bytes] = await client.read(link.uri);
    assert.deepEqual(Buffer.from(bytes.blob, 'base64'), Buffer.from(Uint8Array.from({ length: 100_000 }, (_, i) => i % 251)));
    const [text] = await client.read(embedded.resource.uri);
    assert.equal(text.text, 'a,b\n1,2\n');
    await assert.rejects(client.read(`${link.uri}A`));
  });
  await test('a tool that fails', async () => {
    const result = await client.call('fail', {});
    assert.ok(result.isError);
    assert.match(words(result), /the stamp is glued/);
  });
  await test('arguments that the schema refuses', async () => {
    const result = await client.call('echo', { count: 'three' });
    assert.ok(result.isError);
    assert.match(words(result), /text|count|expected schema/); // some libraries look themselves, and say no more
  });
  await test('a tool that is not there', async () => {
    const result = await client.call('nowhere', {}).catch(() => undefined); // an error of the protocol, which libraries word as they like
    if (result) assert.ok(result.isError, words(result));
  });
}

async function longCalls(client, can) {
  await test('progress of a call that takes long', async () => {
    need(can.progress);
    const id = `progress-${process.pid}`;
    const seen = [];
    const result = await client.call('hold', { id }, {
      onProgress({ progress }) {
        seen.push(progress);
        if (seen.length === 1) void site('/release', id);
      },
    });
    assert.equal(value(result), 'released');
    assert.ok(seen.length > 0, 'no progress');
    assert.ok(seen.every((value, i) => i === 0 || value > seen[i - 1]), `progress does not grow: ${seen}`);
  });
  await test('a call that is cancelled ends in the page', async () => {
    need(can.cancel);
    const id = `cancel-${process.pid}`;
    const abort = new AbortController();
    const call = client.call('hold', { id }, { signal: abort.signal });
    const ended = call.then((result) => assert.ok(result.isError, 'the call gave a result'), () => {});
    await site('/held', id);
    abort.abort(new Error('enough'));
    await ended;
    assert.equal(await site('/left', id), 'left');
    assert.equal(value(await client.call('say', {})), 'a plain text');
  });
}

/** Calls recite, whose parts are told one by one. heard is called with each, and its number. */
async function recite(client, id, heard, signal) {
  const told = [];
  const all = [];
  const result = await client.call('recite', { id }, {
    signal,
    onProgress(report) {
      all.push(report.progress);
      if (report.progress % 10 !== 0) return; // not of a part: the tool still runs
      told.push(report);
      heard(told.length);
    },
  }).catch(() => undefined);
  return { result, told, all };
}

async function parts(client, can) {
  await test('parts are told in order, and none after the result', async () => {
    need(can.progress);
    const id = `parts-${process.pid}`;
    const { result, told, all } = await recite(client, id, (line) => void site('/release', `${id}-${line}`));
    assert.equal(value(result), 'recited');
    assert.deepEqual(told.map(({ progress, total, message }) => [progress, total, message]), [[10, 30, 'line 1'], [20, 30, 'line 2'], [30, 30, 'line 3']]);
    assert.ok(all.every((at, i) => i === 0 || at > all[i - 1]), `progress does not grow: ${all}`);
    const heard = all.length;
    await client.call('say', {});
    assert.equal(all.length, heard, 'progress after the result');
    assert.equal(await site('/counted', id), '1');
  });
  await test('a call that is cancelled between its parts closes the generator once', async () => {
    need(can.progress);
    need(can.cancel);
    const id = `partly-${process.pid}`;
    const abort = new AbortController();
    const { result, told } = await recite(client, id, () => abort.abort(new Error('enough')), abort.signal);
    assert.ok(result === undefined || result.isError, 'the call gave a result');
    assert.equal(told.length, 1);
    assert.equal(await site('/hold', id), 'released'); // by its finally
    assert.equal(value(await client.call('say', {})), 'a plain text');
    assert.equal(await site('/counted', id), '1');
  });
}

async function elicitations(client, can, { answers, asked }) {
  let purchases = 0;
  const buy = async (given, id = `stamp-${process.pid}-${++purchases}`) => {
    asked.length = 0;
    answers.splice(0, answers.length, ...given);
    const result = await client.call('buy', { id });
    return { id, result, outcome: result.isError ? undefined : value(result), runs: Number(await site('/counted', id)) };
  };
  await test('elicitation: accepted twice, and the tool ran once', async () => {
    need(can.elicit);
    const { result, runs, outcome } = await buy(['accept', 'accept']);
    assert.deepEqual(outcome, { bought: true, runs: 1 }, words(result));
    assert.equal(runs, 1);
    assert.equal(asked.length, 2);
    assert.match(asked[0].message, /Buy stamp/);
    assert.match(asked[1].message, /Pay for stamp/);
  });
  await test('elicitation: declined', async () => {
    need(can.elicit);
    const { result, runs, outcome } = await buy(['accept', 'decline']);
    assert.deepEqual(outcome, { bought: false, runs: 1 }, words(result));
    assert.equal(runs, 1);
  });
  await test('elicitation: cancelled, which is no answer, and answered when the call is made again', async () => {
    need(can.elicit);
    const first = await buy(['cancel']);
    assert.ok(first.result.isError, words(first.result));
    assert.match(words(first.result), /only the user can answer/);
    assert.equal(asked.length, 1, 'a person who cancelled is asked again at once');
    const again = await buy(['decline'], first.id);
    assert.equal(asked.length, 1);
    assert.deepEqual(again.outcome, { bought: false, runs: 1 }, words(again.result));
    assert.equal(again.runs, 1);
  });
  await test('elicitation: a line of text', async () => {
    need(can.elicit);
    answers.splice(0, answers.length, 'accept');
    assert.equal(value(await client.call('greet', {})), 'Hello, Ada.');
    answers.splice(0, answers.length, 'decline');
    assert.equal(value(await client.call('greet', {})), 'Hello, nobody.');
  });
}

/** The page asks; nobody can be asked through this client. */
async function unasked(open) {
  const client = await open(options.unasked, {});
  const result = await client.call('greet', {});
  assert.ok(result.isError, words(result));
  assert.match(words(result), /only the user can answer/);
  await client.close();
}

/**
 * The kinds of bad tool with which a client is known that loses its whole list: what its description on the page says, and
 * what becomes of it. listed: it is there, as a client can take it, and a call of it gives a result. refused: it is not, and
 * the others are. unfit: it is listed, and its result does not fit its output schema: a client has it, also where it throws away
 * what lacks structured content; the next list is without that schema.
 */
const BAD_TOOLS = {
  'an input schema without a type': ['is bad: no-type.', 'listed'],
  'an input schema of type string': ['is bad: type-string.', 'refused'],
  'an input schema with a list of types': ['is bad: type-list.', 'listed'],
  'an input schema that is true': ['is bad: schema-true.', 'refused'],
  'an input schema that is null': ['is bad: schema-null.', 'listed'],
  'properties that are a list': ['is bad: properties-list.', 'listed'],
  'required that is a text': ['is bad: required-string.', 'listed'],
  'a property whose schema is true': ['is bad: property-true.', 'listed'],
  'an output schema of type string': ['is bad: output-string.', 'listed'],
  'an output schema of type array': ['is bad: output-list.', 'listed'],
  'an output schema with a $ref that leads nowhere': ['is bad: output-reference.', 'refused'],
  'an output schema, and a text as the result': ['is bad: output-text.', 'unfit'],
  'an output schema, and another object as the result': ['is bad: output-other.', 'unfit'],
  'an output schema, and no result at all': ['is bad: output-fails.', 'listed'],
  'a name with a space': ['A space in its name.', 'refused'],
  'a name in other letters': ['A letter in its name', 'refused'],
  'a name with a slash': ['A slash in its name.', 'refused'],
  'a name with a dot': ['A dot in its name.', 'listed'],
  'a name of 125 characters': ['A name of 125 characters.', 'listed'],
  'an empty name': ['No name.', 'refused'],
  'a name of the bridge': ['The name of a tool that is not its own.', 'listed'],
  'draft 04': ['is bad: draft-04.', 'listed'],
  'a pattern that is none': ['is bad: bad-pattern.', 'refused'],
  'a $ref to another host': ['is bad: http-reference.', 'refused'],
  'a $ref to a file': ['is bad: file-reference.', 'refused'],
  'a $ref that leads nowhere': ['is bad: lost-reference.', 'refused'],
  'a header that is none': ['is bad: param-header.', 'listed'],
  'a description of a megabyte': ['xxxxxxxxxx', 'refused'],
};

async function badTools(open) {
  let bad;
  let tools = [];
  await test('bad tools: the list has the good ones', async () => {
    bad = await open(options.bad, {});
    tools = await bad.list();
    for (const good of ['good-first', 'good-last']) {
      assert.ok(tools.some(({ name }) => name === good), `no tool ${good}: ${tools.map(({ name }) => name)}`);
    }
    for (const { name } of tools) assert.match(name, /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
  });
  if (!bad) return;
  for (const name of ['good-first', 'good-last']) {
    await test(`bad tools: ${name} can be called`, async () => assert.equal(value(await bad.call(name, {})), `I am ${name}.`));
  }
  for (const [kind, [description, fate]] of Object.entries(BAD_TOOLS)) {
    await test(`bad tools: ${kind} is ${fate}`, async () => {
      const found = tools.filter((tool) => tool.description.includes(description));
      assert.equal(found.length, fate === 'refused' ? 0 : 1, JSON.stringify(found));
      for (const { name, inputSchema } of found) {
        assert.notEqual(name, 'pagetools_search', 'a page has a name of the bridge');
        assert.equal(inputSchema.type, 'object');
        assert.ok((await bad.call(name, {})).content.length > 0, 'a call of it gives nothing');
        if (fate !== 'unfit') continue;
        assert.match(words(await bad.call(name, {})), /no object|"b":1/);
        const again = (await bad.list()).find((tool) => tool.name === name);
        assert.equal(again.outputSchema, undefined, 'the schema that does not hold is still listed');
        assert.match(words(await bad.call(name, {})), /no object|"b":1/);
      }
    });
  }
  await test('bad tools: close', () => bad.close());
}
