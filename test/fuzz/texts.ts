import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import { parsePrices } from '../../src/simulator/prices/price-file.ts';
import { FILE, surroundings } from '../config/support.ts';
import { below, type Draw, mutatedJson, mutatedText } from './mutate.ts';
import type { Boundary, FuzzInput } from './target.ts';

const EXAMPLE = readFileSync(new URL('../../config/breakwater.example.yaml', import.meta.url), 'utf8');
const SECTIONS = EXAMPLE.split(/\n(?=\w)/).filter((section) => !section.startsWith('#'));
/** Comments are half of the example, and most of the time that reading it takes. */
const BARE_SECTIONS = SECTIONS.map((section) => section.replaceAll(/^ *#.*\n?/gm, ''));
const VALUES = Object.entries(parse(EXAMPLE) as Record<string, unknown>);
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

/** Sections at random, with other values (JSON is YAML too) or with other bytes. */
function configText(draw: Draw): string {
  const isKept = (): boolean => draw() < 0.5;
  if (draw() < 0.5) return mutatedJson(draw, Object.fromEntries(VALUES.filter(isKept)));
  const sections = draw() < 0.1 ? SECTIONS : BARE_SECTIONS;
  return mutatedText(draw, sections.filter(isKept).join('\n'), YAML);
}

/** As long as the example, and what more each such length may take: the file is the operator's own and may be long. */
const CHARACTERS_IN_50_MS = 20_000;
const MORE_CHARACTERS_IN_50_MS = 10_000;

const longestMs = (characters: number): number =>
  50 * (1 + Math.max(0, Math.ceil((characters - CHARACTERS_IN_50_MS) / MORE_CHARACTERS_IN_50_MS)));

function configInput(text: string): FuzzInput {
  return {
    text,
    longestMs: longestMs(text.length),
    run() {
      const result = loadConfig(FILE, surroundings(text, GIVEN));
      const problems = result.kind === 'loaded' ? result.warnings : result.problems;
      for (const { message, place } of problems) {
        if (!message.includes('expected') || place.line < 1 || message.length > 4_000) {
          throw new Error(`not a clear problem at line ${place.line}: ${message.slice(0, 500)}`);
        }
      }
      if (result.kind === 'refused' && problems.length === 0) throw new Error('refused without a word');
    },
  };
}

const HEADS = ['timestamp_ms,open,high,low,close,volume', 'timestamp_ms,price,amount'];

/** A price file is read, or refused with a line and what was expected in it. */
export const PRICES: Boundary = {
  name: 'prices',
  open: async () => ({
    make(draw) {
      const isTrades = draw() < 0.3;
      const rows = Array.from({ length: below(draw, 200) }, (_, index) =>
        isTrades
          ? `${1_700_000_000_000 + index * 1_000},${60_000 + index},0.5`
          : `${1_700_000_000_000 + index * 60_000},60000,60010.5,59990,60005,12`,
      );
      const text = mutatedText(
        draw,
        [HEADS[isTrades ? 1 : 0], ...rows, ''].join('\n'),
        '0123456789.,-eE\n\r\t "\u0000x',
      );
      return {
        text,
        run() {
          const parsed = parsePrices(text);
          if (parsed.ok) return;
          const { line, expected } = parsed.fault;
          if (!(line >= 0) || expected === '')
            throw new Error(`not a clear fault: ${JSON.stringify(parsed.fault)}`);
        },
      };
    },
    close: async () => undefined,
  }),
};
