// ==PagetoolsAdapter==
// @name        %s
// @version     0.1.0
// @description Tools of %s
%s// ==/PagetoolsAdapter==

// A first tool. Register more: each says in its description what it does and returns, and in its annotations whether
// it only reads.
modelContext.registerTool({
  name: 'page_text',
  description: 'Returns the title and the first words of the page that is shown.',
  inputSchema: {
    type: 'object',
    properties: { words: { type: 'integer', description: 'How many words to return.', minimum: 1, maximum: 500 } },
  },
  annotations: { readOnlyHint: true, untrustedContentHint: true },
  execute({ words = 50 }) {
    const text = document.body?.innerText ?? '';
    return { title: document.title, text: text.split(/\s+/).slice(0, words).join(' ') };
  },
});
