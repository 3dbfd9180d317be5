import { parseDocument } from 'yaml';
import type { Candidate } from './tune-case.ts';

/** A config with its accounts under other rules: JSON, which is YAML too. The text is one that a replay can play. */
export function candidateConfig(text: string, { rules, uses }: Candidate): string {
  const document: unknown = parseDocument(text, { version: '1.2', merge: false }).toJS();
  const config = { ...(document as Readonly<Record<string, unknown>>) };
  const accounts = config['accounts'] as readonly Readonly<Record<string, unknown>>[];
  return JSON.stringify({
    ...config,
    accounts: accounts.map((account) =>
      Object.assign({}, account, { rules: uses ?? rules.map((rule) => rule['id']) }),
    ),
    rules: uses === undefined ? rules : (config['rules'] ?? []),
  });
}
