// Declarative forms: filling, validating, submitting, answering and leaving. Section 1.6.
'use strict';

/** running adds a form with autosubmit, listens to submit, and calls it. */
const running = async (controls, input, onsubmit, attributes = 'toolautosubmit') => {
  const element = await form(`<form toolname=f tooldescription=d ${attributes}>${controls}<button>go</button></form>`);
  const at = {element, submits: 0, event: null, outcome: null};
  element.addEventListener('submit', (event) => { at.submits++; at.event = event; (onsubmit ?? ((e) => { e.preventDefault(); e.respondWith(Promise.resolve(values(element))); }))(event); });
  at.outcome = await text(() => call('f', input));
  return at;
};
/** outcomeOf is a result, or an error when it reads like one. */
const outcomeOf = (expected) => (expected.startsWith('DOMException ') ? expected : {fulfilled: expected});
const values = (element) => [...new FormData(element)].map(([key, value]) => `${key}=${value}`).join('&');
const filled = (title, controls, input, expected) => [title, async () => (await running(controls, input)).outcome, outcomeOf(expected)];
/** leaving returns the outcome of a form in a frame that navigates. */
const leaving = async (target, more = '') => {
  await framed(withForm(`<form toolname=f tooldescription=d toolautosubmit action="${target}" ${more}><input name=q><button>go</button></form>`));
  return text(() => call('f', {q: 'x'}));
};
const waiting = async (controls = '<input name=q>', more = '') => {
  const element = await form(`<form toolname=f tooldescription=d ${more}>${controls}<button id=go>go</button></form>`);
  element.addEventListener('submit', (event) => { event.preventDefault(); event.respondWith(Promise.resolve(`sent ${values(element)}`)); });
  const at = {element, outcome: 'waits', done: null};
  const active = wait(mc(), 'toolactivated');
  at.done = text(() => call('f', {q: 'x'})).then((outcome) => { at.outcome = outcome; return outcome; });
  await Promise.race([active, at.done]);
  await settle();
  return at;
};

cases(
  filled('text', '<input name=q>', {q: 'words'}, 'q=words'),
  filled('text replaces what is there', '<input name=q value=old>', {q: 'new'}, 'q=new'),
  filled('what is not given stays', '<input name=q value=old><input name=r>', {r: 'x'}, 'q=old&r=x'),
  filled('no input', '<input name=q value=old>', {}, 'q=old'),
  filled('textarea', '<textarea name=q>old</textarea>', {q: 'a\nb'}, 'q=a\nb'),
  filled('number', '<input name=q type=number>', {q: 5}, 'q=5'),
  filled('number as a text', '<input name=q type=number>', {q: '5'}, 'q=5'),
  filled('range', '<input name=q type=range min=0 max=10>', {q: 7}, 'q=7'),
  filled('date', '<input name=q type=date>', {q: '2026-11-21'}, 'q=2026-11-21'),
  filled('time', '<input name=q type=time>', {q: '12:34'}, 'q=12:34'),
  filled('month', '<input name=q type=month>', {q: '2026-11'}, 'q=2026-11'),
  filled('color', '<input name=q type=color>', {q: '#102030'}, 'q=#102030'),
  filled('a date that is none', '<input name=q type=date>', {q: 'tomorrow'}, 'DOMException UnknownError: Invalid value "tomorrow" for parameter q'),
  filled('checkbox on', '<input name=q type=checkbox value=v>', {q: true}, 'q=v'),
  filled('checkbox off', '<input name=q type=checkbox value=v checked>', {q: false}, ''),
  filled('checkboxes', '<input name=q type=checkbox value=a checked><input name=q type=checkbox value=b><input name=q type=checkbox value=c>', {q: ['b', 'c']}, 'q=b&q=c'),
  filled('checkboxes with a value that there is not', '<input name=q type=checkbox value=a><input name=q type=checkbox value=b>', {q: ['z']}, 'DOMException UnknownError: Invalid value for parameter q'),
  filled('radio', '<input name=q type=radio value=a checked><input name=q type=radio value=b>', {q: 'b'}, 'q=b'),
  filled('a radio value that there is not', '<input name=q type=radio value=a checked><input name=q type=radio value=b>', {q: 'z'}, 'DOMException UnknownError: Invalid value "z" for parameter q'),
  filled('select', '<select name=q><option value=a>A<option value=b>B</select>', {q: 'b'}, 'q=b'),
  filled('a select value that there is not', '<select name=q><option value=a>A<option value=b>B</select>', {q: 'z'}, 'DOMException UnknownError: Invalid value "z" for parameter q'),
  filled('select multiple', '<select name=q multiple><option value=a selected>A<option value=b>B<option value=c>C</select>', {q: ['b', 'c']}, 'q=b&q=c'),
  filled('hidden with a description', '<input name=q type=hidden toolparamdescription=p>', {q: 'x'}, 'q=x'),
  filled('a number for a text', '<input name=q>', {q: 5}, 'q=5'),
  filled('a boolean for a text', '<input name=q>', {q: true}, 'q=true'),
  filled('null for a text', '<input name=q value=old>', {q: null}, 'DOMException UnknownError: Invalid value for parameter q'),
  filled('an object for a text', '<input name=q>', {q: {a: 1}}, 'DOMException UnknownError: Invalid value for parameter q'),
  filled('an array for a text', '<input name=q>', {q: ['a']}, 'DOMException UnknownError: Invalid value for parameter q'),
  filled('a text for a checkbox', '<input name=q type=checkbox>', {q: 'x'}, 'DOMException UnknownError: Invalid value "x" for parameter q'),
  filled('a text for checkboxes', '<input name=q type=checkbox value=a><input name=q type=checkbox value=b>', {q: 'a'}, 'DOMException UnknownError: Invalid value "a" for parameter q'),
  ['an array as input', async () => (await running('<input name=q>', ['x'])).outcome, 'DOMException UnknownError: JSON input arguments must be an object'],
  ['an unknown parameter', async () => { const at = await running('<input name=q value=old>', {q: 'new', bogus: 1}); return [at.outcome, at.element.q.value, at.submits]; }, ['DOMException UnknownError: Input contains a parameter "bogus" but there is no such parameter for the tool', 'old', 0]],
  ['a parameter that is disabled', async () => (await running('<input name=q disabled>', {q: 'x'})).outcome, 'DOMException UnknownError: Input contains a parameter "q" but there is no such parameter for the tool'],

  ['events of filling', async () => {
    const seen = [];
    for (const type of ['beforeinput', 'keydown', 'keyup', 'focus', 'blur', 'click', 'input', 'change', 'submit', 'invalid']) addEventListener(type, (event) => { if (event.target.form || event.target.tagName === 'FORM') seen.push(`${event.type} ${event.target.name ?? ''}`.trim()); }, true);
    await running('<input name=q><input name=c type=checkbox><select name=s><option>a<option>b</select>', {q: 'x', c: true, s: 'b'});
    return seen;
  }, ['input q', 'change q', 'input c', 'change c', 'input s', 'change s', 'submit']],
  ['events of filling bubble', async () => { const seen = []; const element = await form('<form toolname=g tooldescription=d><input name=q></form>'); element.remove(); addEventListener('input', (event) => seen.push([event.constructor.name, event.bubbles, event.cancelable, event.composed])); addEventListener('change', (event) => seen.push([event.constructor.name, event.bubbles, event.cancelable, event.composed])); await running('<input name=q>', {q: 'x'}); return seen; }, [['Event', true, false, true], ['Event', true, false, false]]],
  ['a value that is there already', async () => { const seen = []; addEventListener('input', () => seen.push('input')); addEventListener('change', () => seen.push('change')); await running('<input name=q value=x>', {q: 'x'}); return seen; }, []],
  ['the submit event', async () => { const at = await running('<input name=q>', {q: 'x'}); return [at.submits, at.event.agentInvoked, at.event.cancelable, at.event.submitter?.textContent ?? 'none']; }, [1, true, true, 'go']],
  ['toolactivated for a form', async () => { const seen = []; mc().addEventListener('toolactivated', (event) => seen.push(event.toolName)); await running('<input name=q>', {q: 'x'}); await settle(); return seen; }, ['f']],
  ['toolactivated comes after submit', async () => { const seen = []; mc().addEventListener('toolactivated', () => seen.push('active')); await running('<input name=q>', {q: 'x'}, (event) => { seen.push('submit'); event.preventDefault(); event.respondWith(settle()); }); return seen; }, ['submit', 'active']],

  ['respondWith a text', async () => (await running('', {}, (event) => { event.preventDefault(); event.respondWith(Promise.resolve('answer')); })).outcome, {fulfilled: 'answer'}],
  ['respondWith a value that is no promise', async () => (await running('', {}, (event) => { event.preventDefault(); event.respondWith('answer'); })).outcome, {fulfilled: 'answer'}],
  ['respondWith an object', async () => (await running('', {}, (event) => { event.preventDefault(); event.respondWith(Promise.resolve({a: [1]})); })).outcome, {fulfilled: '{"a":[1]}'}],
  ['respondWith undefined', async () => (await running('', {}, (event) => { event.preventDefault(); event.respondWith(Promise.resolve()); })).outcome, {fulfilled: 'undefined'}],
  ['respondWith a rejection', async () => (await running('', {}, (event) => { event.preventDefault(); event.respondWith(Promise.reject(new Error('no'))); })).outcome, 'DOMException UnknownError: respondWith promise was rejected'],
  ['respondWith later', async () => (await running('', {}, (event) => { event.preventDefault(); event.respondWith(settle().then(() => 'later')); })).outcome, {fulfilled: 'later'}],
  ['respondWith twice', async () => { let second; const at = await running('', {}, (event) => { event.preventDefault(); event.respondWith(Promise.resolve('one')); try { event.respondWith(Promise.resolve('two')); second = 'taken'; } catch (thrown) { second = kind(thrown); } }); return [at.outcome, second]; }, [{fulfilled: 'two'}, 'taken']],
  ['respondWith without preventDefault', async () => { let fault; const at = await running('', {}, (event) => { try { event.respondWith(Promise.resolve('x')); fault = 'taken'; } catch (thrown) { fault = `${kind(thrown)}: ${thrown.message}`; } event.preventDefault(); }); return [at.outcome, fault]; }, ['DOMException UnknownError: The site has a programming error: it called preventDefault() on the \'submit\' event, without also calling respondWith() with the tool result', 'DOMException InvalidStateError: Failed to execute \'respondWith\' on \'SubmitEvent\': To call respondWith, you must first call preventDefault.']],
  ['respondWith after the event', async () => { let fault; await running('', {}, (event) => { event.preventDefault(); setTimeout(() => { try { event.respondWith(Promise.resolve('x')); fault = 'taken'; } catch (thrown) { fault = kind(thrown); } }); }); await settle(); return fault; }, 'DOMException InvalidStateError'],
  ['respondWith without an argument', async () => { let fault; await running('', {}, (event) => { event.preventDefault(); try { event.respondWith(); fault = 'taken'; } catch (thrown) { fault = kind(thrown); } event.respondWith(Promise.resolve('x')); }); return fault; }, 'TypeError'],
  ['respondWith on an event of a person', async () => { const element = await form('<form toolname=f tooldescription=d><button>go</button></form>'); let fault; element.addEventListener('submit', (event) => { event.preventDefault(); try { event.respondWith(Promise.resolve('x')); fault = 'taken'; } catch (thrown) { fault = `${event.agentInvoked} ${kind(thrown)}`; } }); element.requestSubmit(); return fault; }, 'false DOMException InvalidStateError'],
  ['respondWith on an event of a script', () => name(() => new SubmitEvent('submit', {cancelable: true}).respondWith(Promise.resolve())), 'throws DOMException InvalidStateError'],
  ['preventDefault alone', async () => (await running('', {}, (event) => event.preventDefault())).outcome, 'DOMException UnknownError: The site has a programming error: it called preventDefault() on the \'submit\' event, without also calling respondWith() with the tool result'],
  ['the submit listener throws', async () => { addEventListener('error', (event) => event.preventDefault()); return (await running('', {}, (event) => { event.preventDefault(); event.respondWith(Promise.resolve('x')); throw new Error('listener'); })).outcome; }, {fulfilled: 'x'}],

  ['a constraint that is not met', async () => { const at = await running('<input name=q required>', {}); return [at.outcome, at.submits]; }, ['DOMException UnknownError: Form validation failed: q: Please fill out this field.. ', 0]],
  ['a constraint that is met', async () => (await running('<input name=q required>', {q: 'x'})).outcome, {fulfilled: 'q=x'}],
  ['novalidate', async () => { const at = await running('<input name=q required>', {}, undefined, 'toolautosubmit novalidate'); return [at.outcome, at.submits]; }, [{fulfilled: 'q='}, 1]],
  ['a pattern that is not met', async () => (await running('<input name=q pattern="[a-z]+">', {q: '1'})).outcome, 'DOMException UnknownError: Form validation failed: q: Please match the requested format.. '],
  ['a number that is too large', async () => (await running('<input name=q type=number max=5>', {q: 6})).outcome, 'DOMException UnknownError: Form validation failed: q: Value must be less than or equal to 5.. '],
  ['a custom validity', async () => { const element = await form('<form toolname=f tooldescription=d toolautosubmit><input name=q><button>go</button></form>'); element.q.setCustomValidity('not so'); return text(() => call('f', {q: 'x'})); }, 'DOMException UnknownError: Form validation failed: q: not so. '],
  ['no button with autosubmit', async () => { const element = await form('<form toolname=f tooldescription=d toolautosubmit><input name=q></form>'); element.addEventListener('submit', (event) => { event.preventDefault(); event.respondWith(Promise.resolve(values(element))); }); return text(() => call('f', {q: 'x'})); }, {fulfilled: 'q=x'}],
  ['no button without autosubmit', async () => { const element = await form('<form toolname=f tooldescription=d><input name=q></form>'); element.addEventListener('submit', (event) => event.preventDefault()); return text(() => call('f', {q: 'x'})); }, 'DOMException UnknownError: No submit button was found, but for a form without `toolautosubmit`, there must be a submit button'],

  ['without autosubmit it waits', async () => { const at = await waiting(); return [at.outcome, at.element.q.value, document.activeElement === at.element.querySelector('button')]; }, ['waits', 'x', true]],
  ['a person submits', async () => { const at = await waiting(); at.element.querySelector('button').click(); return at.done; }, {fulfilled: 'sent q=x'}],
  ['a person changes a value and submits', async () => { const at = await waiting(); at.element.q.value = 'y'; at.element.requestSubmit(); return at.done; }, {fulfilled: 'sent q=y'}],
  ['the form is reset', async () => { const at = await waiting(); at.element.reset(); return at.done; }, 'DOMException UnknownError: Tool execution cancelled by a form reset'],
  ['the form is removed', async () => { const at = await waiting(); at.element.remove(); return at.done; }, 'DOMException UnknownError: Tool execution cancelled, since tool definition was updated'],
  ['the form changes', async () => { const at = await waiting(); at.element.setAttribute('tooldescription', 'other'); return at.done; }, 'DOMException UnknownError: Tool execution cancelled, since tool definition was updated'],
  ['no toolcancel for a reset', async () => { const at = await waiting(); const seen = []; mc().addEventListener('toolcancel', () => seen.push('cancel')); at.element.reset(); await at.done; await settle(); return seen; }, []],
  ['the caller leaves a form that waits', async () => {
    const element = await form('<form toolname=f tooldescription=d><input name=q><button>go</button></form>');
    const controller = new AbortController(), active = wait(mc(), 'toolactivated');
    const done = text(async () => mc().executeTool(await find('f'), {q: 'x'}, {signal: controller.signal}));
    await active;
    const came = wait(mc(), 'toolcancel');
    controller.abort(new RangeError('why'));
    return [await done, (await came).toolName, element.q.value];
  }, ['RangeError: why', 'f', 'x']],

  ['a form that navigates its frame', () => leaving('/next'), {fulfilled: null}],
  ['a form that posts and navigates its frame', () => leaving('/next', 'method=post'), {fulfilled: null}],
  ['a form that gets no content', () => leaving('/204'), {fulfilled: null}],
  ['what the form sent', async () => { const {window: view, element} = await framed(withForm('<form toolname=f tooldescription=d toolautosubmit action=/next><input name=q><button>go</button></form>')); const loaded = wait(element, 'load'); await text(() => call('f', {q: 'a b'})); await loaded; return view.location.search; }, '?q=a+b'],
  ['a form for another frame', async () => { await frame(undefined, {name: 'other'}); const element = await form('<form toolname=f tooldescription=d toolautosubmit action=/next target=other><input name=q><button>go</button></form>'); const outcome = text(() => call('f', {q: 'x'})); return [await outcome, element.isConnected]; }, [{fulfilled: null}, true]],
  ['a dialog form', async () => { document.body.insertAdjacentHTML('beforeend', '<dialog open><form method=dialog toolname=f tooldescription=d toolautosubmit><input name=q><button value=v>go</button></form></dialog>'); await settle(); return text(() => call('f', {q: 'x'})); }, {fulfilled: null}],
);
