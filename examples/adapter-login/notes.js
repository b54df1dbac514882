// ==PagetoolsAdapter==
// @name        notes
// @version     1.0.0
// @description Sign in to the notes, and read them
// ==/PagetoolsAdapter==

// A single-page app shows another place without loading a document, and adapters run once in each document. So this one looks at the
// address each time that it changes, takes back the tools of the place before, and registers those of the new one.

const places = {
  '#login': (add) => {
    add({
      name: 'sign_in',
      description: 'Signs in with a name. Then there are the tools of the notes.',
      inputSchema: { type: 'object', required: ['name'], properties: { name: { type: 'string', description: 'The name to sign in with.', minLength: 1, maxLength: 40 } } },
      annotations: { readOnlyHint: false, consequentialHint: false },
      execute({ name }) {
        document.querySelector('input[name=name]').value = name;
        document.querySelector('form').requestSubmit();
        return `Signed in as ${name}.`;
      },
    });
  },
  '#notes': (add) => {
    add({
      name: 'list_notes',
      description: 'Lists the notes of the user who is signed in.',
      inputSchema: { type: 'object', properties: {} },
      annotations: { readOnlyHint: true },
      execute: () => [...document.querySelectorAll('li')].map((note) => note.textContent),
    });
    add({
      name: 'sign_out',
      description: 'Signs out.',
      inputSchema: { type: 'object', properties: {} },
      annotations: { readOnlyHint: false, destructiveHint: false },
      execute() {
        document.getElementById('out').click();
        return 'Signed out.';
      },
    });
  },
};

let here = new AbortController();

function arrive() {
  here.abort();
  here = new AbortController();
  const { signal } = here;
  places[location.hash]?.((tool) => modelContext.registerTool(tool, { signal }).catch(() => {})); // it may leave before it has arrived
}

navigation.addEventListener('currententrychange', arrive);
arrive();
