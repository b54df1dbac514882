// Which names a tool may have. Section 1.2.
'use strict';

const fine = async (toolName) => [await name(() => register({name: toolName})), await listed()];
const refused = (toolName) => text(() => register({name: toolName}));
const message = 'DOMException InvalidStateError: Invalid tool name';

cases(
  ['one letter', () => fine('a'), [{fulfilled: null}, ['a']]],
  ['all that is allowed', () => fine('Az09_.-'), [{fulfilled: null}, ['Az09_.-']]],
  ['digits first', () => fine('1a'), [{fulfilled: null}, ['1a']]],
  ['a dot', () => fine('.'), [{fulfilled: null}, ['.']]],
  ['names of Object.prototype', async () => { for (const toolName of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) await register({name: toolName}); return listed(); }, ['__proto__', 'constructor', 'hasOwnProperty', 'toString']],
  ['128 characters', async () => { await register({name: 'x'.repeat(128)}); return (await listed())[0].length; }, 128],
  ['129 characters', () => refused('x'.repeat(129)), message],
  ['characters that are not allowed', () => Promise.all([' ', 'a b', 'a/b', 'a:b', 'a,b', 'é', '日', 'a\u0000', 'a\n', '😀', 'a+b', 'a@b', '$', '~', 'a\u200b'].map(refused)), Array(15).fill(message)],
  ['a space at an end is not cut off', () => Promise.all([refused(' a'), refused('a ')]), [message, message]],
);
