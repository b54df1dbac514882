// Playwright's trace viewer, in a browser of ours: it shows a trace that pagetools wrote.

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { done, test } from './tap.mjs';

const { browser: executablePath, sandbox, viewer, trace, call } = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath, chromiumSandbox: sandbox });
const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
page.setDefaultTimeout(20_000);
await page.goto(`${viewer}?trace=${encodeURIComponent(trace)}`);

const shown = (locator) => locator.first().waitFor();
const actions = page.getByTestId('actions-tree');
const tab = (name) => page.getByRole('tab', { name }).first().click();

await test('actions', async () => {
  await shown(page.getByText('purchase needs a person (mcp)'));
  await shown(actions.getByText('open the page', { exact: true }));
  await actions.getByText('call buy-product', { exact: true }).click();
});
await test('arguments and result', async () => {
  await tab('Call');
  const text = await page.locator('.call-tab').innerText();
  assert.match(text, /arguments:\s*"\{"product_id":"42"\}"/);
  assert.match(text, /result:[^]*purchased/);
});
await test('question and answer', async () => {
  await actions.locator('.codicon-chevron-right').click();
  await actions.getByText(/^confirm: Buy product/).click();
  assert.match(await page.locator('.call-tab').innerText(), /answer:\s*"accept"/);
});
await test('pictures', async () => {
  await actions.getByText('call buy-product', { exact: true }).click();
  const picture = page.frameLocator('iframe.snapshot-visible').locator('img[alt="the page"]');
  await shown(picture);
  assert.ok(await picture.evaluate(async (img) => { await img.decode(); return img.naturalWidth; }) > 200);
  await shown(page.locator('.film-strip-frame'));
});
await test('network', async () => {
  await tab('Network');
  await shown(page.getByText('stamps.html', { exact: true }));
});
await test('source', async () => {
  await tab('Source');
  await shown(page.locator('.source-line-running', { hasText: 'call: buy-product' }));
});
await page.goto(`${viewer}?trace=${encodeURIComponent(call)}`);
await test('the stages of a call', async () => {
  await shown(page.getByText('list-products on today'));
  await actions.getByText('call list-products', { exact: true }).click();
  await tab('Call');
  assert.match(await page.locator('.call-tab').innerText(), /arguments:\s*"\{\}"/);
  await actions.locator('.codicon-chevron-right').click();
  await shown(actions.getByText('queued: checked, and waits for its page', { exact: true }));
});
await test('the page of a call', async () => {
  await actions.getByText('ran in the page', { exact: true }).click();
  const picture = page.frameLocator('iframe.snapshot-visible').locator('img[alt="the page"]');
  await shown(picture);
  assert.ok(await picture.evaluate(async (img) => { await img.decode(); return img.naturalWidth; }) > 200);
});
await browser.close();
done();
