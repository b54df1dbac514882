// The application: a list of things to do, kept in this browser's storage when
// there is one. It knows nothing of agents.
'use strict';

const byId = (id) => document.getElementById(id);
const STORE = 'pagetools.example.todos';

/** @typedef {{id: number, text: string, done: boolean, pinned: boolean}} Todo */

const seed = [
  { id: 1, text: 'Water the tomatoes', done: false, pinned: false },
  { id: 2, text: 'Return the library books', done: false, pinned: false },
  { id: 3, text: 'Sharpen the kitchen knife', done: true, pinned: false },
];

/** @type {Todo[]} */
let todos = load();

function load() {
  try {
    const kept = JSON.parse(localStorage.getItem(STORE) ?? 'null');
    return Array.isArray(kept) ? kept : structuredClone(seed);
  } catch {
    return structuredClone(seed);
  }
}

function changed() {
  try {
    localStorage.setItem(STORE, JSON.stringify(todos));
  } catch {
    // Storage is refused (a private window, a full disk). The list lives in the page then.
  }
  render();
}

function addTodo(text) {
  const words = String(text ?? '').trim();
  if (!words) throw new Error('A todo item needs a text.');
  if (words.length > 200) throw new Error('The text of a todo item has at most 200 characters.');
  const todo = { id: Math.max(0, ...todos.map((each) => each.id)) + 1, text: words, done: false, pinned: false };
  todos.push(todo);
  changed();
  return todo;
}

function todoWithId(id) {
  const todo = todos.find((each) => each.id === id);
  if (!todo) throw new Error(`No todo item has the id ${id}. Use list-todos to see the ids.`);
  return todo;
}

function setDone(id, done) {
  const todo = todoWithId(id);
  todo.done = done;
  if (done) todo.pinned = false;
  changed();
  return todo;
}

/** Pins one item, the one that the person wants to see first; pinning it again unpins it. */
function togglePin(id) {
  for (const todo of todos) todo.pinned = todo.id === id && !todo.pinned;
  changed();
}

function clearDone() {
  const before = todos.length;
  todos = todos.filter((todo) => !todo.done);
  changed();
  return before - todos.length;
}

function element(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function row(todo) {
  const box = element('input');
  box.type = 'checkbox';
  box.id = `todo-${todo.id}`;
  box.checked = todo.done;
  box.addEventListener('change', () => setDone(todo.id, box.checked));
  const label = element('label', '', todo.text);
  label.htmlFor = box.id;
  const pin = element('button', 'pin', todo.pinned ? 'Pinned' : 'Pin');
  pin.type = 'button';
  pin.id = `pin-${todo.id}`;
  pin.disabled = todo.done;
  pin.setAttribute('aria-pressed', String(todo.pinned));
  pin.setAttribute('aria-label', `Pin: ${todo.text}`);
  pin.addEventListener('click', () => togglePin(todo.id));
  return element('li', todo.done ? 'done' : todo.pinned ? 'pinned' : '', box, label, pin);
}

function render() {
  const focused = document.activeElement?.id;
  byId('todos').replaceChildren(...todos.map(row));
  const open = todos.filter((todo) => !todo.done).length;
  byId('summary').textContent = `${open} to do, ${todos.length - open} done.`;
  byId('empty').hidden = todos.length > 0;
  byId('clearDone').disabled = open === todos.length;
  // The rows are new: give the keyboard its place back.
  if (focused) byId(focused)?.focus();
}

byId('addForm').addEventListener('submit', (event) => {
  event.preventDefault();
  const input = /** @type {HTMLInputElement} */ (byId('newTodo'));
  if (!input.value.trim()) return;
  addTodo(input.value);
  input.value = '';
  input.focus();
});
byId('clearDone').addEventListener('click', () => {
  clearDone();
  byId('newTodo').focus();
});

render();
