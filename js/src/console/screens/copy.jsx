// @ts-check
// Copy as: what makes the call of the screen from elsewhere.

import { useEffect, useRef, useState } from 'preact/hooks';

import { snippets } from '../snippets.js';

/** @param {{site: import('../api.js').Site, tool: string, text: string | undefined, problem: string | undefined, session?: string, config?: string, version?: string}} props */
export function CopyAs({ site, tool, text, problem, session = '', config = '', version = '' }) {
  const [as, setAs] = useState('curl');
  const [told, tell] = useState({ words: '', made: '', of: '' });
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const now = JSON.stringify([as, text, session, config, version]);
  const { words, made } = told.of === now ? told : { words: '', made: '' }; // of another call, nothing is said
  useEffect(() => field.current?.select(), [made]);
  const { endpoint, token } = site;
  if (endpoint === '') return <p class="meta">This process serves no agents over HTTP, so there is no program to copy.</p>;
  const copy = async () => {
    const make = snippets[as];
    const say = (/** @type {string} */ words, made = '') => tell({ words, made, of: now });
    if (text === undefined || make === undefined) {
      say(`Not copied: ${problem}`);
      return;
    }
    const call = make({ endpoint, token, site: site.name, tool, input: text, session, config, version });
    const less = config !== '' && /MCP|AI SDK|LangChain/.test(as) ? ' Without the config: MCP has none.' : '';
    try {
      await navigator.clipboard.writeText(call); // not there without https
      say(`Copied.${less}`);
    } catch {
      say(`Copy it from here.${less}`, call);
    }
  };
  return (
    <div class="copy-as">
      <p class="answers">
        <label for="copy-as">Copy as</label>
        <select id="copy-as" value={as} onChange={(e) => setAs(e.currentTarget.value)}>{Object.keys(snippets).map((name) => <option>{name}</option>)}</select>
        <button type="button" onClick={copy}>Copy</button>
        <span role="status">{words}</span>
        <span class="meta">{token ? 'A program reads its credential from PAGETOOLS_TOKEN.' : ''}</span>
      </p>
      {made !== '' && <textarea ref={field} class="code" rows={8} readOnly aria-label={`The call as ${as}`} value={made} />}
    </div>
  );
}
