// @ts-check
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { condition, readFilter, written } from '../src/console/calls/filter.js';

const { now, calls, cases } = JSON.parse(readFileSync(new URL('../../transport/console/testdata/filters.json', import.meta.url), 'utf8'));

test('filters find the calls that the server finds, and refuse what it refuses', () => {
  assert.ok(cases.length > 40);
  for (const { q, calls: want, error } of cases) {
    const of = readFilter(q);
    if (error !== undefined) assert.ok(typeof of === 'string' && of.includes(error), `${q}: ${of}`);
    else assert.equal(typeof of === 'string' ? of : calls.filter((c) => of(c, Date.parse(now))).map((c) => c.call).join(' '), want, q);
  }
});

test('a condition is read as it was meant', () => {
  for (const value of ['agent', 'Max Muster', 'a"b']) assert.deepEqual(written(`x ${condition('caller', value)} y`).length, 3);
});
