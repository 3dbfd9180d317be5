import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { CANDLES } from '../support/candles.ts';
import { FULL, sliceOf } from '../support/slice.ts';
import { crashPrices } from './files.ts';
import { booksNamed, SHIPPED, setPlan } from './plan.ts';
import { PAGE, tableLines } from './render.ts';
import { searchFront } from './search.ts';
import { openTunePool } from './tune-pool.ts';

const CRASHES = crashPrices('report');
const why = CRASHES.length === 0 ? ` (skipped: no candles in ${CANDLES})` : '';

/**
 * npm run rulesets -- --part report --books "10x long" --models bridge --wild 1 --calm 0 --walks 0 --docs slice
 * A run measures one or two of the sets, and compares the table of each; FULL=1 measures all.
 */
test.skipIf(CRASHES.length === 0)(
  `the measured slice in docs/rule-sets.md is reproducible to the figure${why}`,
  async () => {
    const whole = setPlan({
      crashes: CRASHES,
      books: booksNamed(['10x long']) ?? expect.fail(),
      models: ['bridge'],
      wild: 1,
      calm: 0,
      lengthMs: 2 * 3_600_000,
      walks: 0,
      dailyVolatilities: [],
      latency: 100,
      depth: '1',
      kept: SHIPPED,
      space: null,
      seed: 1,
    });
    const plan = { ...whole, candidates: sliceOf(whole.candidates, 8, 'sets of rules') };
    const pool = openTunePool(plan, 1);
    try {
      const record = await searchFront(plan, pool, {
        signal: new AbortController().signal,
        nowMs: () => performance.now(),
        budgetMs: Number.POSITIVE_INFINITY,
      });
      const page = readFileSync(PAGE, 'utf8');
      const written = /<!-- generated: slice -->\s*([\s\S]*?)\s*<!-- end -->/.exec(page)?.[1];
      const tables = tableLines(record).join('\n');
      if (FULL) expect(tables).toBe(written);
      for (const { name } of plan.candidates)
        expect([name, tableOf(name, tables)]).toEqual([name, tableOf(name, written ?? '')]);
    } finally {
      await pool.close();
    }
  },
);

/** The tables of one set. */
function tableOf(name: string, tables: string): string {
  const [, part] = tables.split(`**${name}**\n`);
  return part?.split('\n**')[0]?.trim() ?? expect.fail(`no table of ${name}`);
}
