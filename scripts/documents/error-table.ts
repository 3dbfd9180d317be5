import { CODES, FINDINGS, STATUSES } from '../../src/exchange/call/error-catalogue.ts';

/** All failures that the client knows, one row per name. */
export function errorTable(): string {
  const rows = new Map<string, { meaning: string; effect: string }>();
  const found = Object.entries(FINDINGS).map(([name, entry]) => Object.assign({}, entry, { name }));
  for (const { name, meaning, effect } of [...CODES, ...STATUSES, ...found]) {
    if (!rows.has(name)) rows.set(name, { meaning, effect });
  }
  const lines = [...rows].map(([name, { meaning, effect }]) => `| \`${name}\` | ${meaning} | ${effect} |`);
  return ['| `name` | Meaning | `effect` |', '|---|---|---|', ...lines].join('\n');
}
