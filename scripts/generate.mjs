import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { withGenerated } from './documents/config-tables.ts';
import { generatedFiles } from './documents/generated-files.ts';
import { metricTables } from './documents/metric-tables.ts';
import { dashboardFiles } from './grafana/dashboards.ts';

/** Writes the generated files: `config/schema.json`, the tables and examples in `docs/`, the dashboards. */

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** @param {string} file */
const read = (file) => readFileSync(path.join(root, file), 'utf8');

const files = {
  ...generatedFiles(read),
  'docs/metrics.md': withGenerated(read('docs/metrics.md'), metricTables()),
  ...dashboardFiles(),
};
for (const [file, text] of Object.entries(files)) {
  if (text === safeRead(file)) continue;
  writeFileSync(path.join(root, file), text);
  process.stdout.write(`wrote ${file}\n`);
}

/** @param {string} file */
function safeRead(file) {
  try {
    return read(file);
  } catch {
    return undefined;
  }
}
