import { parseDocument } from 'yaml';
import type { Candidate } from './tune-case.ts';

/** A config in which one account (absent: all) has the candidate's rules, as JSON, which is also YAML. */
export function candidateConfig(text: string, { rules, uses }: Candidate, accountId?: string): string {
  const document: unknown = parseDocument(text, { version: '1.2', merge: false }).toJS();
  const config = { ...(document as Readonly<Record<string, unknown>>) };
  const accounts = config['accounts'] as readonly Readonly<Record<string, unknown>>[];
  const kept = accounts.filter(({ id }) => accountId === undefined || id === accountId);
  const ids = uses ?? rules.map((rule) => rule['id']);
  return JSON.stringify({
    ...config,
    accounts: kept.map((account) => Object.assign({}, account, { rules: ids })),
    rules: uses === undefined ? rules : (config['rules'] ?? []),
  });
}
