// @ts-check
// Filters of calls, read as transport/console/filter.go reads them: transport/console/testdata/filters.json holds both to the same.

/** @typedef {{node: string, call: string, site: string, tool: string, caller: string, session: string, stage: string, status: string, began: string, at: string,
 *   question?: string, outcome?: string, code?: string, reason?: string, asked?: string, answered?: string, ran?: string, delivered?: string, replays?: string, waited?: number, decision?: string,
 *   layer?: string, rule?: string, approval?: string, approver?: string, version?: string, trace?: string, argumentBytes: number, resultBytes: number}} Call */
/** @typedef {(c: Call, now: number) => boolean} Condition */

export const keys = ['site', 'tool', 'caller', 'session', 'status', 'code', 'duration', 'waited', 'since', 'until', 'version', 'id'];
export const statuses = ['running', 'ok', 'refused', 'error'];

/** The words of a filter, with their quotes. @param {string} q @returns {string[]} */
export const written = (q) => q.match(/(?:[^ "]|"[^"]*(?:"|$))+/g) ?? [];

/**
 * The condition of a filter, or what is wrong with it.
 * @param {string} q
 * @returns {Condition | string}
 */
export function readFilter(q) {
  /** @type {Condition[]} */
  const all = [];
  for (const one of written(q)) {
    const word = one.replaceAll('"', '');
    const bare = word.replace(/^-/, '');
    if (bare === '') continue;
    const wanted = readCondition(bare);
    if (typeof wanted === 'string') return wanted;
    all.push(bare === word ? wanted : (c, now) => !wanted(c, now));
  }
  return (c, now) => all.every((one) => one(c, now));
}

/** @param {string} word @returns {Condition | string} */
function readCondition(word) {
  const at = word.indexOf(':');
  if (at < 0) {
    const wanted = word.toLowerCase();
    return (c) => [c.site, c.tool, c.caller, c.session, c.node].some((name) => name.toLowerCase().includes(wanted));
  }
  const key = word.slice(0, at), value = word.slice(at + 1);
  if (!keys.includes(key)) return `unknown word "${key}" in the filter: must be one of ${keys.slice(0, -1).join(', ')} and ${keys.at(-1)}.`;
  if (value === '') return `invalid filter ${key}: must have a value behind its colon.`;
  const invalid = (/** @type {string} */ what, one = value) => `invalid value "${one}" for ${key}: must be ${what}.`;
  const values = value.toLowerCase().split(',');
  switch (key) {
    case 'duration': case 'waited': {
      const ms = /^[<>][^<>]/.test(value) ? length(value.slice(1)) : undefined;
      if (ms === undefined) return invalid('such as >500ms or <2s');
      const of = key === 'waited' ? (/** @type {Call} */ c) => c.waited ?? 0 : took;
      return value.startsWith('>') ? (c, now) => of(c, now) > ms : (c, now) => of(c, now) < ms;
    }
    case 'since': case 'until': {
      const ago = length(value), moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value) ? Date.parse(value) : NaN;
      if (ago === undefined && Number.isNaN(moment)) return invalid('such as 15m, 2d or 2026-01-31T12:00:00Z');
      const limit = (/** @type {number} */ now) => (ago === undefined ? moment : now - ago);
      return key === 'since' ? (c, now) => Date.parse(c.began) >= limit(now) : (c, now) => Date.parse(c.began) <= limit(now);
    }
    case 'status': {
      const bad = value.split(',').find((one) => !statuses.includes(one));
      if (bad !== undefined) return invalid('running, ok, refused or error', bad);
      return (c) => values.includes(c.status);
    }
    case 'code': return (c) => [c.code ?? '', c.reason ?? ''].some((name) => values.some((one) => matches(one, name.toLowerCase())));
    default: {
      const member = /** @type {'site'} */ (key === 'id' ? 'call' : key);
      return (c) => values.some((one) => matches(one, (c[member] ?? '').toLowerCase()));
    }
  }
}

/** Whether a name is what was written, in which a star stands for anything. @param {string} pattern @param {string} name */
function matches(pattern, name) {
  const parts = pattern.split('*');
  if (parts.length === 1) return pattern === name;
  if (!name.startsWith(parts[0])) return false;
  let rest = name.slice(parts[0].length);
  for (const part of parts.slice(1, -1)) {
    const at = rest.indexOf(part);
    if (at < 0) return false;
    rest = rest.slice(at + part.length);
  }
  return rest.endsWith(/** @type {string} */ (parts.at(-1)));
}

/** @type {Record<string, number>} */
const units = { ns: 1e-6, us: 1e-3, 'µs': 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a length such as 1m30s or 2d. @param {string} text @returns {number | undefined} */
function length(text) {
  const days = /^(\d{1,4})d$/.exec(text);
  if (days) return Number(days[1]) * 86_400_000;
  if (!/^(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, n, unit] of text.matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g)) sum += Number(n) * units[unit];
  return sum;
}

/** Milliseconds that a call took, or takes until now. @param {Call} c @param {number} now */
export const took = (c, now) => (c.status === 'running' ? now : Date.parse(c.at)) - Date.parse(c.began);

/** A condition as it is written. @param {string} key @param {string} value */
export const condition = (key, value) => `${key}:${/[ "]/.test(value) ? `"${value.replaceAll('"', '')}"` : value}`;
