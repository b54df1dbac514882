// @ts-check
// The clients that people let in, such as claude.ai, and a button that ends each.

import { useEffect, useState } from 'preact/hooks';

import { ApiError, connections, disconnect } from '../api.js';
import { visible } from '../text.js';
import { useKeptFocus } from '../ui/focus.js';

/** @typedef {import('../api.js').Connection} Connection */

/** @param {string} address */
const host = (address) => (URL.canParse(address) && new URL(address).host) || address;

/** @param {{at: string}} props */
const Time = ({ at }) => <time dateTime={at} title={at}>{new Date(at).toLocaleString()}</time>;

export function Clients() {
  const [all, setAll] = useState(/** @type {Connection[] | undefined} */ (undefined));
  const [problem, setProblem] = useState('');
  /** @param {unknown} e */
  const tell = (e) => setProblem(!(e instanceof ApiError) ? 'pagetools does not answer.'
    : e.status === 403 ? `Not allowed: ${e.message}` : visible(e.message));
  const load = async () => {
    try {
      setAll(await connections());
      setProblem('');
    } catch (e) {
      tell(e);
    }
  };
  useKeptFocus('clients');
  useEffect(() => {
    load();
    const again = () => { if (!document.hidden) load(); };
    document.addEventListener('visibilitychange', again);
    return () => document.removeEventListener('visibilitychange', again);
  }, []);
  /** @param {Connection} c */
  const end = async (c) => {
    try {
      await disconnect(c.id);
    } catch (e) {
      if (!(e instanceof ApiError && e.status === 404)) { // another hand was faster
        tell(e);
        return;
      }
    }
    document.getElementById('clients')?.focus();
    setAll((before) => before?.filter((other) => other.id !== c.id));
  };
  return (
    <section aria-labelledby="clients">
      <h1 id="clients" tabIndex={-1}>Clients that people let in</h1>
      {problem && <p class="problem" role="alert">{problem} <button type="button" onClick={load}>Try again</button></p>}
      {all === undefined && !problem && <p class="skeleton" aria-hidden="true" />}
      {all?.length === 0 && <p>No client was let in. One that signs in at this server appears here.</p>}
      <ul class="clients">
        {all?.map((c) => (
          <li key={c.id}>
            <strong>{visible(host(c.redirectUri))}</strong> calls itself <q dir="auto">{visible(c.name)}</q>, for {visible(c.person)}, since <Time at={c.since} />,
            last used <Time at={c.lastUsed} /> <button type="button" onClick={() => end(c)}>Revoke {c.id}</button>
          </li>
        ))}
      </ul>
    </section>
  );
}
