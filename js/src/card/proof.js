// @ts-check
// What proves that a request is the card's: HMAC-SHA256 with the key in this page. It is written out, because a frame of a host is not
// always a place where browsers have crypto.subtle.

/** @param {number} n the bits of the fraction of a root @param {number} root */
const fraction = (n, root) => Math.floor((n ** (1 / root) % 1) * 2 ** 32) >>> 0;

/** @type {number[]} */
const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p !== 0)) primes.push(n);
const rounds = primes.map((p) => fraction(p, 3));

/** @param {number} x @param {number} n */
const turn = (x, n) => (x >>> n) | (x << (32 - n));

/**
 * @param {Uint8Array} bytes
 * @returns {Uint8Array}
 */
export function sha256(bytes) {
  const size = Math.ceil((bytes.length + 9) / 64) * 64;
  const all = new Uint8Array(size);
  all.set(bytes);
  all[bytes.length] = 0x80;
  const view = new DataView(all.buffer);
  view.setUint32(size - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(size - 4, (bytes.length << 3) >>> 0);
  const sum = primes.slice(0, 8).map((p) => fraction(p, 2));
  const w = new Uint32Array(64);
  for (let at = 0; at < size; at += 64) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) {
        w[i] = view.getUint32(at + 4 * i);
        continue;
      }
      const a = w[i - 15];
      const b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = sum;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + rounds[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((v, i) => { sum[i] = (sum[i] + v) | 0; });
  }
  const out = new DataView(new ArrayBuffer(32));
  sum.forEach((v, i) => out.setUint32(4 * i, v));
  return new Uint8Array(out.buffer);
}

/** @param {Uint8Array} a @param {Uint8Array} b */
function joined(a, b) {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}

/** @param {Uint8Array} key of 64 bytes at most @param {Uint8Array} bytes */
export function hmac(key, bytes) {
  const inner = new Uint8Array(64).fill(0x36);
  const outer = new Uint8Array(64).fill(0x5c);
  key.forEach((v, i) => {
    inner[i] ^= v;
    outer[i] ^= v;
  });
  return sha256(joined(outer, sha256(joined(inner, bytes))));
}

/**
 * The JSON of RFC 8785 of plain values. Half surrogates are not text: who calls leaves none.
 * @param {unknown} v
 * @returns {string}
 */
export function canonical(v) {
  if (Array.isArray(v)) return `[${v.map(canonical).join()}]`;
  if (typeof v !== 'object' || v === null) return JSON.stringify(v);
  const members = Object.entries(v).filter(([, value]) => value !== undefined).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join()}}`;
}

/**
 * @param {string} key base64url @param {string} ticket @param {string} op @param {object} rest the other arguments
 */
export function proof(key, ticket, op, rest) {
  const bytes = Uint8Array.from(atob(key.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  const mac = hmac(bytes, new TextEncoder().encode([ticket, op, canonical(rest)].join('\n')));
  return btoa(String.fromCharCode(...mac)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
