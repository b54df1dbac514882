// @ts-check
/** How often scripts of the document clicked links that save something, and something of a server; src/saves counts. */
export const saves = { __proto__: null, count: 0, far: 0 };
