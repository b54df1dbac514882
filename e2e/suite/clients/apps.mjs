// A host of MCP Apps, in a browser of ours: a person answers on the card. The host is AppBridge of @modelcontextprotocol/ext-apps, or
// AppRenderer of @mcp-ui/client.

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { done, Skip, test } from './tap.mjs';

const { browser: executablePath, sandbox, host, page: address, long, parts } = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath, chromiumSandbox: sandbox });
const page = await browser.newPage({ viewport: { width: 900, height: 1000 } });
page.setDefaultTimeout(20_000);
const problems = [];
page.on('pageerror', (e) => problems.push(String(e)));
page.on('console', (m) => { if (m.type() === 'error') problems.push(m.text()); });
await page.goto(address);
const card = page.frameLocator('iframe').frameLocator('iframe').locator('#card');

const call = (name) => page.evaluate((n) => window.chat.call(n), name);
const words = (result) => result.content.map((c) => c.text).join('');
const shown = (text) => card.getByText(text).first().waitFor();

/** Presses a button until that counts: it does when the button was in sight for a while. */
async function press(name, then) {
  const button = card.getByRole('button', { name, exact: true });
  const answered = card.getByText(then).first();
  await button.waitFor();
  while (!await answered.isVisible()) {
    await button.click({ timeout: 1000 }).catch(() => {}); // it may have gone with the last one
    await answered.waitFor({ timeout: 1000 }).catch(() => {});
  }
}

await test('what the app says of itself', async () => {
  if (host === 'mcpui') throw new Skip('AppRenderer tells its host nothing of that');
  const { app, can } = await page.evaluate(() => window.chat.app());
  assert.equal(app.name, 'pagetools');
  assert.deepEqual(can.availableDisplayModes, ['inline', 'fullscreen']);
});
await test('which tools have the card', async () => {
  const tools = await page.evaluate(() => window.chat.list());
  const of = (name) => tools.find((t) => t.name === name)._meta?.ui;
  assert.equal(of('add').resourceUri, 'ui://pagetools/card');
  assert.equal(of('runs'), undefined);
  assert.deepEqual(of('pagetools_card').visibility, ['app']);
});
await test('a call from a page of another origin streams its parts', async () => {
  if (host === 'mcpui') throw new Skip('the page of appbridge has the same client');
  const told = [];
  await page.exposeFunction('heard', async (message, line) => { // the tool goes on when its part was heard
    told.push(message);
    await fetch(`${parts.site}/release?id=${parts.id}-${line}`, { method: 'POST' });
  });
  const result = await page.evaluate(({ server, id }) => window.chat.parts(server, 'recite', { id }, ({ progress, message }) => {
    if (progress % 10 === 0) window.heard(message, progress / 10); // of a part
  }), parts);
  assert.deepEqual([told, words(result)], [['line 1', 'line 2', 'line 3'], 'recited']);
});
await test('approve, then confirm', async () => {
  const waits = await call('add');
  assert.ok(!waits.isError && /waits for the user/.test(words(waits)), words(waits));
  await shown('Run add on site?');
  await press('Allow', 'Really add it?');
  await press('OK', 'Answered');
  assert.equal(words(await call('add')), 'added, true');
  const told = await page.evaluate(() => window.chat.told);
  assert.ok(told.includes('message: I agreed. Call add again with the same arguments: it goes on, and does not run twice.'), told.join('\n'));
  assert.ok(told.some((t) => t.startsWith('context: I agreed.')), told.join('\n'));
});
await test('decline', async () => {
  await call('add');
  await press('Refuse', 'Answered');
  assert.match(words(await call('add')), /a person said no/);
});
await test('prompt', async () => {
  await call('name');
  await call('pagetools_waiting');
  const field = card.getByRole('textbox', { name: 'Your answer' });
  assert.equal(await field.inputValue(), 'Ada');
  await field.fill('Zoë "<b>"');
  await press('OK', 'Answered');
  assert.equal(words(await call('name')), 'Zoë "<b>"');
});
await test('act in the page', async () => {
  await call('seat');
  await call('pagetools_waiting');
  const picture = card.getByRole('img', { name: 'The page that asks, as it is now' });
  await picture.waitFor();
  const over = card.getByText('Answered').first();
  while (!await over.isVisible()) {
    const box = await picture.boundingBox().catch(() => null);
    if (box === null || box.width < 100) continue;
    await page.mouse.click(box.x + 0.4 * box.width, box.y + 0.4 * box.height); // the middle of the seat
    await over.waitFor({ timeout: 1000 }).catch(() => {}); // a person looks what became of it, and then types
    if (await over.isVisible()) break;
    await page.keyboard.type('Z');
    await over.waitFor({ timeout: 1000 }).catch(() => {});
  }
  const { trusted, name } = JSON.parse(words(await call('seat')));
  assert.ok(trusted && name.startsWith('Z'), name);
});
await test('a script answers nothing', async () => {
  await call('sure');
  await call('pagetools_waiting');
  const button = card.getByRole('button', { name: 'OK', exact: true });
  await button.waitFor();
  const calls = [];
  page.on('request', (r) => { if (r.postData()?.includes('"answer"')) calls.push(r.postData()); });
  for (let i = 0; i < 30; i++) {
    await button.evaluate((b) => { b.click(); b.dispatchEvent(new MouseEvent('click', { bubbles: true })); });
    await page.evaluate(() => new Promise((r) => setTimeout(r, 50)));
  }
  assert.deepEqual(calls, []);
  await press('Cancel', 'Answered');
  assert.equal(words(await call('sure')), 'false');
});
if (long) await test('expiry', async () => {
  await call('add');
  await shown('Run add on site?');
  await card.getByText('counts as declined.').and(card.locator('.line')).waitFor({ timeout: 40_000 });
  assert.match(words(await call('add')), /nobody answered in time/);
});
await test('its end', async () => {
  assert.deepEqual(await page.evaluate(() => window.chat.end()), {});
  // AppRenderer tells the app its host's context before it is connected to one, which says so.
  const known = (p) => /favicon/.test(p) || (host === 'mcpui' && p === 'Error: Not connected');
  assert.deepEqual(problems.filter((p) => !known(p)), []);
});
await browser.close();
done();
