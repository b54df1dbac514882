// The application: state, rendering and the form. It knows nothing of WebMCP;
// tools.js offers the same helpers to an agent.
'use strict';

const byId = (id) => document.getElementById(id);
const field = (id) => /** @type {HTMLInputElement} */ (byId(id));

const FIRST_YEAR = 1840;
const LAST_YEAR = 2100;

/** The stamp that the form edits, or null when it adds one. @type {Stamp|null} */
let editing = null;

const sameName = (a, b) => a.trim().toLocaleLowerCase('en') === b.trim().toLocaleLowerCase('en');
const stampNamed = (name) => stamps.find((stamp) => sameName(stamp.name, name));

/** Checks what a person or an agent wrote, and returns it tidied. Throws an Error that says what to do. */
function checkedStamp(name, description, year, imageUrl, allowed = null) {
  const tidy = { name: String(name ?? '').trim(), description: String(description ?? '').trim(), year: Number(year), imageUrl: String(imageUrl ?? '').trim() || null };
  if (!tidy.name) throw new Error('A stamp needs a name.');
  if (!tidy.description) throw new Error('A stamp needs a description.');
  if (!Number.isInteger(tidy.year) || tidy.year < FIRST_YEAR || tidy.year > LAST_YEAR) {
    throw new Error(`The year must be a whole number from ${FIRST_YEAR} to ${LAST_YEAR}.`);
  }
  if (tidy.imageUrl && !/^(https?:\/\/|data:image\/)/i.test(tidy.imageUrl)) {
    throw new Error('The image address must start with https://, http:// or data:image/.');
  }
  const twin = stampNamed(tidy.name);
  if (twin && twin !== allowed) {
    throw new Error(`The collection already has a stamp named "${twin.name}" (${twin.year}). Update that one, or choose another name.`);
  }
  return tidy;
}

/** Adds a stamp and shows it. */
function addStamp(name, description, year, imageUrl) {
  const stamp = checkedStamp(name, description, year, imageUrl);
  stamps.push(stamp);
  confirmToPerson(`Stamp "${stamp.name}" added successfully!`);
  renderStamps(stamp);
  return stamp;
}

/** Changes the given members of one stamp and shows it. @param {Stamp} stamp */
function updateStamp(stamp, changes) {
  const next = { ...stamp, ...changes };
  Object.assign(stamp, checkedStamp(next.name, next.description, next.year, next.imageUrl, stamp));
  confirmToPerson(`Stamp "${stamp.name}" updated successfully!`);
  renderStamps(stamp);
  return stamp;
}

/** The stamps that match all of what is given, oldest first. */
function findStamps({ query = '', from = FIRST_YEAR, to = LAST_YEAR } = {}) {
  const words = query.toLocaleLowerCase('en').split(/\s+/).filter(Boolean);
  return stamps
    .filter((stamp) => stamp.year >= from && stamp.year <= to)
    .filter((stamp) => {
      const text = `${stamp.name} ${stamp.description}`.toLocaleLowerCase('en');
      return words.every((word) => text.includes(word));
    })
    .sort((a, b) => a.year - b.year || a.name.localeCompare(b.name, 'en'));
}

function confirmToPerson(message) {
  byId('confirmationMessage').textContent = message;
  byId('formError').textContent = '';
}

function currentFilter() {
  const year = (id) => (field(id).value === '' ? undefined : field(id).valueAsNumber);
  return { query: field('findQuery').value, from: year('findFrom'), to: year('findTo') };
}

/** Draws the album; `fresh` is marked as just changed. @param {Stamp|null} fresh */
function renderStamps(fresh = null) {
  const shown = findStamps(currentFilter());
  byId('album').replaceChildren(...shown.map((stamp) => card(stamp, stamp === fresh)));
  byId('nothing').hidden = shown.length > 0;
  byId('count').textContent = shown.length === stamps.length
    ? `${stamps.length} stamps`
    : `${shown.length} of ${stamps.length} stamps`;
}

function element(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function card(stamp, fresh) {
  const edit = element('button', 'quiet small', 'Edit');
  edit.type = 'button';
  edit.setAttribute('aria-label', `Edit ${stamp.name}`);
  edit.addEventListener('click', () => startEditing(stamp));
  const year = element('p', 'year', String(stamp.year));
  return element('li', fresh ? 'card fresh' : 'card',
    element('div', 'mount', picture(stamp)),
    element('div', 'words', element('h3', '', stamp.name), year, element('p', 'about', stamp.description), edit));
}

/** The stamp's own image when it has one that loads, else the drawing. */
function picture(stamp) {
  if (!stamp.imageUrl) return drawStamp(stamp);
  const image = element('img', 'stamp');
  image.alt = '';
  image.referrerPolicy = 'no-referrer';
  image.addEventListener('error', () => image.replaceWith(drawStamp(stamp)), { once: true });
  image.src = stamp.imageUrl;
  return image;
}

function startEditing(stamp) {
  editing = stamp;
  field('stampName').value = stamp.name;
  field('stampDescription').value = stamp.description;
  field('stampYear').value = String(stamp.year);
  field('stampImageUrl').value = stamp.imageUrl ?? '';
  showMode();
  field('stampName').focus();
}

function stopEditing() {
  editing = null;
  field('addStampForm').reset();
  showMode();
}

function showMode() {
  byId('deskTitle').textContent = editing ? `Edit ${editing.name}` : 'Add a stamp';
  byId('saveStamp').textContent = editing ? 'Save changes' : 'Add stamp';
  byId('cancelEdit').hidden = !editing;
  byId('formError').textContent = '';
}

byId('addStampForm').addEventListener('submit', (event) => {
  event.preventDefault();
  const values = ['stampName', 'stampDescription', 'stampYear', 'stampImageUrl'].map((id) => field(id).value);
  const [name, description, year, imageUrl] = values;
  try {
    if (editing) updateStamp(editing, { name, description, year, imageUrl });
    else addStamp(name, description, year, imageUrl);
    stopEditing();
    field('stampName').focus();
  } catch (error) {
    byId('confirmationMessage').textContent = '';
    byId('formError').textContent = error.message;
  }
});

byId('cancelEdit').addEventListener('click', stopEditing);
byId('findForm').addEventListener('submit', (event) => event.preventDefault());
byId('findForm').addEventListener('input', () => renderStamps());
// The fields are cleared after the reset event has been dispatched.
byId('findForm').addEventListener('reset', () => setTimeout(renderStamps));

renderStamps();
