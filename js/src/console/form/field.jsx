// @ts-check
// The fields of a form on the screen. Names, descriptions and values are strangers' words: they are text, and ids, classes
// and keys are made of numbers of ours.
import { Component } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { bad, isNumber, literal, print, same, stringNode } from './json.js';
import { read } from './model.js';
import { short } from './plan.js';
import { limits, textOf } from './schema.js';
import { visible } from '../text.js';

/**
 * @typedef {import('./json.js').JSONNode} JSONNode
 * @typedef {import('./plan.js').Field} Field
 * @typedef {import('./model.js').Form} Form
 * @typedef {{pointer: string, message: string}} Fault
 * @typedef {{form: Form, field: Field, parent?: Field, errors: Fault[], version: number, index?: number}} FieldProps
 * @typedef {{form: Form, field: Field, id: string, about: object, node?: JSONNode}} ControlProps
 */

const shownOptions = 100;
const shownWords = 600;
const shownName = 200;

/**
 * The form: fields or text, as the person likes.
 * @param {{form: Form, errors?: Fault[], label?: string}} props errors are the server's, by JSON pointer
 */
export function FormView({ form, errors = none, label = 'Arguments' }) {
  const at = useRef(/** @type {HTMLElement | null} */ (null));
  const mode = form.mode.value;
  const plan = form.plan.value;
  useLayoutEffect(() => {
    const { wanted } = form;
    form.wanted = undefined;
    if (wanted === undefined) return;
    const place = at.current?.querySelector(`[data-${wanted.adds ? 'adds' : 'field'}="${wanted.key}"]`);
    const first = place?.matches('button') ? place : place?.querySelector('input, textarea, select, button');
    if (first instanceof HTMLElement) first.focus();
  });
  return (
    <div class="values" ref={at} role="group" aria-label={label}>
      <div class="modes" role="group" aria-label="Show as">
        <button type="button" aria-pressed={mode === 'form'} onClick={() => form.show('form')}>Form</button>
        <button type="button" aria-pressed={mode === 'json'} onClick={() => form.show('json')}>JSON</button>
      </div>
      <p class="error" role="status">{form.refused.value}</p>
      {mode === 'json' ? <Text form={form} errors={errors} /> : <FieldView form={form} field={plan} errors={errors} version={form.version.value} />}
    </div>
  );
}

/** @type {Fault[]} */
const none = [];

/** The whole value as text. @param {{form: Form, errors: Fault[]}} props */
function Text({ form, errors }) {
  const [shown, show] = useState(!form.secret);
  const id = `${form.id}-json`;
  const { problem } = form.outcome.value;
  if (!shown) return <p>The text has a secret in it. <button type="button" onClick={() => show(true)}>Show the text</button></p>;
  return (
    <div class="field">
      {form.schema.problem === undefined ? null : <p>{form.schema.problem} So there are no fields: write JSON.</p>}
      <label for={id}>Text of the value</label> <button type="button" disabled={problem !== undefined} onClick={() => form.tidy()}>Tidy up</button>
      <textarea id={id} class="code" rows={12} spellcheck={false} autocapitalize="off" autocomplete="off" value={form.raw.value} aria-invalid={problem !== undefined || errors.length > 0}
        aria-describedby={`${id}-errors`} onInput={(e) => { form.raw.value = e.currentTarget.value; }} />
      <div id={`${id}-errors`}>
        {problem === undefined ? null : <p class="error">Not sent as it is. {problem}</p>}
        {errors.map((e) => <p class="error"><code>{visible(e.pointer) || '/'}</code> {visible(e.message)}</p>)}
      </div>
    </div>
  );
}

/** One field with everything about it; it is drawn again only when something of it changed. @extends {Component<FieldProps>} */
class FieldView extends Component {
  /** @param {FieldProps} next */
  shouldComponentUpdate(next) {
    const { field, errors, version, index } = /** @type {FieldProps} */ (this.props);
    return field !== next.field || errors !== next.errors || version !== next.version || index !== next.index;
  }

  render(/** @type {FieldProps} */ props) {
    const { form, field, errors } = props;
    const mine = errors.filter((e) => covers(field, e) && !field.children.some((c) => covers(c, e)));
    const id = `${form.id}${field.key}`;
    const group = field.control === 'object' || field.control === 'array';
    const problem = field.node?.kind === 'bad' ? field.node.problem : undefined;
    const description = textOf(field.place.said.description);
    const about = { 'aria-describedby': `${id}-about ${id}-help ${id}-errors`, 'aria-invalid': problem !== undefined || mine.length > 0, 'aria-required': field.required || undefined };
    const grouped = group ? { role: 'group', 'aria-labelledby': `${id}-name`, 'aria-describedby': about['aria-describedby'] } : {};
    return (
      <div class="field" data-field={field.key} {...grouped}>
        <Heading {...props} id={id} group={group} />
        <span class="meta" id={`${id}-about`}>{meta(field)}<Default field={field} /></span>
        {field.reason ? <p class="meta">{field.reason}</p> : null}
        <div id={`${id}-help`}>{description ? <Words text={description} /> : null}</div>
        {field.picks.map((pick, i) => <Variant form={form} field={field} pick={pick} id={`${id}-pick${i}`} name={nameOf(props)} />)}
        <Control {...props} id={id} about={about} />
        <div id={`${id}-errors`}>
          {problem === undefined ? null : <p class="error">{visible(problem)}</p>}
          {mine.map((e) => <p class="error">{e.pointer === field.pointer ? null : <code>{visible(e.pointer)}</code>} {visible(e.message)}</p>)}
        </div>
      </div>
    );
  }
}

/** @param {Field} f @param {Fault} e */
const covers = (f, e) => e.pointer === f.pointer || e.pointer.startsWith(`${f.pointer}/`);

/** @param {{field: Field, index?: number | undefined}} of */
const nameOf = ({ field, index }) => (field.name !== undefined ? short(field.name, shownName) || 'without a name' : index === undefined ? 'value' : `item ${index + 1}`);

/** Whose field it is, and the buttons that send it or leave it out. @param {FieldProps & {id: string, group: boolean}} props */
function Heading(props) {
  const { form, field, parent, id, group } = props;
  const name = nameOf(props);
  const title = textOf(field.place.said.title);
  const label = field.name === undefined ? name : <code>{name}</code>;
  const absent = field.node === undefined;
  const away = field.name === undefined ? 'Remove' : field.free ? 'Remove' : 'Do not send';
  return (
    <>
      {group ? <span class="name" id={`${id}-name`}>{label}</span> : <label class="name" for={id}>{label}</label>}
      {title && title !== field.name ? <span class="said">{short(title, shownName)}</span> : null}
      {absent && (group || field.control === 'text') ? <button type="button" aria-label={`${group ? 'Add' : 'Send empty text'} ${name}`} onClick={() => form.add(field)}>{group ? 'Add' : 'Send empty text'}</button> : null}
      {absent || parent === undefined ? null : <button type="button" aria-label={`${away} ${name}`} onClick={() => form.remove(field)}>{away}</button>}
      {!absent && field.control === 'raw' && field.place.problem === undefined && !field.reason?.startsWith('The form') && field.children.length === 0 && settles(field)
        ? <button type="button" aria-label={`Use a field for ${name}`} onClick={() => form.settle(field)}>Use a field</button> : null}
    </>
  );
}

/** Whether a field that is edited as JSON could be another control. @param {Field} f */
const settles = (f) => f.reason !== undefined && /^The (value|text)|^Edited/.test(f.reason);

/** What a field wants, in our words. @param {Field} f */
function meta(f) {
  const sent = f.node === undefined ? 'not sent' : f.node.kind === 'string' && f.node.value === '' ? 'sent: empty text' : '';
  return [f.required && f.removable ? 'required' : '', f.type, sent].filter(Boolean).join(' · ');
}

/** What stands in the place of a value that is not sent. @param {Field} field */
function unsent(field) {
  const value = field.place.said.default;
  return value === undefined || field.secret ? 'not sent' : `default ${visible(short(print(value)))}`;
}

/** A default is the page's claim: it is told, and never sent. @param {{field: Field}} props */
function Default({ field }) {
  const value = field.place.said.default;
  return value === undefined || field.node !== undefined || field.secret ? null : <> · default <code>{short(print(value))}</code></>;
}

/** What a page says of a field. @param {{text: string}} props */
function Words({ text }) {
  const [all, show] = useState(false);
  const shown = all || text.length <= shownWords ? text : `${text.slice(0, shownWords)}…`;
  return (
    <div class="said">
      <p dir="auto">{visible(shown)}</p>
      {shown === text || all ? null : <button type="button" onClick={() => show(true)}>Show all ({Math.ceil(text.length / 1024)} kB)</button>}
    </div>
  );
}

/** The choice between variants of a value. @param {{form: Form, field: Field, pick: import('./plan.js').Pick, id: string, name: string}} props */
function Variant({ form, field, pick, id, name }) {
  return (
    <div class="kind">
      <label for={id}>Kind of <code>{name}</code></label>
      <select id={id} value={String(pick.chosen)} onChange={(e) => form.choose(field, pick, Number(e.currentTarget.value))}>
        {pick.labels.map((label, i) => <option value={String(i)}>{label}</option>)}
      </select>
    </div>
  );
}

/** @param {FieldProps & {id: string, about: object}} props */
function Control(props) {
  const { form, field, id, about } = props;
  const of = { form, field, id, about, node: field.node };
  switch (field.control) {
    case 'object': return <Members {...props} />;
    case 'array': return <Members {...props} />;
    case 'choice': return <Choice {...of} />;
    case 'never': return <p>{field.node === undefined ? 'The schema allows no value here.' : <><code>{short(print(field.node), shownWords)}</code> is here, and the schema allows no value.</>}</p>;
    default: return field.secret ? <Secret {...of} /> : <Input {...of} />;
  }
}

/** A value that is typed: a text, a date, a number, or JSON. @param {ControlProps & {masked?: boolean}} props */
function Input({ form, field, id, about, node, masked }) {
  const draft = useRef(/** @type {{node: JSONNode, text: string} | undefined} */ (undefined));
  const set = (/** @type {string} */ text) => {
    const made = valueOf(field, text);
    form.put(field, made);
    draft.current = { node: made, text };
  };
  const text = draft.current !== undefined && same(draft.current.node, node) ? draft.current.text : shownText(field);
  const common = {
    id, ...about, value: text, spellcheck: false, autocapitalize: 'off', autocomplete: masked ? 'new-password' : 'off', placeholder: node === undefined ? unsent(field) : undefined,
    onInput: (/** @type {{currentTarget: {value: string}}} */ e) => set(e.currentTarget.value),
    // An emptied number or date is not sent, once the person goes on.
    onBlur: () => field.removable && node?.kind === 'bad' && node.text === '' && form.put(field, undefined),
  };
  if (masked) {
    return <input type="password" {...common} onPaste={(e) => {
      const pasted = e.clipboardData?.getData('text') ?? '';
      if (!/[\r\n]/.test(pasted)) return; // a text field of one line would leave out the line ends
      e.preventDefault();
      const { selectionStart: from, selectionEnd: to, value } = e.currentTarget;
      set(value.slice(0, from ?? 0) + pasted + value.slice(to ?? value.length));
    }} />;
  }
  if (field.control === 'date') return <input type="date" {...common} />;
  if (field.control === 'number') return <input type="text" inputmode="decimal" {...common} />;
  const odd = field.control === 'text' && visible(text) !== text;
  return (
    <>
      <textarea class={field.control === 'raw' ? 'code' : undefined} rows={Math.min(12, text.split('\n').length)} {...common} />
      {odd ? <p class="meta">With its invisible characters: <code>{short(text, shownWords)}</code></p> : null}
    </>
  );
}

/** @param {Field} field */
function shownText({ node, control }) {
  if (node === undefined) return '';
  return control === 'text' || control === 'date' ? (node.kind === 'string' ? node.value : node.kind === 'bad' ? node.text : '') : print(node);
}

/** What a typed text is. @param {Field} field @param {string} text @returns {JSONNode} */
function valueOf({ control }, text) {
  if (control === 'text') return stringNode(text);
  if (control === 'date') return text === '' ? bad('', 'The date is not whole.') : stringNode(text);
  if (control === 'raw') return read(text);
  return isNumber(text) ? literal(text) : bad(text, text === '' ? 'A number is missing.' : 'It is not a number as JSON writes it, such as 12, -0.5 or 1e6.');
}

/** A value that is hidden until its person wants to see it. @param {ControlProps} props */
function Secret(props) {
  const [shown, show] = useState(false);
  const { field, node, id } = props;
  const hides = node !== undefined && (field.control === 'raw' || /[\r\n]/.test(shownText(field)));
  return (
    <div class="secret">
      {shown ? <Input {...props} /> : hides ? <input id={id} type="text" readOnly value="••••" {...props.about} /> : <Input {...props} masked />}
      <button type="button" aria-pressed={shown} aria-label={`Show ${short(field.name ?? 'value', shownName)}`} onClick={() => show(!shown)}>Show</button>
    </div>
  );
}

/** One of some values. @param {ControlProps} props */
function Choice({ form, field, id, about, node }) {
  const [filter, setFilter] = useState('');
  const options = field.options ?? [];
  const chosen = options.findIndex((o) => same(o.node, node));
  const quoted = options.some((o) => o.node.kind !== 'string');
  const many = options.length > limits.options;
  const wanted = filter.toLowerCase();
  /** @type {[number, string][]} */
  const shown = [];
  let found = 0;
  for (const [i, o] of options.entries()) {
    const text = optionText(o, quoted);
    if (many && i !== chosen && (!text.toLowerCase().includes(wanted) || ++found > shownOptions)) continue;
    shown.push([i, text]);
  }
  // A value that is none of the choices can be chosen again.
  const other = useRef(/** @type {JSONNode | undefined} */ (undefined));
  if (node !== undefined && chosen < 0 && (node.kind !== 'bad' || other.current === undefined)) other.current = node;
  const strange = other.current?.kind === 'bad' && chosen >= 0 ? undefined : other.current;
  const take = (/** @type {string} */ value) => {
    if (value === '' && field.removable) form.put(field, undefined);
    else if (value !== '') form.put(field, value === 'other' ? other.current : options[Number(value)]?.node);
  };
  const rest = found - shownOptions;
  return (
    <>
      {many ? <>
        <label for={`${id}-filter`}>Filter {options.length} choices</label>
        <input type="search" id={`${id}-filter`} autocomplete="off" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        <span class="meta" role="status">{rest > 0 ? `${shownOptions} of ${found} are shown: type to find others` : `${found} are shown`}</span>
      </> : null}
      <select id={id} {...about} size={many ? 8 : undefined} value={chosen < 0 ? node === undefined ? '' : 'other' : String(chosen)} onChange={(e) => take(e.currentTarget.value)}>
        {node === undefined || field.removable && !field.free ? <option value="">not sent</option> : null}
        {strange === undefined ? null : <option value="other">{strange.kind === 'bad' ? 'choose…' : `${short(print(strange))} (none of the choices)`}</option>}
        {shown.map(([i, text]) => <option key={i} value={String(i)}>{text}</option>)}
      </select>
    </>
  );
}

/** @param {import('./schema.js').Option} o @param {boolean} quoted some choices are no texts, so that all are shown as JSON */
function optionText({ node, title }, quoted) {
  const text = node.kind === 'string' && !quoted ? node.value : print(node);
  return title ? `${short(title)} (${short(text)})` : short(text, shownName) || 'empty text';
}

/** The items of a list, or the properties of an object. @param {FieldProps & {id: string}} props */
function Members({ form, field, parent, index, errors, version, id }) {
  const [name, setName] = useState('');
  if (field.node === undefined) return null;
  const list = field.control === 'array';
  const taken = field.children.some((c) => c.name === name);
  const add = () => {
    if (taken || name === '') return;
    form.grow(field, name);
    setName('');
  };
  return (
    <>
      {field.children.map((c, i) => <FieldView key={c.key} form={form} field={c} parent={field} errors={errors} version={version} {...(list ? { index: i } : {})} />)}
      {!field.grows ? null : list ? <button type="button" data-adds={field.key} onClick={() => form.grow(field)}>Add item</button> : (
        <div class="grows" data-adds={field.key}>
          <label for={`${id}-new`}>Another property{parent === undefined ? null : <> of <code>{nameOf({ field, index })}</code></>}</label>
          <input type="text" id={`${id}-new`} autocomplete="off" spellcheck={false} autocapitalize="off" value={name} aria-describedby={`${id}-taken`} onInput={(e) => setName(e.currentTarget.value)}
            onKeyDown={(e) => { if (e.key === 'Enter' && !e.isComposing) { e.preventDefault(); add(); } }} />
          <button type="button" onClick={add}>Add property</button>
          <span class="error" id={`${id}-taken`}>{taken ? 'It is there already.' : ''}</span>
        </div>
      )}
    </>
  );
}
