// What a script in the card's own document could see and do. It answers the test, and keeps a clock that the test moves.
'use strict';

(() => {
  const violations = [];
  document.addEventListener('securitypolicyviolation', (e) => violations.push(`${e.violatedDirective} ${e.blockedURI}`));
  let clicks = 0;
  document.addEventListener('click', (e) => { clicks += Number(e.isTrusted); }, true);
  const clock = performance.now.bind(performance);
  let stopped;
  performance.now = () => stopped ?? clock();
  const ops = {
    rects: (selector) => [...document.querySelectorAll(selector)].map((e) => {
      const { x, y, width, height } = e.getBoundingClientRect();
      return { x, y, width, height, text: e.textContent };
    }),
    text: () => document.getElementById('card').innerText,
    html: () => document.getElementById('card').innerHTML,
    forge: () => window.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: { content: [] } }, '*'),
    clicks: () => clicks,
    stop: () => { stopped = clock(); },
    move: (ms) => { stopped += Number(ms); },
    go: () => { stopped = undefined; },
    press: (selector) => { // as scripts press
      for (const e of document.querySelectorAll(selector)) {
        e.focus();
        e.click();
        for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']) e.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true, detail: 1, clientX: 5, clientY: 5 }));
        for (const type of ['keydown', 'keyup']) e.dispatchEvent(new KeyboardEvent(type, { bubbles: true, key: 'Enter', code: 'Enter' }));
      }
    },
    facts: () => ({ violations, scheme: getComputedStyle(document.documentElement).colorScheme, wide: document.documentElement.scrollWidth, inner: innerWidth, origin: window.origin,
      danger: document.documentElement.style.getPropertyValue('--color-text-danger'), unknown: document.documentElement.style.getPropertyValue('--unknown'),
      box: Math.ceil(document.getElementById('card').getBoundingClientRect().height) }),
  };
  window.addEventListener('message', (e) => {
    if (e.source !== window.parent || e.data?.method !== 'test/spy') return;
    e.stopImmediatePropagation();
    const { op, selector } = e.data.params;
    window.parent.postMessage({ jsonrpc: '2.0', id: e.data.id, result: { found: ops[op](selector) ?? null } }, '*');
  });
})();
