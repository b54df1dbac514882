// @ts-check
// Does in a page, for those who test it, what its own scripts can do with its tools: lists them, and runs one by executeTool. It
// runs among the page's scripts, and believes what they have made of the page.
// The recorder's `own` is what it does that with, because the page may be shown less.

/** The longest result that leaves the page, in bytes of UTF-8: as long as that of any other call. */
const most = 1024 * 1024;

/** @returns {Promise<any[]>} */
const tools = async () => Array.from(await own.getTools());

/**
 * reply writes the end of a call as the page script does.
 * @param {string} kind
 * @param {{name?: string, message?: string, payload?: string}} more
 */
function reply(kind, { name = '', message = '', payload = '' }) {
  const len = new TextEncoder().encode(payload).length;
  if (len > most) return reply('too_large', {});
  return [JSON.stringify({ k: kind, rev: 0, ran: true, len, state: 0, name, message }), payload].join('\n');
}

drive = {
  names: async () => (await tools()).map((tool) => `${tool.name}`),
  execute: async (name, input) => {
    try {
      const tool = (await tools()).find((one) => one.name === name);
      if (tool === undefined) return reply('gone', { message: 'the page has no such tool' });
      const result = await own.executeTool(tool, JSON.parse(input));
      return reply('ok', { payload: JSON.stringify(result === undefined ? null : result) });
    } catch (error) {
      const { name: kind = '', message = `${error}` } = /** @type {any} */ (error) ?? {};
      return reply('error', { name: `${kind}`, message: `${message}` });
    }
  },
};
