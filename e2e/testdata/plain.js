// ==PagetoolsAdapter==
// @name    plain
// @version 1.0.0
// ==/PagetoolsAdapter==
modelContext.registerTool({
  name: 'heading',
  description: 'Returns the heading of the page.',
  annotations: { readOnlyHint: true },
  execute: () => document.querySelector('h1').textContent,
});
