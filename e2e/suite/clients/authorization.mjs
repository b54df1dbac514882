// The scenarios of MCP's conformance suite for authorization servers, against pagetools' own: a client that is registered is let in.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { letIn } from './person.mjs';
import { done, test } from './tap.mjs';

const options = JSON.parse(process.argv[2]);
const suite = join(options.modules, '@modelcontextprotocol', 'conformance', 'dist', 'index.js');

/** Runs the suite, and calls sent with the address where it sends a person. The suite ends with an error of sent. */
async function conformance(args, sent = assert.fail) {
  const ran = spawn(process.execPath, [suite, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  const asked = new Promise((resolve) => {
    for (const stream of [ran.stdout, ran.stderr]) {
      stream.on('data', (data) => {
        log += data;
        const address = log.match(/^(http\S+\/oauth\/authorize\?\S+)\s/m)?.[1];
        if (address) resolve(address);
      });
    }
    ran.on('close', () => resolve());
  });
  const ended = new Promise((resolve) => ran.on('close', resolve));
  try {
    const address = await asked;
    if (address) await sent(address);
    return { code: await ended, log };
  } finally {
    ran.kill();
  }
}

/** Goes where a person is sent back to. The suite says where before it listens there. */
async function goBack(to) {
  for (;;) {
    try {
      return await fetch(to);
    } catch (error) {
      if (error.cause?.code !== 'ECONNREFUSED') throw error;
      await setTimeout(10);
    }
  }
}

await test('the suite has no scenario for resource servers', async () => { // one that has is to be run here
  const { log } = await conformance(['list', '--server']);
  assert.match(log, /tools-list/);
  assert.doesNotMatch(log, /auth|protected-resource/);
});

for (const version of options.versions) {
  await test(`both scenarios of ${version}`, async () => {
    const results = join(options.dir, version);
    const registered = await fetch(`${options.server}/oauth/register`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ client_name: 'conformance', redirect_uris: [options.redirect] }),
    });
    const { client_id: client } = await registered.json();
    const { code, log } = await conformance([
      'authorization', '--url', options.server, '--client-id', client, '-p', new URL(options.redirect).port, '--resource', `${options.server}/mcp`,
      '--spec-version', version, '-o', results,
    ], async (address) => {
      const { to } = await letIn(address, options.codes.shift());
      assert.equal((await goBack(to)).status, 200);
    });
    assert.equal(code, 0, log);
    const checks = readdirSync(results, { recursive: true }).filter((name) => name.endsWith('checks.json'))
      .flatMap((name) => JSON.parse(readFileSync(join(results, name), 'utf8'))).map(({ id, status }) => `${id} ${status}`).sort();
    assert.deepEqual(checks, ['authorization-code-grant SUCCESS', 'authorization-server-metadata SUCCESS', 'authorization-server-metadata-cimd SUCCESS'], log);
  });
}

done();
