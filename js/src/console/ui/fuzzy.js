// @ts-check
// Finding a name by some of its letters.

/**
 * How well a name has the letters that somebody looks for, in their order: more is better, and 0 is not at all. What follows the
 * letter before counts more, and what begins a word.
 * @param {string} name @param {string} wanted
 */
export function score(name, wanted) {
  const text = name.toLowerCase(), letters = wanted.toLowerCase().replace(/\s/g, '');
  let sum = text.includes(wanted.toLowerCase().trim()) ? 11 : 1, at = -1, row = 0;
  for (const letter of letters) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return 0;
    row = next === at + 1 ? row + 1 : 0;
    sum += 1 + 2 * row + (/[\p{L}\p{N}]/u.test(text[next - 1] ?? '') ? 0 : 3);
    at = next + letter.length - 1;
  }
  return sum - text.length / 1000;
}
