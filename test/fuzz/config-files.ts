import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { loadHandles } from '../../src/config/handles.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { FILE, surroundings } from '../config/support.ts';
import { type JsonSchema, valueOf } from './from-schema.ts';
import { boundsOf } from './long-texts.ts';
import { below, type Draw, mutatedJson, mutatedText, oneOf } from './mutate.ts';
import type { Boundary, FuzzInput } from './target.ts';

const EXAMPLE = readFileSync(new URL('../../config/breakwater.example.yaml', import.meta.url), 'utf8');
const SECTIONS = EXAMPLE.split(/\n(?=\w)/).filter((section) => !section.startsWith('#'));
/** Comments are half of the example, and take most of the time to read. */
const BARE_SECTIONS = SECTIONS.map((section) => section.replaceAll(/^ *#.*\n?/gm, ''));
const VALUES = Object.entries(parse(EXAMPLE) as Record<string, unknown>);
const SCHEMA = JSON.parse(
  readFileSync(new URL('../../config/schema.json', import.meta.url), 'utf8'),
) as JsonSchema;
const SCHEMA_SECTIONS = Object.entries(SCHEMA['properties'] as Record<string, JsonSchema>);
const GIVEN = {
  env: { DESK1_API_KEY: 'a-key-of-some-length', K: 'a-key-of-some-length' },
  files: { '/run/secrets/desk1': 'a-secret-of-some-length' },
};
const YAML = '{}[]:,-&*!|>%@#?"\'\\ \n\t~<=a1.\u0000\u00e9';

/** A config file either loads, or each problem has a place and says what was expected. */
export const CONFIG: Boundary = {
  name: 'config',
  open: async () => ({
    make: (draw) => configInput(configText(draw)),
    valid: configInput(EXAMPLE),
    close: async () => undefined,
  }),
};

/** Random sections from the schema, with changed values (JSON is YAML too) or changed bytes. */
function configText(draw: Draw): string {
  const isKept = (): boolean => draw() < 0.5;
  const kind = draw();
  if (kind < 0.3) return mutatedJson(draw, Object.fromEntries(VALUES.filter(isKept)));
  if (kind < 0.6) {
    const others = Array.from({ length: 1 + below(draw, 3) }, () => oneOf(draw, SCHEMA_SECTIONS));
    const drawn = others.map(([section, schema]) => [section, valueOf(draw, schema, { root: SCHEMA })]);
    return mutatedJson(draw, Object.fromEntries([...VALUES.filter(isKept), ...drawn]));
  }
  const sections = draw() < 0.1 ? SECTIONS : BARE_SECTIONS;
  return mutatedText(draw, sections.filter(isKept).join('\n'), YAML);
}

const COMPARED_LENGTH = 3_000;

function configInput(text: string): FuzzInput {
  return {
    text,
    ...boundsOf(text),
    run() {
      const isLong = text.length > COMPARED_LENGTH;
      // Half of the long texts take one path and half the other: the bound is that of a single read.
      if (isLong && text.length % 2 === 1) {
        loadHandles(FILE, surroundings(text, GIVEN));
        return;
      }
      const result = loadConfig(FILE, surroundings(text, GIVEN));
      const problems = result.kind === 'loaded' ? result.warnings : result.problems;
      for (const { message, place } of problems) {
        if (!/expected/.test(message) || place.line < 1 || message.length > 4_000) {
          throw new Error(`not a clear problem at line ${place.line}: ${message.slice(0, 500)}`);
        }
      }
      if (result.kind === 'refused' && problems.length === 0) throw new Error('refused without a word');
      if (isLong) return;
      // The Redis that pause and flatten use is always the one of the config.
      const handles = loadHandles(FILE, surroundings(text, GIVEN));
      const { redis } = result.kind === 'loaded' ? result.config : {};
      if (redis !== undefined && handles?.redis?.url.reveal() !== redis.url.reveal())
        throw new Error('another Redis than that of the whole file');
    },
  };
}
