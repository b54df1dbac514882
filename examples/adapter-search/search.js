// ==PagetoolsAdapter==
// @name        field-guide
// @version     1.0.0
// @description Search in all pages of a field guide, without leaving the one that is shown
// ==/PagetoolsAdapter==

/** The pages that the first one links to, each as a document. fetch has the rights of the page, and no more. */
async function pages() {
  const read = async (address) => new DOMParser().parseFromString(await (await fetch(address)).text(), 'text/html');
  const index = await read('/index.html');
  const links = [...index.querySelectorAll('li a')];
  return Promise.all(links.map(async (link) => ({ path: `/${link.getAttribute('href')}`, name: link.textContent, text: (await read(link.getAttribute('href'))).querySelector('p').textContent })));
}

modelContext.registerTool({
  name: 'search_guide',
  description: 'Searches all pages of the field guide for a word. Returns path, name and text of each bird.',
  inputSchema: { type: 'object', required: ['word'], properties: { word: { type: 'string', description: 'A word of the name or of the text.', examples: ['fish'] } } },
  annotations: { readOnlyHint: true },
  async execute({ word }) {
    const found = (bird) => `${bird.name} ${bird.text}`.toLowerCase().includes(word.toLowerCase());
    return (await pages()).filter(found);
  },
});

// Two tools for two pages: one that waited for the next page would lose its own.
modelContext.registerTool({
  name: 'open_page',
  description: 'Opens a page of the field guide by its path, and returns at once. read_page reads it then.',
  inputSchema: { type: 'object', required: ['path'], properties: { path: { type: 'string', description: 'A path from search_guide.', pattern: '^/[a-z]+\\.html$', examples: ['/robin.html'] } } },
  annotations: { readOnlyHint: true },
  execute({ path }) {
    location.href = path;
  },
});

modelContext.registerTool({
  name: 'read_page',
  description: 'Returns the heading and the text of the page that is shown.',
  inputSchema: { type: 'object', properties: {} },
  annotations: { readOnlyHint: true },
  execute: () => ({ heading: document.querySelector('h1').textContent, text: document.querySelector('p')?.textContent ?? '' }),
});
