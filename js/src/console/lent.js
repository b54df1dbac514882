// @ts-check
// What screens that are loaded later lend to the frame of the page.

/** Who hears each event of the one stream. @type {Set<(name: string, it: any) => void>} */
export const heard = new Set();

/** The keys of a screen, by its name in the address. @type {Record<string, Record<string, () => void>>} */
export const keysOf = {};
