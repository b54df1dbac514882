// @ts-check
// How what strangers wrote is shown: every character of it can be seen, and every digit is theirs.

// Characters without a look of their own: controls but the line end, and those that hide, join or turn round what is beside them. The
// one that asks for a colourful picture may stand behind a picture.
const unseen = /(?!\n|(?<=\p{Extended_Pictographic})\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** @param {string} c */
const spelled = (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`;

/**
 * The text, with characters that nobody sees as \u{…}.
 * @param {string} text
 */
export const visible = (text) => text.replace(unseen, spelled);

/** @typedef {{rawJSON?: (source: string) => unknown}} WithRaw */

/**
 * JSON.parse that keeps numbers as they are written, for JSON.stringify to write again: 9007199254740993 stays what it is. A
 * browser that cannot do it reads them as numbers.
 * @param {string} text
 */
export function parseExactly(text) {
  const raw = /** @type {WithRaw} */ (JSON).rawJSON;
  if (raw === undefined) return JSON.parse(text);
  return JSON.parse(text, /** @type {(key: string, value: unknown) => unknown} */ ((/** @type {string} */ _, /** @type {unknown} */ value, /** @type {{source: string}} */ context) => (
    typeof value === 'number' ? raw(context.source) : value)));
}
