// How a client logs its person in at pagetools' own authorization server: it registers itself, or is known by its document, and a
// person types a code on a page. A client is as in login.mjs.

import assert from 'node:assert/strict';
import { options, Provider, refusesIssuer } from './login.mjs';
import { letIn, revokeAll } from './person.mjs';
import { done, test } from './tap.mjs';

/** A client that no authorization server knows yet. */
class Stranger extends Provider {
  constructor(document) {
    super();
    this.clientMetadataUrl = document;
  }
  clientInformation() { return this.known; }
  saveClientInformation(known) { this.known = known; }
  state() { return 'a state'; }
  invalidateCredentials(what) {
    if (what === 'all' || what === 'tokens') this.kept = undefined;
    if (what === 'all' || what === 'client') this.known = undefined;
  }
}

/** Runs all tests of a client. */
export async function signIn(client) {
  const { open, Unauthorized } = client;
  const resource = `${options.server}/mcp`;

  async function withLogin(provider) {
    const { transport } = await open(resource, provider).then(() => assert.fail('it did not ask for a login'), (error) => {
      assert.ok(error instanceof Unauthorized || error.cause instanceof Unauthorized, error);
      return error;
    });
    const { html, back } = await letIn(provider.sent.at(-1), options.codes.shift());
    assert.equal(back.get('iss'), options.server);
    assert.equal(back.get('state'), 'a state');
    await transport.finishAuth(back.get('code'), back.get('iss'));
    return { client: await open(resource, provider), html };
  }

  for (const [how, document] of [['registers itself', undefined], ['is known by its document', options.document]]) {
    const provider = new Stranger(document);

    await test(`${how}, is let in, lists and calls`, async () => {
      const { client, html } = await withLogin(provider);
      assert.equal(provider.known.client_id === options.document, document !== undefined);
      assert.equal(html.includes('Nobody has verified this name.'), document === undefined);
      assert.equal(provider.sent[0].searchParams.get('resource'), resource);
      assert.deepEqual((await client.list()).map((tool) => tool.name).slice(0, 3), ['pagetools_search', 'pagetools_describe', 'pagetools_call']);
      const said = await client.call('look'); // after a revocation, one call hears that the page is gone
      if (!/^The session is gone/.test(said)) assert.equal(said, 'looked');
      assert.equal(await client.call('look'), 'looked');
      await client.close();
    });

    await test(`${how}, and renews a token that does not count`, async () => {
      const before = provider.kept.access_token;
      provider.kept = { ...provider.kept, access_token: before.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')) };
      const client = await open(resource, provider);
      assert.equal(await client.call('look'), 'looked');
      assert.notEqual(provider.kept.access_token, before);
      assert.equal(provider.sent.length, 1);
      await client.close();
    });

    await test(`${how}, and must log in again when it is revoked`, async () => {
      const client = await open(resource, provider);
      const token = provider.kept.access_token;
      const asks = async () => (await fetch(resource, { headers: { authorization: `Bearer ${token}` } })).status;
      assert.notEqual(await asks(), 401);
      revokeAll();
      assert.equal(await asks(), 401);
      await assert.rejects(client.call('look'));
      await client.close().catch(() => {});
      assert.equal(provider.sent.length, 2);
    });
  }

  await test('refuses an answer of another issuer, or of none', async () => {
    for (const iss of ['https://evil.example', undefined]) {
      const provider = new Stranger(options.document);
      await refusesIssuer(client, resource, provider, async (transport) => {
        const { back } = await letIn(provider.sent.at(-1), options.codes.shift());
        await transport.finishAuth(back.get('code'), iss);
      });
    }
  });

  done();
}
