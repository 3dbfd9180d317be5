import type { CompiledAccount, CompiledConfig } from '../../config/compiled-config.ts';
import type { HistoryReader } from '../../core/ports/history-reader.ts';
import { compileRules } from '../../core/rules/compiled-rules.ts';
import {
  type AccountHistory,
  type HistoryRecord,
  judgeHistory,
  type RecordedMoment,
} from '../../replay/history/judge-history.ts';
import {
  momentFromSamples,
  SAMPLE_SETTINGS,
  whyNotOnSamples,
} from '../../replay/history/recorded-samples.ts';
import { decisionsOfAuditFile } from '../../state/audit/audit-file.ts';
import type { ReplayOptions } from './open-replay.ts';
import { ReplayInputError, usableConfig } from './replay-input.ts';

/** Where an account's past is recorded. */
export type HistorySource =
  /** Samples that daemons keep for curves. */
  | { readonly kind: 'samples'; readonly name: string; readonly reader: HistoryReader }
  /** Exports of audit chains, each of one account. */
  | {
      readonly kind: 'audit';
      readonly files: readonly { readonly file: string; readonly lines: AsyncIterable<string> }[];
    };

export interface HistoryOptions extends Pick<ReplayOptions, 'config' | 'fromMs' | 'toMs' | 'env'> {
  readonly source: HistorySource;
}

/** Judges rules on recorded moments. @throws ReplayInputError, or the reader's error if the store is lost */
export async function judgeRecordedHistory(options: HistoryOptions): Promise<HistoryRecord> {
  const config = usableConfig(options.config, options.env, false);
  const { source } = options;
  const judged =
    source.kind === 'samples'
      ? await judgeSamples(config, source.reader, options)
      : await judgeAuditFiles(config, source.files, options);
  if (judged.accounts.length > 0) return { source: nameOf(source), ...judged };
  throw new ReplayInputError([`${nameOf(source)}: expected moments to judge, found none`, ...judged.notes]);
}

function nameOf(source: HistorySource): string {
  return source.kind === 'samples' ? source.name : source.files.map(({ file }) => file).join(', ');
}

async function judgeSamples(config: CompiledConfig, reader: HistoryReader, options: HistoryOptions) {
  const accounts: AccountHistory[] = [];
  const notes = [
    'Between two samples nothing is recorded: a shorter breach may be missed, and times are as exact as the samples are frequent.',
  ];
  for (const account of config.accounts) {
    const kept = await reader.readAll(account.id);
    const moments = within(
      kept.map((moment) => momentFromSamples(account.id, moment)),
      options,
    );
    if (moments.length === 0) {
      notes.push(`Account ${account.id} has no samples: left out.`);
      continue;
    }
    const rules = compileRules(account.rules, { ...account.settings, ...SAMPLE_SETTINGS });
    const whyNot = (ruleId: string): string | undefined => whyNotOnSamples(rules, ruleId);
    accounts.push(judgeHistory({ accountId: account.id, rules, moments, taken: 'regularly', whyNot }));
  }
  return { accounts, notes };
}

async function judgeAuditFiles(
  config: CompiledConfig,
  files: Extract<HistorySource, { kind: 'audit' }>['files'],
  options: HistoryOptions,
) {
  const recorded = new Map<CompiledAccount, RecordedMoment[]>();
  for (const { file, lines } of files) {
    const read = await decisionsOfAuditFile(lines);
    if (read.kind === 'broken') {
      throw new ReplayInputError([
        `${file}: record ${read.seq}: expected one of an audit export, but ${read.words}`,
      ]);
    }
    const account = config.accounts.find(({ id }) => id === read.accountId);
    if (account === undefined) throw new ReplayInputError([strangerWords(file, read.accountId, config)]);
    const moments = recorded.get(account) ?? [];
    recorded.set(account, moments);
    for (const { inputs } of read.decisions) {
      const { snapshot, now, options: least, state } = inputs;
      moments.push({ snapshot, now, options: least, recorded: state });
    }
  }
  const notes = [
    'An audit trail has the figures of an account only where a rule changed its state: of rules that have changed since, nothing is known of the time between two such moments, and their timers count no more than three polls of it.',
  ];
  const accounts = [...recorded].flatMap(([{ id: accountId, rules: specs, settings }, all]) => {
    const moments = within(all, options);
    if (moments.length === 0) {
      notes.push(`Account ${accountId} has no decisions in these files: left out.`);
      return [];
    }
    const rules = compileRules(specs, settings);
    return [judgeHistory({ accountId, rules, moments, taken: 'atChanges', whyNot: () => undefined })];
  });
  return { accounts, notes };
}

function strangerWords(file: string, accountId: string, { accounts }: CompiledConfig): string {
  const ids = accounts.map(({ id }) => id).join(', ');
  const found = accountId === '' ? 'no records' : `those of ${accountId}`;
  return `${file}: expected records of an account of the config (${ids}), found ${found}`;
}

function within(
  moments: readonly RecordedMoment[],
  { fromMs = 0, toMs = Number.POSITIVE_INFINITY }: Pick<HistoryOptions, 'fromMs' | 'toMs'>,
): readonly RecordedMoment[] {
  return moments
    .filter(({ now: { wallMs } }) => wallMs >= fromMs && wallMs < toMs)
    .toSorted((a, b) => a.now.wallMs - b.now.wallMs);
}
