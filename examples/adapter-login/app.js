// A single-page app: its places are parts of one document. It declares no tools.

const main = document.querySelector('main');
const user = () => sessionStorage.getItem('user');

const places = {
  '#login': () => '<h1>Sign in</h1><form><label>Name <input name="name" required></label> <button>Sign in</button></form>',
  '#notes': () => `<h1>Notes of ${user()}</h1><ul><li>Water the tomatoes</li><li>Call Grace</li></ul><button id="out">Sign out</button>`,
};

function show() {
  const place = user() === null ? '#login' : '#notes';
  if (location.hash !== place) history.replaceState(null, '', place);
  main.innerHTML = places[place]();
  main.querySelector('form')?.addEventListener('submit', (event) => {
    event.preventDefault();
    sessionStorage.setItem('user', new FormData(event.target).get('name'));
    show();
  });
  main.querySelector('#out')?.addEventListener('click', () => {
    sessionStorage.removeItem('user');
    show();
  });
}
show();
