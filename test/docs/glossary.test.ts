import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KIND_WORDS } from '../../src/core/view/state-line.ts';

const GLOSSARY = readFileSync(new URL('../../docs/glossary.md', import.meta.url), 'utf8');
const words = [...GLOSSARY.matchAll(/^\| ([^|]+?) \|/gm)].map(([, word = '']) => word);

test('the glossary has every state of an account, in the words of page and status', () => {
  for (const kind of Object.values(KIND_WORDS)) expect(words).toContain(kind);
});

test('the glossary explains each word once', () => {
  const explained = words.filter((word) => word !== 'Word' && !word.startsWith('---'));
  expect(explained.length).toBeGreaterThan(40);
  expect(new Set(explained).size).toBe(explained.length);
});
