import { readFile } from 'node:fs/promises';
import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import type { CompiledConfig } from '../../config/compiled-config.ts';
import { loadConfig, loadWithoutSecrets } from '../../config/load-config.ts';
import { nodeSurroundings } from '../../config/node-files.ts';
import { formatProblem, type Problem } from '../../config/problem.ts';
import { readPositions } from '../../replay/positions/positions-file.ts';
import type { StartingBook } from '../../replay/positions/starting-account.ts';
import { readPriceFiles } from '../../replay/price-files.ts';
import type { MarketTerms } from '../../world/spec.ts';
import { readLivePositions } from './live-positions.ts';

/** Problems of its input that keep a replay from starting; one line each. */
export class ReplayInputError extends Error {
  readonly code = 'replay-input';
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join('\n'));
    this.name = 'ReplayInputError';
    this.lines = lines;
  }
}

/**
 * Files win over the exchange: an account with positions in a file is not read from the exchange. A file with loans
 * alone adds to what the exchange reports.
 */
export interface Holdings {
  readonly files: readonly { readonly file: string; readonly accountId?: string }[];
  /** From the exchange, read-only, with the config's keys. */
  readonly live?: { readonly signal: AbortSignal };
}

type Env = Readonly<Record<string, string | undefined>>;

/** A config and its accounts' holdings, ready to play. */
export interface Book {
  readonly config: CompiledConfig;
  readonly accounts: readonly StartingBook[];
  /** The config with only these accounts. */
  readonly acting: ReturnType<typeof replayConfig>;
  readonly notes: readonly string[];
}

/** @throws ReplayInputError */
export async function readBook(configFile: string, holdings: Holdings, env: Env): Promise<Book> {
  const config = usableConfig(configFile, env, holdings.live !== undefined);
  const { accounts, notes } = await accountsOf(config, holdings);
  if (accounts.length === 0)
    throw new ReplayInputError(['expected an account that holds something, found none', ...notes]);
  const acting = await actingConfig(configFile, accounts);
  return { config, accounts, acting, notes: [...notes, ...acting.notes] };
}

/** Like readBook, for holdings already known; accounts that the file lacks are left out. @throws ReplayInputError */
export async function bookOf(configFile: string, held: readonly StartingBook[], env: Env): Promise<Book> {
  const config = usableConfig(configFile, env, false);
  const accounts = held.filter(({ id }) => config.accounts.some((account) => account.id === id));
  const acting = await actingConfig(configFile, accounts);
  return { config, accounts, acting, notes: acting.notes };
}

async function actingConfig(file: string, accounts: readonly StartingBook[]) {
  const ids = accounts.map(({ id }) => id);
  return replayConfig(await textOf(file), ids);
}

/**
 * A checked config with only these accounts, and enforcing: the question is what it would have done. Notes say in whole
 * sentences what was changed.
 */
function replayConfig(text: string, accountIds: readonly string[]) {
  const document = parseDocument(text, { version: '1.2', merge: false });
  const notes: string[] = [];
  const accounts = document.get('accounts');
  const mode = document.get('mode');
  let observes = mode !== 'enforce' && mode !== 'approve';
  let asks = mode === 'approve';
  if (isSeq(accounts)) {
    const kept = accounts.items.filter(
      (item): item is YAMLMap => isMap(item) && accountIds.includes(String(item.get('id'))),
    );
    accounts.items = kept;
    for (const account of kept) {
      if (account.get('mode') === 'observe') observes = true;
      if (account.get('mode') === 'approve') asks = true;
      account.delete('mode');
    }
  }
  document.set('mode', 'enforce');
  if (asks) notes.push('The config asks before it acts; it was replayed as if all were approved at once.');
  if (observes) notes.push('The config observes; it was replayed as if it enforced.');
  return { text: document.toString(), notes };
}

/** @throws ReplayInputError */
export function usableConfig(file: string, env: Env, needsSecrets: boolean): CompiledConfig {
  const surroundings = nodeSurroundings(env);
  const loaded = needsSecrets ? loadConfig(file, surroundings) : loadWithoutSecrets(file, surroundings);
  if (loaded.kind === 'refused') throw new ReplayInputError(errorsOf(loaded.problems));
  return loaded.config;
}

function errorsOf(problems: readonly Problem[]): readonly string[] {
  return problems.filter(({ severity }) => severity === 'error').map(formatProblem);
}

async function accountsOf(config: CompiledConfig, { files, live }: Holdings) {
  const written = await readFiles(config, files);
  if (live === undefined) return written;
  const isReplaced = (id: string): boolean =>
    written.accounts.some((account) => account.id === id && account.positions.length > 0);
  const loansOf = (id: string): StartingBook['loans'] =>
    written.accounts.find((account) => account.id === id)?.loans ?? [];
  const asked = config.accounts.filter(({ id }) => !isReplaced(id));
  const reading = { signal: live.signal, knownLoans: loansOf };
  const read = await readLivePositions({ ...config, accounts: asked }, reading);
  if (read.problems.length > 0) throw new ReplayInputError(read.problems);
  const found = read.accounts.map((account) => ({ ...account, loans: loansOf(account.id) }));
  const others = written.accounts.filter(({ id }) => !found.some((account) => account.id === id));
  return {
    accounts: [...found, ...others],
    notes: [...written.notes.filter((note) => !note.endsWith(LEFT_OUT)), ...read.notes],
  };
}

/** Ends notes on accounts that a file does not name; another source may name them. */
const LEFT_OUT = 'left out.';

async function readFiles(config: CompiledConfig, files: Holdings['files']) {
  const accounts: StartingBook[] = [];
  const notes: string[] = [];
  const problems: string[] = [];
  for (const { file, accountId } of files) {
    const read = readPositions({
      file,
      text: await textOf(file),
      configured: config.accounts,
      ...(accountId === undefined ? {} : { accountId }),
    });
    if (read.kind === 'refused') problems.push(...errorsOf(read.problems));
    else {
      const twice = read.accounts.filter(({ id }) => accounts.some((account) => account.id === id));
      problems.push(...twice.map(({ id }) => `${file}: expected each account once, got ${id} again`));
      accounts.push(...read.accounts);
      notes.push(...read.notes);
    }
  }
  if (problems.length > 0) throw new ReplayInputError(problems);
  return { accounts, notes: files.length > 1 ? notes.filter((note) => !note.endsWith(LEFT_OUT)) : notes };
}

/** Reads another config for comparison; only its rules for these accounts count. @throws ReplayInputError */
export async function readRival(file: string, accounts: readonly StartingBook[], env: Env) {
  const config = usableConfig(file, env, false);
  const missing = accounts.filter(({ id }) => !config.accounts.some((account) => account.id === id));
  if (missing.length > 0) {
    const ids = missing.map(({ id }) => id).join(', ');
    throw new ReplayInputError([`${file}: expected the accounts that hold something, found none for ${ids}`]);
  }
  return await actingConfig(file, accounts);
}

/** Reads price files as one. @throws ReplayInputError */
export async function pricesOf(
  files: readonly { readonly market: string; readonly file: string }[],
  window?: Parameters<typeof readPriceFiles>[1],
) {
  const read = readPriceFiles(
    await Promise.all(files.map(async ({ market, file }) => ({ market, file, text: await textOf(file) }))),
    window,
  );
  if (read.kind === 'refused') throw new ReplayInputError(read.problems);
  return read;
}

async function textOf(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ReplayInputError([`${file}: expected a readable file, got ${error.code ?? error.message}`]);
  });
}

/** The config's steps and rates of these markets. @throws ReplayInputError */
export function termsOf(
  { accounts }: CompiledConfig,
  markets: Iterable<string>,
): Record<string, MarketTerms> {
  const terms: Record<string, MarketTerms> = {};
  const missing: string[] = [];
  for (const market of new Set(markets)) {
    const settings = accounts
      .map((account) => account.settings.marketSettings(market))
      .find((one) => one !== undefined);
    if (settings === undefined) missing.push(market);
    else {
      const { amountStep, priceStep, minAmount, maintenanceMargin } = settings;
      terms[market] = { amountStep, priceStep, minAmount, maintenanceMargin: String(maintenanceMargin) };
    }
  }
  if (missing.length === 0) return terms;
  throw new ReplayInputError([`no \`markets\` entry in the config covers ${missing.join(', ')}`]);
}
