// @ts-check
// The conversation with the host around this frame, as MCP Apps have it: JSON-RPC in messages of windows.

/** @typedef {Record<string, any>} Members */

let last = 0;
/** @type {Map<number, {resolve: (result: Members) => void, reject: (why: Error) => void}>} */
const open = new Map();

/** @param {Members} message */
const post = (message) => window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');

/** @param {string} method @param {Members} params */
export const tell = (method, params) => post({ method, params });

/**
 * Asks the host. A host that never replies is given up.
 * @param {string} method @param {Members} params @param {number} [within] milliseconds
 * @returns {Promise<Members>}
 */
export function ask(method, params, within = 60_000) {
  const id = ++last;
  return new Promise((resolve, reject) => {
    open.set(id, { resolve, reject });
    setTimeout(() => {
      if (open.delete(id)) reject(new Error('The host does not reply.'));
    }, within);
    post({ id, method, params });
  });
}

/**
 * Hears the host, and nobody else.
 * @param {Record<string, (params: Members) => Members | void>} methods what it may ask or tell
 */
export function hear(methods) {
  window.addEventListener('message', ({ source, data }) => {
    if (source !== window.parent || data?.jsonrpc !== '2.0') return;
    if (typeof data.method === 'string') {
      const method = Object.hasOwn(methods, data.method) ? methods[data.method] : undefined;
      const result = method?.(data.params ?? {});
      if (data.id === undefined) return;
      post(method ? { id: data.id, result: result ?? {} } : { id: data.id, error: { code: -32601, message: 'Method not found' } });
      return;
    }
    const asked = open.get(data.id);
    if (!asked) return;
    open.delete(data.id);
    if (data.error) asked.reject(new Error(String(data.error.message)));
    else asked.resolve(data.result ?? {});
  });
}
