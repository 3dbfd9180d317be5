import { readFileSync } from 'node:fs';
import { loadConfig } from '../../src/config/load-config.ts';
import { parsePrices } from '../../src/simulator/prices/price-file.ts';
import { FILE, surroundings } from '../config/support.ts';
import { below, mutatedText } from './mutate.ts';
import type { Boundary } from './target.ts';

const EXAMPLE = readFileSync(new URL('../../config/breakwater.example.yaml', import.meta.url), 'utf8');
const GIVEN = {
  env: { DESK1_API_KEY: 'a-key-of-some-length', K: 'a-key-of-some-length' },
  files: { '/run/secrets/desk1': 'a-secret-of-some-length' },
};
const YAML = '{}[]:,-&*!|>%@#?"\'\\ \n\t~<=a1.\u0000\u00e9';

/** A config file either loads, or each problem has a place and says what was expected. */
export const CONFIG: Boundary = {
  name: 'config',
  open: async () => ({
    make(draw) {
      // Sections at random: the whole example takes ten milliseconds, whatever is wrong with it.
      const sections = EXAMPLE.split(/\n(?=\w)/).filter((section) => !section.startsWith('#'));
      const kept = sections.filter(() => draw() < 0.5).join('\n');
      const text = mutatedText(draw, kept, YAML);
      return {
        text,
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
    },
    close: async () => undefined,
  }),
};

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
