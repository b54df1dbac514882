// The forms are the tools. This script only answers for two of them, in the page.
'use strict';

/** @param {string} id of the form @param {(fields: Record<string, FormDataEntryValue>) => string} work */
function answer(id, work) {
  document.getElementById(id).addEventListener('submit', (event) => {
    event.preventDefault();
    const text = work(Object.fromEntries(new FormData(event.target)));
    document.getElementById('said').textContent = text;
    if (event.agentInvoked) event.respondWith(text);
  });
}

answer('lost', ({ what, where }) => `Noted: ${what}, left on the ${where}. Your number is 17.`);
answer('buy', ({ count }) => `${count} tickets for tonight.`);
