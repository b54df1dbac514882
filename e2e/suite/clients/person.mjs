// A person whom clients send to pagetools' own authorization server. options are of the server: {server, redirect, codes, bin, data}, and
// of a browser: {browser, sandbox}.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

const options = JSON.parse(process.argv[2]);

const pair = (...args) => execFileSync(options.bin, ['pair', ...args, '--data-dir', options.data], { stdio: ['ignore', 'pipe', 'ignore'] }).toString();

/** The connections of clients that were let in. */
export const connections = () => JSON.parse(pair('--list', '--json')).connections;

/** Ends what the operator sees. */
export const revokeAll = () => connections().forEach(({ id }) => pair('--revoke', id));

/** Asks for a tool list with a token, and returns the status. */
export const statusOf = async (token) => (await fetch(`${options.server}/mcp`, { headers: { authorization: `Bearer ${token}` } })).status;

/** A token that is none. */
export const mangled = (token) => token.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A'));

/** Lets a client in as a browser would, without one, and returns the page and what the client gets. */
export async function letIn(address, code) {
  const page = await fetch(address, { redirect: 'manual' });
  const html = await page.text();
  assert.equal(page.status, 200, html);
  const token = html.match(/name="token" value="([^"]+)"/)[1];
  const cookie = page.headers.getSetCookie().map((line) => line.split(';')[0]).join('; ');
  const answer = await fetch(`${options.server}/oauth/consent`, {
    method: 'POST', redirect: 'manual', headers: { cookie, origin: options.server }, body: new URLSearchParams({ token, code, do: 'allow' }),
  });
  const to = answer.headers.get('location');
  assert.ok(to?.startsWith(options.redirect), `${answer.status} ${await answer.text()}`);
  return { html, to, back: new URL(to).searchParams };
}

/** Opens a person's browser: in(address) lets a client in, and returns what the person reads before and after. */
export async function openBrowser() {
  const browser = await chromium.launch({ executablePath: options.browser, chromiumSandbox: options.sandbox });
  const context = await browser.newContext();
  context.setDefaultTimeout(20_000);
  return {
    async in(address) {
      const page = await context.newPage();
      await page.goto(address);
      const asked = await page.locator('body').innerText();
      const code = page.getByLabel('Code', { exact: true });
      const typed = await code.isVisible(); // the second time, this browser is known
      if (typed) await code.fill(options.codes.shift());
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL((url) => url.origin !== options.server);
      const said = await page.locator('body').innerText().catch(() => ''); // a client may be gone with its answer
      await page.close();
      return { asked, typed, said };
    },
    close: () => browser.close(),
  };
}
