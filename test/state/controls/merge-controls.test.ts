import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Control } from '../../../src/core/controls/controls.ts';
import { STAMP_LENGTH } from '../../../src/state/account/account-backend.ts';
import { mergeControls, writeControls } from '../../../src/state/controls/controls-text.ts';

/** The controls of two sides that could not see each other, as ids of pauses. */

const stampOf = (letter: string): string => letter.repeat(STAMP_LENGTH);

function pause(id: string): Control {
  return { kind: 'pause', id, accountId: id, author: 'ann', reason: 'x', atMs: 1, expiresAtMs: null };
}

const said = (letter: string, ids: readonly string[]): string =>
  writeControls(stampOf(letter), ids.map(pause));

function idsIn(text: string): readonly string[] {
  const { entries } = JSON.parse(text.slice(STAMP_LENGTH)) as { entries: readonly { id: string }[] };
  return entries.map(({ id }) => id).sort();
}

const ids = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'));

test('a control put on either side holds, one lifted on either side does not', () => {
  fc.assert(
    fc.property(ids, ids, ids, (base, here, there) => {
      const merged = mergeControls(
        { base: said('b', base), here: said('h', here), there: said('t', there) },
        stampOf('m'),
      );
      const wanted = [...new Set([...here, ...there])].filter(
        (id) => !base.includes(id) || (here.includes(id) && there.includes(id)),
      );
      expect(idsIn(merged)).toEqual(wanted.sort());
    }),
  );
});

test.each([
  ['nothing was said here', { base: 'b', here: 'b', there: 't' }, 't'],
  ['nothing was said there', { base: 'b', here: 'h', there: 'b' }, 'h'],
  ['the server was emptied', { base: 'b', here: 'b', there: '' }, 'b'],
  ['the server was emptied after something was said here', { base: 'b', here: 'h', there: '' }, 'h'],
  ['there was nothing before', { base: '', here: 'h', there: '' }, 'h'],
])('if %s, one text is kept unchanged', (_what, { base, here, there }, wanted) => {
  const texts: Readonly<Record<string, string>> = {
    '': '',
    b: said('b', ['x']),
    h: said('h', ['x', 'y']),
    t: said('t', []),
  };
  const of = (name: string): string => texts[name] ?? '';
  expect(mergeControls({ base: of(base), here: of(here), there: of(there) }, stampOf('m'))).toBe(of(wanted));
});

test.each(['here', 'there'])('an unreadable text %s wins, as it holds everything back', (where) => {
  const strange = `${stampOf('s')}{"version":9}`;
  const texts = { base: said('b', []), here: said('h', ['x']), there: said('t', ['y']), [where]: strange };
  expect(mergeControls(texts, stampOf('m'))).toBe(strange);
});
