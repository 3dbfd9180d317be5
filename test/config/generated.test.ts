import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { generatedFiles } from '../../scripts/documents/generated-files.ts';
import { exampleOutput } from '../../scripts/documents/worked-examples.ts';
import { nodeSurroundings } from '../../src/config/node-files.ts';
import { FIELD_CATALOGUE } from '../../src/core/fields/field-catalogue.ts';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

describe('generated files are fresh (else run node scripts/generate.mjs)', () => {
  test.each(Object.entries(generatedFiles(read)))('%s', (file, text) => {
    expect(read(file)).toBe(text);
  });
});

describe('docs/rules.md', () => {
  const rules = read('docs/rules.md');

  test('has at least five worked examples, each a valid config', () => {
    const examples = [...rules.matchAll(/```yaml example\n([\s\S]*?)```/g)].map(([, yaml = '']) => yaml);
    expect(examples.length).toBeGreaterThanOrEqual(6);
    for (const example of examples) {
      const output = exampleOutput(example, nodeSurroundings({})).join('\n');
      expect(output).toMatch(/^(account \S+ \(|\S+ \((info|warning|critical))/);
      expect(rules).toContain(output);
    }
  });

  test('a wrong example shows its errors instead', () => {
    expect(exampleOutput('rules:\n  - { id: r, on: position, when: {} }\n', nodeSurroundings({}))).toEqual([
      expect.stringContaining('rules[0].when: expected a condition'),
    ]);
  });

  test('names every field', () => {
    for (const { name } of FIELD_CATALOGUE) expect(rules).toContain(`| \`${name}\` |`);
  });
});
