// How a client logs its person in, as the SDK's OAuthClientProvider has it, and what every client is tested with. A client is
// open(url, provider), which connects and resolves to {list(), call(name), finish(code), close()}; Unauthorized is the error with
// which it says that its person must log in, and transport the transport that it was made with then. IssuerMismatch is the error
// with which it refuses an answer of another issuer (RFC 9207); a client without one does not look at that.

import assert from 'node:assert/strict';
import { done, Skip, test } from './tap.mjs';

export const options = JSON.parse(process.argv[2]);

/** Goes where an authorization server sends a browser, and returns the code that the client gets. */
async function follow(url) {
  for (let hops = 0; hops < 10; hops++) {
    const response = await fetch(url, { redirect: 'manual' });
    const to = response.headers.get('location');
    assert.ok(to, `${url}: ${response.status} ${await response.text()}`);
    url = new URL(to, url);
    if (url.href.startsWith(options.redirect)) {
      assert.ok(url.searchParams.get('code'), url.href);
      return url.searchParams.get('code');
    }
  }
  throw new Error('too many redirects');
}

/** A person's client: what it keeps, and where it was sent. */
export class Provider {
  sent = [];
  kept; // the tokens
  saved = 0;
  constructor(kept) { this.kept = kept; }
  get redirectUrl() { return options.redirect; }
  get clientMetadata() { return { client_name: 'tests', redirect_uris: [options.redirect], grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'none' }; }
  clientInformation() { return { client_id: options.client }; }
  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; this.saved++; }
  redirectToAuthorization(url) { this.sent.push(url); }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  saveDiscoveryState(state) { this.found = state; }
  discoveryState() { return this.found; }
}

/** Has a client refuse the answer of another issuer, whose code is not traded: the client has no token then. */
export async function refusesIssuer({ open, Unauthorized, IssuerMismatch }, resource, provider, finish) {
  if (!IssuerMismatch) throw new Skip('its finishAuth takes a code, and no iss');
  const error = await open(resource, provider).then(() => assert.fail('it did not ask for a login'), (e) => e);
  assert.ok(error instanceof Unauthorized || error.cause instanceof Unauthorized, error);
  await assert.rejects(finish(error.transport), (e) => e instanceof IssuerMismatch && e.kind === 'authorization_response');
  assert.equal(provider.kept, undefined);
}

/** Runs all tests of a client. */
export async function run(client) {
  const { open, Unauthorized } = client;
  const resource = `${options.server}/mcp`;
  let kept;

  /** Tries, logs in where the client wants that, and tries again. */
  async function withLogin(provider, attempt) {
    const { transport } = await attempt().then(() => assert.fail('it did not ask for a login'), (error) => {
      assert.ok(error instanceof Unauthorized || error.cause instanceof Unauthorized, error);
      return error;
    });
    const sent = provider.sent.at(-1);
    assert.equal(sent.searchParams.get('resource'), resource);
    assert.equal(sent.searchParams.get('code_challenge_method'), 'S256');
    assert.ok(sent.searchParams.get('scope').split(' ').includes('pagetools.call'), sent.href);
    await transport.finishAuth(await follow(sent));
    return attempt();
  }

  await test('finds where to log in, logs in, lists and calls', async () => {
    const provider = new Provider();
    const client = await withLogin(provider, () => open(resource, provider));
    assert.deepEqual((await client.list()).map((tool) => tool.name).slice(0, 3), ['pagetools_search', 'pagetools_describe', 'pagetools_call']);
    assert.equal(await client.call('look'), 'looked');
    assert.equal(provider.sent.length, 1);
    kept = provider.kept;
    assert.ok(kept.refresh_token, 'there is no refresh token');
    await client.close();
  });

  await test('renews a token that does not count, and goes on', async () => {
    const provider = new Provider({ ...kept });
    const client = await open(resource, provider);
    assert.equal(await client.call('look'), 'looked');
    const [head, claims, signature] = provider.kept.access_token.split('.');
    provider.kept = { ...provider.kept, access_token: `${head}.${claims}.${signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}` };
    assert.equal(await client.call('look'), 'looked');
    assert.deepEqual([provider.saved, provider.sent.length], [1, 0]);
    await client.close();
  });

  await test('asks once more for a scope that is missing', async () => {
    const provider = new Provider({ access_token: options.narrow, token_type: 'Bearer' });
    const client = await withLogin(provider, () => open(resource, provider));
    assert.equal(await client.call('look'), 'looked');
    assert.equal(provider.sent.length, 1);
    await client.close();
  });

  await test('refuses an answer of another issuer', async () => {
    const provider = new Provider();
    await refusesIssuer(client, resource, provider, async (transport) => transport.finishAuth(await follow(provider.sent.at(-1)), 'https://evil.example'));
  });

  done();
}

/** The text of a result. */
export const words = ({ content }) => content.map((block) => block.text).join('\n');

/** Adds the transport to an error, which says that its person must log in. */
export async function connected(transport, connect) {
  try {
    return await connect();
  } catch (error) {
    throw Object.assign(error, { transport });
  }
}
