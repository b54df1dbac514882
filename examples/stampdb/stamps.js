// The seed of the collection, and the drawing of a stamp. No image comes from
// the network: every stamp without an imageUrl is drawn here as SVG.
'use strict';

/**
 * @typedef {object} Stamp
 * @property {string} name
 * @property {string} description
 * @property {number} year
 * @property {string|null} imageUrl
 * @property {{motif: string, ink: string, place: string, face: string}} [art]
 */

/** @type {Stamp[]} */
const stamps = [
  {
    name: 'Penny Black',
    description: 'The first adhesive postage stamp for a public postal service. Great Britain issued it in May 1840 with the profile of Queen Victoria.',
    year: 1840,
    imageUrl: null,
    art: { motif: 'profile', ink: '#23211f', place: 'POSTAGE', face: 'ONE PENNY' },
  },
  {
    name: "Bull's Eye",
    description: 'The first stamps of Brazil, in values of 30, 60 and 90 réis. The ornament around the figures looks like an eye, hence the name.',
    year: 1843,
    imageUrl: null,
    art: { motif: 'eye', ink: '#3d3a44', place: '', face: '' },
  },
  {
    name: 'Basel Dove',
    description: 'Issued by the Swiss canton of Basel in July 1845, with a white embossed dove. It was the first stamp printed in three colours.',
    year: 1845,
    imageUrl: null,
    art: { motif: 'dove', ink: '#a3293b', place: 'BASEL', face: '2½ Rp.' },
  },
  {
    name: 'Cape of Good Hope Triangular',
    description: 'The first triangular postage stamps, issued in 1853. They show the seated figure of Hope with an anchor.',
    year: 1853,
    imageUrl: null,
    art: { motif: 'triangle', ink: '#2d5a8c', place: 'CAPE OF GOOD HOPE', face: 'FOUR PENCE' },
  },
  {
    name: 'Treskilling Yellow',
    description: 'A Swedish stamp of three skilling, printed in yellow by mistake instead of blue-green. One copy is known.',
    year: 1855,
    imageUrl: null,
    art: { motif: 'arms', ink: '#a9780f', place: 'SVERIGE', face: 'TRE SKILL. BCO' },
  },
  {
    name: 'Inverted Jenny',
    description: 'A 24 cent airmail stamp of the United States whose Curtiss JN-4 was printed upside down. One sheet of 100 was sold in May 1918.',
    year: 1918,
    imageUrl: null,
    art: { motif: 'plane', ink: '#b0283f', place: 'U.S. POSTAGE', face: '24 CENTS' },
  },
];

const inks = ['#2d5a8c', '#3f6b3a', '#7a3a78', '#a04a1f', '#1f6b6e', '#8c2f45'];

/** @param {string} tag @param {Record<string, string|number>} attributes @param {(Node|string)[]} children */
function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}

/** A line of text that is squeezed, never cut, when it is too wide. */
function caption(text, y, size, room, fill) {
  const attributes = { x: 60, y, 'text-anchor': 'middle', 'font-size': size, fill, 'letter-spacing': 0.6 };
  if (text.length * size * 0.72 > room) Object.assign(attributes, { textLength: room, lengthAdjust: 'spacingAndGlyphs' });
  return svg('text', attributes, text);
}

const motifs = {
  profile: (ink, paper) => [
    svg('rect', { x: 16, y: 16, width: 88, height: 112, fill: ink }),
    svg('path', {
      fill: paper,
      d: 'M70 38c-8-5-20-3-25 5-4 6-4 12-2 18l-6 10c-1 2 0 3 2 3l4 1-1 4 2 2-1 3 2 2c0 5 2 8 8 7l7-1c1 6-1 11-6 16h32c-6-7-9-17-7-27 6-8 8-17 5-26-2-8-7-14-14-17z',
    }),
    svg('path', { fill: 'none', stroke: ink, 'stroke-width': 2.4, d: 'M47 45c8 4 20 4 32-1M77 56c5 2 9 2 12-1M50 62h5' }),
  ],
  eye: (ink, paper) => [
    svg('rect', { x: 16, y: 16, width: 88, height: 112, fill: paper }),
    ...[40, 35, 30, 25].map((r, i) => svg('ellipse', {
      cx: 60, cy: 72, rx: r + 1, ry: r - 4, fill: 'none', stroke: ink, 'stroke-width': i % 2 ? 1 : 2.6, 'stroke-dasharray': i % 2 ? '2 2' : 'none',
    })),
    svg('text', { x: 60, y: 84, 'text-anchor': 'middle', 'font-size': 34, 'font-weight': 700, fill: ink }, '60'),
  ],
  dove: (ink, paper) => [
    svg('rect', { x: 16, y: 16, width: 88, height: 112, fill: '#9cc3cf' }),
    svg('path', { d: 'M28 33h64v48c0 15-12 24-32 30-20-6-32-15-32-30z', fill: ink }),
    svg('path', {
      fill: paper,
      d: 'M38 60c8 2 13 6 16 11 0-12 5-22 16-28 1 10-1 18-5 25 6-1 10-5 15-4 3 0 4 2 6 4l-6 2c-2 9-10 16-20 16-8 0-13-3-17-7l-9 5c2-6 2-9 0-13z',
    }),
    svg('path', { d: 'M84 71l7 5-9-1z', fill: paper }),
  ],
  triangle: (ink, paper) => [
    svg('rect', { x: 16, y: 16, width: 88, height: 112, fill: paper }),
    svg('path', { d: 'M60 34l43 76H17z', fill: ink }),
    svg('path', { d: 'M60 47l33 57H27z', fill: 'none', stroke: paper, 'stroke-width': 1.4 }),
    svg('circle', { cx: 58, cy: 68, r: 4.4, fill: paper }),
    svg('path', { fill: paper, d: 'M54 74c6-2 9 0 10 5l9 7-2 3-9-5 2 8 9 3v4H47l1-5 5-6z' }),
    svg('path', { fill: 'none', stroke: paper, 'stroke-width': 1.8, d: 'M79 84v14m-6-5c2 5 10 5 12 0M76 87h6' }),
  ],
  arms: (ink, paper) => [
    svg('rect', { x: 16, y: 16, width: 88, height: 112, fill: '#eac54f' }),
    svg('circle', { cx: 60, cy: 70, r: 33, fill: 'none', stroke: ink, 'stroke-width': 2, 'stroke-dasharray': '1 3' }),
    svg('path', { d: 'M40 56h40v22c0 10-8 16-20 20-12-4-20-10-20-20z', fill: paper, stroke: ink, 'stroke-width': 2 }),
    svg('path', { d: 'M44 54l-2-14 9 7 9-11 9 11 9-7-2 14z', fill: ink }),
    ...[[51, 66], [69, 66], [60, 82]].map(([x, y]) => svg('path', {
      fill: ink, d: `M${x - 6} ${y + 4}l-1-8 4 3 3-5 3 5 4-3-1 8z`,
    })),
  ],
  plane: (ink, paper) => [
    svg('rect', { x: 16, y: 16, width: 88, height: 112, fill: ink }),
    svg('path', { d: 'M22 40c18-8 58-8 76 0v60c-18 8-58 8-76 0z', fill: paper }),
    svg('g', { transform: 'rotate(174 60 70)', fill: 'none', stroke: '#2b4a86', 'stroke-width': 3, 'stroke-linecap': 'round' },
      svg('path', { d: 'M30 58h54M36 76h46', 'stroke-width': 4 }),
      svg('path', { d: 'M40 58v18M52 58v18M66 58v18M78 58v18', 'stroke-width': 1.4 }),
      svg('path', { d: 'M26 66c18-3 38-3 66-1l-2 6c-22 4-46 4-62 0z', fill: '#2b4a86', 'stroke-width': 1 }),
      svg('path', { d: 'M90 66l5-10M25 60v13' }),
      svg('circle', { cx: 38, cy: 85, r: 4 })),
  ],
  plain: (ink, paper, stamp) => [
    svg('rect', { x: 16, y: 16, width: 88, height: 112, fill: ink }),
    svg('ellipse', { cx: 60, cy: 70, rx: 34, ry: 38, fill: paper }),
    svg('ellipse', { cx: 60, cy: 70, rx: 30, ry: 34, fill: 'none', stroke: ink, 'stroke-width': 1.2 }),
    svg('text', { x: 60, y: 84, 'text-anchor': 'middle', 'font-size': 40, fill: ink }, [...stamp.name][0].toUpperCase()),
  ],
};

/** Draws a stamp: paper with perforations, a frame, a motif and two captions. @param {Stamp} stamp */
function drawStamp(stamp) {
  const hash = [...stamp.name].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0);
  const art = stamp.art ?? { motif: 'plain', ink: inks[hash % inks.length], place: 'POSTAGE', face: String(stamp.year) };
  const paper = '#f6efdf';
  const holes = [];
  for (let x = 6; x <= 114; x += 9) holes.push([x, 0], [x, 144]);
  for (let y = 4.5; y <= 140; y += 9) holes.push([0, y], [120, y]);
  const onPaper = art.motif === 'eye' || art.motif === 'triangle' || art.motif === 'arms' || art.motif === 'dove';
  const captionInk = onPaper ? art.ink : paper;
  const edge = holes.map(([x, y]) => `M${x - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`).join('');
  return svg('svg', { viewBox: '0 0 120 144', class: 'stamp', 'aria-hidden': 'true', focusable: 'false', 'font-family': 'Georgia, serif' },
    svg('rect', { width: 120, height: 144, fill: paper }),
    svg('path', { d: edge, class: 'hole' }),
    svg('rect', { x: 12, y: 12, width: 96, height: 120, fill: 'none', stroke: art.ink, 'stroke-width': 1.2 }),
    ...motifs[art.motif](art.ink, paper, stamp),
    caption(art.place, 29, 10, 78, captionInk),
    caption(art.face, 124, 9.5, 78, captionInk));
}
