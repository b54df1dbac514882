// @ts-check
// The clients that people let in, such as claude.ai, and a button that ends each.

import { useEffect, useState } from 'preact/hooks';

import { ApiError, connections, disconnect } from '../api.js';
import { me } from '../store.js';
import { visible } from '../text.js';
import { useKeptFocus } from '../ui/focus.js';
import { Awaited, told, useLoaded } from '../ui/load.jsx';

/** @typedef {import('../api.js').Connection} Connection */

/** @param {string} address */
const host = (address) => (URL.canParse(address) && new URL(address).host) || address;

/** @param {{at: string}} props */
const Time = ({ at }) => <time dateTime={at} title={at}>{new Date(at).toLocaleString()}</time>;

export function Clients() {
  const loaded = useLoaded(connections, []);
  const [problem, setProblem] = useState('');
  useEffect(() => document.getElementById('clients')?.focus(), []);
  useKeptFocus('clients');
  const may = me.value?.rights.includes('answer') ?? false, all = loaded.value;
  /** @param {Connection} c */
  const end = async (c) => {
    setProblem('');
    try {
      await disconnect(c.id);
    } catch (e) {
      if (!(e instanceof ApiError && e.status === 404)) { // another hand was faster
        setProblem(told(e));
        return;
      }
    }
    document.getElementById('clients')?.focus();
    loaded.load();
  };
  return (
    <section aria-labelledby="clients">
      <h1 id="clients" tabIndex={-1}>Clients that people let in</h1>
      <Awaited of={loaded} />
      {problem && <p class="problem" role="alert">{problem}</p>}
      {all?.length === 0 && <p>No client was let in. One that signs in at this server appears here.</p>}
      {all && all.length > 0 && !may && <p class="meta">Not allowed: to end what a client may do, you need the right answer.</p>}
      <ul class="clients">
        {all?.map((c) => (
          <li key={c.id}>
            <strong>{visible(host(c.redirectUri))}</strong> calls itself <q dir="auto">{visible(c.name)}</q>, for {visible(c.person)}, since <Time at={c.since} />,
            last used <Time at={c.lastUsed} /> {may && <button type="button" onClick={() => end(c)}>Revoke {c.id}</button>}
          </li>
        ))}
      </ul>
    </section>
  );
}
