// @ts-check
// The calls of the list over time, a lane for each session. It is a drawing: the list below has the same, for everybody.

import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';

import { written } from '../calls/filter.js';
import { did } from '../calls/did.js';
import { address, filter, query, shown } from '../calls/list.js';
import { visible } from '../text.js';

/** @typedef {import('../calls/filter.js').Call} Call */

const lane = 18; // pixels
const mostLanes = 12;
const names = 150; // pixels at the left, at most a third
const shortest = 100, longest = 8 * 3_600_000; // milliseconds that are shown

export const timeline = signal(false);
/** How much is shown, in milliseconds, and until when; 0 is until now. */
const span = signal(15 * 60_000), until = signal(0);

/** Shows more, or less, of the time around a moment. @param {number} by @param {number} [around] */
export function zoom(by, around) {
  const to = until.value || Date.now(), next = Math.min(Math.max(span.value * by, shortest), longest);
  const end = around === undefined ? to : around + (to - around) * next / span.value;
  span.value = next;
  until.value = around === undefined || end >= Date.now() ? 0 : end;
}

/** The calls by whose they are, the newest lanes first. @param {Call[]} all @param {number} from @param {number} to */
function lanesOf(all, from, to) {
  /** @type {Map<string, Call[]>} */
  const lanes = new Map();
  for (const c of all) {
    if (Date.parse(c.began) > to || endOf(c) < from) continue;
    const name = `${visible(c.site)} · ${visible(c.caller)}${c.session && ` · ${visible(c.session)}`}`;
    const key = lanes.has(name) || lanes.size < mostLanes - 1 ? name : 'others';
    const of = lanes.get(key);
    if (of) of.push(c);
    else lanes.set(key, [c]);
  }
  return lanes;
}

/** @param {Call} c */
const endOf = (c) => (c.status === 'running' ? Date.now() : Date.parse(c.at));

/** Takes only a part of the time. @param {number} from @param {number} to */
function only(from, to) {
  const rest = written(query.peek()).filter((word) => !/^-?(since|until):/.test(word));
  filter([...rest, `since:${new Date(from).toISOString()}`, `until:${new Date(to).toISOString()}`].join(' '));
}

const clock = (/** @type {number} */ at) => new Date(at).toLocaleTimeString(undefined, { hourCycle: 'h23' });

/** Shows the time of the open call, as far as its page was recorded. */
function whole() {
  const times = (did.peek()?.items ?? []).flatMap((e) => [Date.parse(e.at), Date.parse(e.at) + e.took]);
  const first = Math.min(...times), last = Math.max(...times);
  span.value = Math.min(Math.max((last - first) * 1.2, shortest), longest);
  until.value = (first + last + span.value) / 2;
}

/** The lanes of the page of the chosen call: its requests, and what else it did. @returns {Map<string, {from: number, to: number, bad: boolean}[]>} */
function pageLanes() {
  const lanes = new Map(), { tool = '', items = [] } = did.value ?? {};
  for (const kind of ['page', 'network']) {
    const of = items.filter((e) => (e.kind === 'request') === (kind === 'network'));
    if (of.length > 0) lanes.set(`${kind} · ${visible(tool)}`, of.map((e) => ({ from: Date.parse(e.at), to: Date.parse(e.at) + e.took, bad: e.bad })));
  }
  return lanes;
}

export function Timeline() {
  const at = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [width, setWidth] = useState(0);
  const [brush, setBrush] = useState(/** @type {[number, number] | null} */ (null));
  const [theme, setTheme] = useState(0);
  const to = until.value || Date.now(), from = to - span.value, all = shown.value;
  const lanes = lanesOf(all, from, to), page = pageLanes(), left = Math.min(names, width / 3);
  const seen = [...lanes.values()].reduce((n, of) => n + of.length, 0);
  const x = (/** @type {number} */ time) => left + (time - from) / (to - from) * (width - left);
  const timeAt = (/** @type {number} */ px) => from + (px - left) / Math.max(1, width - left) * (to - from);
  useEffect(() => {
    const canvas = /** @type {HTMLCanvasElement} */ (at.current);
    const sizes = new ResizeObserver(() => setWidth(canvas.clientWidth));
    sizes.observe(canvas);
    const wheel = (/** @type {WheelEvent} */ e) => {
      e.preventDefault();
      zoom(e.deltaY > 0 ? 1.25 : 0.8, place.current(e.offsetX));
    };
    canvas.addEventListener('wheel', wheel, { passive: false });
    const again = () => setTheme((n) => n + 1);
    const themes = new MutationObserver(again);
    themes.observe(document.documentElement, { attributes: true });
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', again);
    return () => {
      sizes.disconnect();
      themes.disconnect();
      canvas.removeEventListener('wheel', wheel);
      system.removeEventListener('change', again);
    };
  }, []);
  const place = useRef(timeAt);
  place.current = timeAt;
  useEffect(() => draw(/** @type {HTMLCanvasElement} */ (at.current), { lanes, page, width, left, x, brush }), [all, did.value, from, to, width, brush, theme]);
  const hit = (/** @type {MouseEvent} */ e) => [...lanes.values()][Math.floor(e.offsetY / lane)]?.find((c) => x(Date.parse(c.began)) - 2 <= e.offsetX && e.offsetX <= x(endOf(c)) + 3);
  return (
    <figure class="timeline">
      <canvas ref={at} role="img" aria-label={`${seen} of these calls over time, from ${clock(from)} to ${clock(to)}. The list below has them all.${page.size > 0 ? ' And what the page of the open call did, which the call lists.' : ''}`}
        onPointerDown={(e) => {
          e.currentTarget.setPointerCapture(e.pointerId);
          setBrush([e.offsetX, e.offsetX]);
        }}
        onPointerMove={(e) => { if (brush) setBrush([brush[0], e.offsetX]); }}
        onPointerUp={(e) => {
          setBrush(null);
          if (!brush) return;
          const [a, b] = [Math.min(...brush), Math.max(...brush)];
          if (b - a > 4) only(timeAt(Math.max(a, left)), timeAt(b));
          else {
            const c = hit(e);
            if (c) address({ sel: c.call });
          }
        }} />
      <figcaption class="bar-of">
        <span>{clock(from)} to {clock(to)}</span>
        <span class="legend"><i class="ok" />ok <i class="bad" />error, refused <i class="asks" />waits for a person</span>
        <button type="button" onClick={() => zoom(0.5)} aria-label="Show less time">+</button>
        <button type="button" onClick={() => zoom(2)} aria-label="Show more time">−</button>
        {page.size > 0 && <button type="button" onClick={whole}>The open call</button>}
        <button type="button" onClick={() => only(from, to)}>Only this time</button>
      </figcaption>
    </figure>
  );
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{lanes: Map<string, Call[]>, page: ReturnType<typeof pageLanes>, width: number, left: number, x: (time: number) => number, brush: [number, number] | null}} what
 */
function draw(canvas, { lanes, page, width, left, x, brush }) {
  const height = Math.max(1, lanes.size + page.size) * lane, ratio = devicePixelRatio;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const g = canvas.getContext('2d');
  if (!g) return;
  g.scale(ratio, ratio);
  const color = (/** @type {string} */ of) => getComputedStyle(/** @type {Element} */ (canvas.parentElement?.querySelector(of))).color;
  const colors = { ok: color('.ok'), bad: color('.bad'), waits: color('.asks'), text: getComputedStyle(canvas).color };
  g.font = getComputedStyle(canvas).font;
  g.textBaseline = 'middle';
  let top = 0;
  const label = (/** @type {string} */ name) => {
    g.fillStyle = colors.text;
    g.save();
    g.beginPath();
    g.rect(0, top, left - 4, lane);
    g.clip();
    g.fillText(name, 0, top + lane / 2);
    g.restore();
  };
  for (const [name, of] of lanes) {
    label(name);
    for (const c of of) {
      const a = Math.max(left, x(Date.parse(c.began))), b = Math.min(width, x(endOf(c)));
      g.fillStyle = c.status === 'ok' || c.status === 'running' ? colors.ok : colors.bad;
      if (c.status === 'ok' || c.status === 'running') g.fillRect(a, top + 4, Math.max(2, b - a), lane - 8);
      else g.fillRect(a, top + 1, Math.max(2, b - a), lane - 2); // higher, for who does not see the colours
      if (c.asked) {
        const waits = Math.max(left, x(Date.parse(c.asked)));
        g.fillStyle = colors.waits;
        g.fillRect(waits, top + lane / 2 - 1, Math.max(0, Math.min(width, x(c.answered ? Date.parse(c.answered) : endOf(c))) - waits), 3);
      }
    }
    top += lane;
  }
  for (const [name, of] of page) {
    label(name);
    for (const e of of) {
      const a = x(e.from), b = Math.min(width, x(e.to)), high = e.bad ? lane - 2 : lane - 10;
      if (a < left || a > width) continue;
      g.fillStyle = e.bad ? colors.bad : colors.ok;
      g.fillRect(a, top + (lane - high) / 2, Math.max(2, b - a), high);
    }
    top += lane;
  }
  if (brush) {
    g.globalAlpha = 0.25;
    g.fillStyle = colors.text;
    g.fillRect(Math.min(...brush), 0, Math.abs(brush[1] - brush[0]), height);
  }
}
