// Tools that end badly, beside the good ones.
'use strict';

const nested = (depth) => {
  let value = {};
  for (let i = 1; i < depth; i++) value = { a: value };
  return value;
};

const badTools = {
  throw: () => { throw new Error('the stamp is glued'); },
  'throw-later': async () => { throw new TypeError('later'); },
  'throw-nothing': () => { throw undefined; },
  hang: () => new Promise(() => {}),
  loop: () => { for (;;); },
  'loop-microtasks': () => { const again = () => { Promise.resolve().then(again); }; again(); return new Promise(() => {}); }, // its memory does not grow
  huge: () => 'x'.repeat(100e6),
  cycle: () => { const a = {}; a.a = a; return a; },
  symbol: () => Symbol('s'),
  bigint: () => 12345678901234567890n,
  function: () => () => 1,
  undefined: () => undefined,
  deep: () => nested(1000),
  confirm: () => confirm('Really?'),
  alert: () => { alert('Look!'); return 'seen'; },
  prompt: () => prompt('Who?'),
  navigate: () => { location.href = 'notools.html'; return new Promise(() => {}); },
  crash: () => { const all = []; for (;;) all.push(new Array(1e6).fill(all.length + 0.5)); },
};
for (const [name, execute] of Object.entries(badTools)) {
  document.modelContext.registerTool({ name, description: `Ends badly: ${name}.`, inputSchema: { type: 'object', properties: {} }, annotations: { readOnlyHint: true }, execute });
}
