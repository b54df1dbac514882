// Tools as events. The declarations say what exists: two here, two in
// manifest.webmanifest, and one that has an execute function. The listener
// below answers the calls.
'use strict';

const listItem = {
  type: 'object',
  properties: {
    id: { type: 'integer', description: 'The id of the todo item' },
    text: { type: 'string', description: 'The text of the todo item' },
    done: { type: 'boolean', description: 'Whether it is done' },
    pinned: { type: 'boolean', description: 'Whether the person pinned it as the next one' },
  },
  required: ['id', 'text', 'done', 'pinned'],
  additionalProperties: false,
};

const tools = [
  {
    name: 'add-todo',
    title: 'Add a todo',
    description: 'Add a new todo item to the list',
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string', description: 'The text of the todo item', minLength: 1, maxLength: 200, examples: ['Buy bread'] },
      },
      required: ['text'],
      additionalProperties: false,
    },
  },
  {
    name: 'list-todos',
    title: 'List the todos',
    description: 'List every todo item with its id, the oldest first.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    outputSchema: {
      type: 'object',
      properties: {
        total: { type: 'integer', minimum: 0, description: 'How many items are on the list' },
        todos: { type: 'array', description: 'The items', items: listItem },
      },
      required: ['total', 'todos'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
  },
  {
    // The hybrid: this runs unless the listener below prevents it.
    name: 'next-todo',
    title: 'What is next',
    description: 'Say what to do next: the item that the person pinned, else the oldest open one.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: true },
    execute() {
      const oldest = todos.find((todo) => !todo.done);
      return text(oldest ? `Next: ${oldest.text} (id ${oldest.id}).` : 'Nothing is left to do.');
    },
  },
];

const text = (words) => ({ content: [{ type: 'text', text: words }] });

/** Answers for the tools that have no execute. What it throws is the answer, too. */
async function answer(name, input) {
  switch (name) {
    case 'add-todo': {
      const todo = addTodo(input.text);
      return text(`Added "${todo.text}" with id ${todo.id}. The list has ${todos.length} items.`);
    }
    case 'list-todos':
      return { total: todos.length, todos };
    case 'complete-todo': {
      const todo = setDone(input.id, true);
      return text(`"${todo.text}" is done.`);
    }
    case 'clear-done': {
      const count = clearDone();
      return text(`Removed ${count} done ${count === 1 ? 'item' : 'items'}. ${todos.length} left.`);
    }
    default:
      throw new Error(`This page has no tool named "${name}".`);
  }
}

async function onToolCall(event) {
  if (event.name !== 'next-todo') {
    // Called during dispatch and given a promise, as a service worker does with a fetch event.
    event.respondWith(answer(event.name, event.input));
    return;
  }
  const pinned = todos.find((todo) => todo.pinned);
  if (!pinned) return; // Nobody prevented it: execute runs.
  // Prevented during dispatch, so the response may come later.
  event.preventDefault();
  await flash(pinned);
  event.respondWith(text(`Next: ${pinned.text} (id ${pinned.id}), because it is pinned.`));
}

/** Shows the person for a moment which item the agent was told. A timer, because a hidden page paints no frames. */
async function flash(todo) {
  const row = byId(`todo-${todo.id}`)?.closest('li');
  row?.classList.add('told');
  await new Promise((resolve) => { setTimeout(resolve, 150); });
  row?.classList.remove('told');
}

const context = navigator.modelContext ?? window.agent;
if (context?.provideContext && window.agent?.addEventListener) {
  window.agent.addEventListener('toolcall', onToolCall);
  context.provideContext({ tools });
  byId('note').textContent = 'Agents can use this list.';
}
