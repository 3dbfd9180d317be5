import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { AUDIENCES, PAGER_KINDS, UNREAD_KINDS } from '../../src/config/audiences.ts';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const notifications = read('docs/notifications.md');

test('the example names the channels left out of quiet hours and digests, as the descriptions do', () => {
  const example = read('config/breakwater.example.yaml');
  expect(example).toContain(`# Default: all channels that people read (not ${UNREAD_KINDS}).`);
  expect(example).toContain(`# Default: all but those that get people up (${PAGER_KINDS}).`);
});

test('docs/notifications.md names them, too', () => {
  expect(notifications).toContain(`| channels of type ${UNREAD_KINDS}, and the log |`);
});

test('docs/notifications.md names all channels that group one outage into one message', () => {
  const [, names = ''] = /^and people \(([^)]*)\) get one for all accounts/m.exec(notifications) ?? [];
  const people = Object.entries(AUDIENCES).flatMap(([kind, audience]) =>
    audience === 'people' ? [kind] : [],
  );
  expect(names.toLowerCase().replace('e-mail', 'email').split(', ').toSorted()).toEqual(people.toSorted());
});
