// A page that knows its members by a cookie. It believes any name: a real site would ask for more.
'use strict';

const loans = { Ada: ['The Analytical Engine'], Grace: ['Understanding Computers', 'A Ship in Harbour'] };

const member = () => document.cookie.match(/(?:^|; )member=([^;]*)/)?.[1];

function greet() {
  const name = member();
  document.getElementById('who').textContent = name ? `Hello ${name}.` : 'Nobody is logged in.';
}

document.modelContext?.registerTool({
  name: 'log-in',
  description: 'Logs you in as a member, in this browser.',
  inputSchema: { type: 'object', properties: { name: { type: 'string', pattern: '^[A-Za-z]+$', description: 'Your name' } }, required: ['name'] },
  execute: ({ name }) => {
    document.cookie = `member=${name}; path=/; max-age=31536000; samesite=lax`;
    greet();
    return `Welcome ${name}.`;
  },
});

document.modelContext?.registerTool({
  name: 'my-books',
  description: 'The books that you have, as a member.',
  annotations: { readOnlyHint: true },
  inputSchema: { type: 'object', properties: {} },
  execute: () => {
    const name = member();
    if (!name) throw new Error('Nobody is logged in.');
    return loans[name] ?? [];
  },
});

greet();
