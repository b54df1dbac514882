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

/**
 * submitOf watches for the submit of a form's tool: a page is told nothing of what becomes of it, and the kit is.
 * @param {string} name of the tool
 */
function submitOf(name) {
  /** @type {{event: SubmitEvent | null, answered: boolean, stop: () => void}} */
  const seen = { event: null, answered: false, stop: () => removeEventListener('submit', onSubmit, true) };
  /** @param {any} event */
  function onSubmit(event) {
    if (!event.agentInvoked || event.target?.getAttribute?.('toolname') !== name) return;
    seen.event = event;
    const { respondWith } = event;
    Object.defineProperty(event, 'respondWith', {
      configurable: true,
      writable: true,
      /** @param {any[]} args */
      value(...args) {
        Reflect.apply(respondWith, event, args);
        seen.answered = true;
      },
    });
  }
  addEventListener('submit', onSubmit, true);
  return seen;
}

/**
 * targetOf returns the frame or window where the answer to a form goes, as the form, its button or the document say.
 * @param {Element} form
 * @param {SubmitEvent | null} event
 */
function targetOf(form, event) {
  const button = event?.submitter?.getAttribute('formtarget') ?? null;
  return button ?? form.getAttribute('target') ?? document.querySelector('base[target]')?.getAttribute('target') ?? '';
}

/**
 * formOf finds the form of a tool in this document.
 * @param {string} name
 */
const formOf = (name) => Array.from(document.forms).find((one) => one.getAttribute('toolname') === name);

/**
 * waits tells whether the form of a tool is submitted by a person, for whom executeTool does not wait.
 * @param {string} name
 */
function waits(name) {
  const form = formOf(name);
  const button = 'button:not([type=button i],[type=reset i]):enabled,input:is([type=submit i],[type=image i]):enabled';
  return form !== undefined && !form.hasAttribute('toolautosubmit') && form.querySelector(button) !== null;
}

drive = {
  asked: own.asked,
  names: async () => (await tools()).map((tool) => `${tool.name}`),
  execute: async (name, input) => {
    const submit = submitOf(name);
    try {
      const tool = (await tools()).find((one) => one.name === name);
      if (tool === undefined) return reply('gone', { message: 'the page has no such tool' });
      const form = formOf(name);
      const result = await own.executeTool(tool, JSON.parse(input));
      if (result === null && form !== undefined) return reply('submitted', { message: targetOf(form, submit.event) });
      return reply('ok', { payload: JSON.stringify(result === undefined ? null : result) });
    } catch (error) {
      if (submit.event?.defaultPrevented && !submit.answered) return reply('handled', {});
      if (submit.event === null && waits(name)) return reply('awaiting', {});
      const { name: kind = '', message = `${error}` } = /** @type {any} */ (error) ?? {};
      return reply('error', { name: `${kind}`, message: `${message}` });
    } finally {
      submit.stop();
    }
  },
};
