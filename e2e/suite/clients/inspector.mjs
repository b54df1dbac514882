// The command line of MCP's Inspector, which logs its person in, at pagetools' own authorization server.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connections, mangled, openBrowser, revokeAll, statusOf } from './person.mjs';
import { done, Skip, test } from './tap.mjs';

const options = JSON.parse(process.argv[2]);
const program = join(options.modules, '@modelcontextprotocol', 'inspector', 'clients', 'launcher', 'build', 'index.js');
const person = await openBrowser();

/** Calls the tool look by pagetools_call, as the Inspector only calls what is listed; its person lets it in where it asks for that. */
async function look(...args) {
  const ran = spawn(process.execPath, [
    program, '--cli', '--server-url', `${options.server}/mcp`, '--transport', 'http', '--protocol-era', options.era, '--callback-url', options.redirect,
    '--format', 'json', '--method', 'tools/call', '--tool-name', 'pagetools_call', '--tool-args-json', '{"name":"look"}', ...args,
  ], { env: { ...process.env, HOME: options.dir, BROWSER: 'true', MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' }, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let log = '';
  let letIn;
  ran.stdout.on('data', (data) => { out += data; });
  ran.stderr.on('data', (data) => {
    log += data;
    const address = log.match(/Please navigate to: (http\S+)\s/)?.[1];
    if (address) letIn ??= person.in(address);
  });
  const code = await new Promise((resolve) => ran.on('close', resolve));
  const words = out ? JSON.parse(out).result.content.map(({ text }) => text).join('\n') : '';
  return { code, words, log, letIn: await letIn };
}

const file = join(options.dir, '.mcp-inspector', 'secrets.json');

/** Reads the tokens that the Inspector keeps, and changes them. */
function kept(change) {
  const all = JSON.parse(readFileSync(file, 'utf8'));
  const [name] = Object.keys(all.secrets).filter((key) => key.includes(':tokens:'));
  const tokens = JSON.parse(all.secrets[name]);
  if (change) {
    all.secrets[name] = JSON.stringify({ ...tokens, ...change(tokens) });
    writeFileSync(file, JSON.stringify(all));
  }
  return tokens;
}

await test('registers itself, is let in by a person, and calls', async () => {
  const { code, words, log, letIn } = await look();
  assert.equal(code, 0, log);
  assert.equal(words, 'looked');
  assert.match(letIn.asked, /A client that calls itself “MCP Inspector” asks to use the tools of this server\. Nobody has verified this name\./);
  assert.ok(letIn.typed, 'no code was asked for');
});

await test('calls with what it keeps', async () => {
  const { code, words, log, letIn } = await look('--stored-auth-only');
  assert.deepEqual([code, words, letIn], [0, 'looked', undefined], log);
});

await test('renews a token that does not count', async () => {
  const before = kept(({ access_token }) => ({ access_token: mangled(access_token) }));
  const { code, words, log, letIn } = await look('--stored-auth-only');
  assert.deepEqual([code, words, letIn], [0, 'looked', undefined], log);
  const { access_token, refresh_token } = kept();
  assert.notEqual(access_token, before.access_token);
  assert.notEqual(refresh_token, before.refresh_token);
});

await test('is refused at once when it is revoked, and asks its person again', async () => {
  const { access_token } = kept();
  assert.notEqual(await statusOf(access_token), 401);
  revokeAll();
  assert.equal(await statusOf(access_token), 401);
  const refused = await look('--stored-auth-only');
  assert.equal(refused.code, 3, refused.log);
  assert.match(refused.log, /"auth_required"/);
  const { words, letIn, log } = await look();
  assert.match(words, /^looked$|^The session is gone/, log); // one call hears that the page is gone
  assert.ok(letIn && !letIn.typed, 'the browser is not known any more');
  assert.equal((await look('--stored-auth-only')).words, 'looked');
});

await test('revokes what it forgets', async () => {
  const [{ id }] = connections();
  const { code, words, log } = await look('--relogin');
  assert.deepEqual([code, words], [0, 'looked'], log);
  const left = connections().map((c) => c.id);
  if (left.includes(id) && left.length === 2 && !/could not revoke/.test(log)) {
    throw new Skip('the Inspector looks for revocation_endpoint where only its enterprise logins keep metadata, and asks for no revocation');
  }
  assert.equal(left.length, 1, log);
});

await person.close();
done();
