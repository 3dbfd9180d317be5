import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { withGenerated } from '../../scripts/documents/config-tables.ts';
import { CANDLES } from '../support/candles.ts';
import { freshFiles, measureFiles } from './files.ts';
import { asMarkdown } from './render.ts';

const HELP = `Compares forecasts of liquidation with what happened in real crashes, on files that nothing was fitted to.

  npm run calibrate -- [options]

  --every MS   how often the price is looked at (default 2000)
  --docs       write the tables into docs/forecasts.md
  --help

The candles are read from ${CANDLES}, or from the folder in BREAKWATER_CANDLES. Ends with 1 where there are none.
`;

const { values } = parseArgs({
  options: {
    every: { type: 'string', default: '2000' },
    docs: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const files = freshFiles();
const sampleMs = Number(values.every);
if (values.help) process.stdout.write(HELP);
else if (!(sampleMs >= 1000)) {
  process.stderr.write(`--every: expected milliseconds from 1000 on, found '${values.every}'\n`);
  process.exitCode = 2;
} else if (files.length === 0) {
  process.stderr.write(`No candles in ${CANDLES}: set BREAKWATER_CANDLES to a folder that has some.\n`);
  process.exitCode = 1;
} else {
  const tables = asMarkdown(measureFiles(files, sampleMs));
  process.stdout.write(`${tables}\n`);
  if (values.docs) {
    const document = new URL('../../docs/forecasts.md', import.meta.url);
    writeFileSync(document, withGenerated(readFileSync(document, 'utf8'), { calibration: tables }));
  }
}
