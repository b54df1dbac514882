// What the clients of e2e/clients call. The server of this page keeps the calls of hold open, and counts what buy did.
'use strict';

const object = (properties = {}, ...required) => ({ type: 'object', properties, required, additionalProperties: false });
const word = (description) => ({ type: 'string', description, examples: ['one'] });
const readOnly = { readOnlyHint: true };

/** The tools that grow made, by name. */
const grown = new Map();

async function grow({ name }) {
  const controller = new AbortController();
  const tool = { name, description: `A tool that grew: ${name}.`, inputSchema: object(), annotations: readOnly, execute: () => `I am ${name}.` };
  await document.modelContext.registerTool(tool, { signal: controller.signal });
  grown.set(name, controller);
  return `The tool ${name} is here.`;
}

function shrink({ name }) {
  grown.get(name).abort();
  grown.delete(name);
  return `The tool ${name} is gone.`;
}

const post = async (path) => (await fetch(path, { method: 'POST' })).text();

const tools = [
  {
    name: 'echo', description: 'Returns its arguments.', annotations: readOnly, execute: (input) => input,
    inputSchema: object({ text: word('A text'), count: { type: 'integer', description: 'A number', examples: [3] } }, 'text'),
    outputSchema: object({ text: { type: 'string' }, count: { type: 'integer' } }, 'text'),
  },
  { name: 'say', description: 'Returns a text.', annotations: readOnly, inputSchema: object(), execute: () => 'a plain text' },
  { name: 'fail', description: 'Fails.', annotations: readOnly, inputSchema: object(), execute: () => { throw new Error('the stamp is glued'); } },
  {
    name: 'draw', description: 'Returns an image and a text.', annotations: readOnly, inputSchema: object(),
    async execute() {
      const canvas = new OffscreenCanvas(2, 2);
      canvas.getContext('2d').fillRect(0, 0, 2, 2);
      return { content: [await canvas.convertToBlob(), { type: 'text', text: 'black' }] };
    },
  },
  {
    name: 'save', description: 'Saves a file of bytes and one of text.', annotations: readOnly, inputSchema: object(),
    execute() {
      const files = { 'bytes.bin': Uint8Array.from({ length: 100_000 }, (_, i) => i % 251), 'words.csv': 'a,b\n1,2\n' };
      for (const [download, content] of Object.entries(files)) {
        Object.assign(document.createElement('a'), { download, href: URL.createObjectURL(new Blob([content])) }).click();
      }
      return 'saved';
    },
  },
  {
    name: 'hold', description: 'Waits until the server of the page answers.', annotations: readOnly, inputSchema: object({ id: word('Who waits') }, 'id'),
    execute: async ({ id }, { signal }) => (await fetch(`/hold?id=${encodeURIComponent(id)}`, { signal })).text(),
  },
  {
    name: 'recite', description: 'Yields three lines, each when the server of the page lets it.', annotations: readOnly, inputSchema: object({ id: word('Who listens') }, 'id'),
    async *execute({ id }, { signal }) {
      try {
        for (let line = 1; line <= 3; line++) {
          yield { message: `line ${line}`, progress: line * 10, total: 30 };
          await (await fetch(`/hold?id=${encodeURIComponent(id)}-${line}`, { signal })).text();
        }
        return 'recited';
      } finally {
        await post(`/count?id=${encodeURIComponent(id)}`);
        await post(`/release?id=${encodeURIComponent(id)}`);
      }
    },
  },
  {
    name: 'reserve', description: 'Waits as hold does, then asks the person, and fails when they say no.', inputSchema: object({ id: word('What to reserve') }, 'id'),
    async execute({ id }, context) {
      await (await fetch(`/hold?id=${encodeURIComponent(id)}`, { signal: context.signal })).text();
      if (await context.requestUserInteraction(() => confirm(`Reserve ${id}?`))) return `reserved ${id}`;
      throw new Error('nobody wants it');
    },
  },
  { name: 'grow', description: 'Registers a tool.', inputSchema: object({ name: word('Its name') }, 'name'), execute: grow },
  { name: 'shrink', description: 'Takes a tool away that grow registered.', inputSchema: object({ name: word('Its name') }, 'name'), execute: shrink },
  {
    name: 'buy', description: 'Asks the person twice, and buys.', inputSchema: object({ id: word('What to buy') }, 'id'),
    async execute({ id }, context) {
      const runs = Number(await post(`/count?id=${encodeURIComponent(id)}`));
      const bought = await context.requestUserInteraction(() => confirm(`Buy ${id}?`))
        && await context.requestUserInteraction(() => confirm(`Pay for ${id}?`));
      return { bought, runs };
    },
  },
  {
    name: 'greet', description: 'Asks the person for a name.', inputSchema: object(),
    execute: async (input, context) => `Hello, ${await context.requestUserInteraction(() => prompt('What is your name?')) ?? 'nobody'}.`,
  },
];
for (const tool of tools) document.modelContext.registerTool(tool);
