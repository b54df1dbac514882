// The theatre itself: what a person uses, and what the tool opens for them. The bookings live in the page and start again on reload.

const plays = [
  { id: 'tempest', title: 'The Tempest', taken: ['A2', 'B3', 'B4'] },
  { id: 'faust', title: 'Faust', taken: ['A1', 'C6'] },
];
const bookings = [];
const rows = ['A', 'B', 'C'];
const columns = [1, 2, 3, 4, 5, 6];

const byId = (id) => document.getElementById(id);

function findPlay(id) {
  const play = plays.find((p) => p.id === id);
  if (!play) throw new Error(`There is no play "${id}". There are: ${plays.map((p) => p.id).join(', ')}.`);
  return play;
}

/** Opens the wizard for a play, and returns the booking, or null when the person cancelled or the signal aborted it. */
function book(id, signal) {
  const play = findPlay(id);
  const dialog = byId('wizard');
  const done = new AbortController();
  return new Promise((resolve) => {
    const on = (element, type, then) => element.addEventListener(type, then, { signal: done.signal });
    let seat;
    const end = (booking) => {
      done.abort();
      dialog.close();
      resolve(booking);
    };
    on(dialog, 'close', () => end(null));
    for (const button of dialog.querySelectorAll('.cancel')) on(button, 'click', () => end(null));
    if (signal) on(signal, 'abort', () => end(null));
    on(byId('pick'), 'submit', (e) => {
      e.preventDefault();
      seat = new FormData(e.target).get('seat');
      step(`Sign for seat ${seat}`, 'sign');
      byId('name').focus();
    });
    on(byId('sign'), 'submit', (e) => {
      e.preventDefault();
      const booking = { play: play.title, seat, signed: byId('name').value };
      play.taken.push(seat);
      bookings.push(booking);
      show();
      end(booking);
    });
    byId('sign').reset();
    byId('seats').replaceChildren(...rows.flatMap((row) => columns.map((column) => seatOf(`${row}${column}`, play))));
    step(`${play.title}: pick a seat`, 'pick');
    dialog.showModal();
    dialog.querySelector('input[name=seat]:enabled').focus();
  });
}

function step(title, form) {
  byId('step').textContent = title;
  for (const id of ['pick', 'sign']) byId(id).hidden = id !== form;
}

function seatOf(name, play) {
  const input = Object.assign(document.createElement('input'), { type: 'radio', name: 'seat', value: name, required: true, disabled: play.taken.includes(name) });
  const label = document.createElement('label');
  label.append(name, input);
  return label;
}

function show() {
  byId('plays').replaceChildren(...plays.map((play) => {
    const item = document.createElement('li');
    const title = Object.assign(document.createElement('span'), { className: 'title', textContent: play.title });
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Book' });
    button.setAttribute('aria-label', `Book a seat for ${play.title}`);
    button.addEventListener('click', () => book(play.id));
    item.append(title, button);
    return item;
  }));
  byId('bookings').replaceChildren(...bookings.map(({ play, seat, signed }) => Object.assign(document.createElement('li'), { textContent: `${play}, seat ${seat}, signed by ${signed}` })));
  byId('none').hidden = bookings.length > 0;
}

show();
