import type { CompiledAccount, CompiledConfig } from '../config/compiled-config.ts';
import { formatProblem, type Problem } from '../config/problem.ts';
import type { ExchangeReads } from '../core/ports/exchange.ts';
import { createExchangeClient } from '../exchange/client.ts';
import { systemClock } from '../exchange/system-clock.ts';
import { accountFromRecords } from '../replay/positions/call-output.ts';
import type { ReadAccount } from '../replay/positions/starting-account.ts';
import { createMemoryRateLimitStore } from '../state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../state/nonce/nonce-memory.ts';
import { readVersion } from './read-version.ts';

/** What accounts hold now. */
export interface LivePositions {
  readonly accounts: readonly ReadAccount[];
  readonly notes: readonly string[];
  readonly problems: readonly string[];
}

/** Nonces of this process end on another digit than those of daemons on smaller ordinals. */
const NONCES = { ordinal: 98, ordinals: 100 };

/** Reads positions and loans of every account of the config; sends nothing that could change anything. */
export async function readLivePositions(config: CompiledConfig, signal: AbortSignal): Promise<LivePositions> {
  const found = await Promise.all(config.accounts.map((account) => readAccount(config, account, signal)));
  return {
    accounts: found.flatMap(({ accounts }) => accounts),
    notes: found.flatMap(({ notes }) => notes),
    problems: found.flatMap(({ problems }) => problems),
  };
}

async function readAccount(
  { exchange, egress }: CompiledConfig,
  account: CompiledAccount,
  signal: AbortSignal,
): Promise<LivePositions> {
  const proxy = egress[account.egress]?.proxyUrl ?? exchange.proxyUrl;
  const limits = createMemoryRateLimitStore(systemClock);
  const client = createExchangeClient({
    baseUrls: exchange.baseUrls,
    credentials: { apiKey: account.apiKey.reveal(), apiSecret: account.apiSecret.reveal() },
    nonce: { mode: account.settings.nonceMode, store: createMemoryNonceStore(systemClock), ...NONCES },
    limiter: { store: limits, fallback: limits },
    version: readVersion(),
    dialect: exchange.dialect,
    timeouts: { attemptMs: exchange.attemptTimeoutMs, callMs: exchange.callTimeoutMs },
    ...(proxy === undefined ? {} : { proxy: proxy.reveal() }),
    ...(exchange.certificateAuthorities === undefined ? {} : { ca: exchange.certificateAuthorities }),
  });
  try {
    return await readThrough(client, account, signal);
  } finally {
    await client.close();
  }
}

async function readThrough(
  client: ExchangeReads,
  account: CompiledAccount,
  signal: AbortSignal,
): Promise<LivePositions> {
  const { id } = account;
  const positions = await client.openPositions({}, { signal });
  if (positions.kind === 'failed')
    return refused(`account ${id}: ${positions.error.message} (${positions.error.name})`);
  if (!positions.value.complete)
    return refused(`account ${id}: expected a complete list of positions, got one with records set aside`);
  const notes: string[] = [];
  const problems: Problem[] = [];
  const file = `account ${id}`;
  const document = {
    file,
    root: { value: undefined, place: { file, line: 1, column: 1 }, children: new Map() },
  };
  const read = accountFromRecords(
    {
      document,
      configured: [account],
      accountId: id,
      report: (problem) => problems.push(problem),
      note: (sentence) => notes.push(sentence),
    },
    account,
    positions.value.records,
    ['positions'],
  );
  notes.push(...(await loanNotes(client, id, signal)));
  if (read === undefined && problems.length === 0) notes.push(`Account ${id} holds no position: left out.`);
  return { accounts: read === undefined ? [] : [read], notes, problems: problems.map(formatProblem) };
}

/** The exchange does not say what secures a loan, so it cannot be played. */
async function loanNotes(client: ExchangeReads, id: string, signal: AbortSignal): Promise<readonly string[]> {
  const loans = await client.creditLines({ signal });
  if (loans.kind === 'failed') return [`Account ${id}: its loans could not be read (${loans.error.name}).`];
  return loans.value.records.map(
    ({ amount, asset }) =>
      `Account ${id}: its loan of ${amount} ${asset} is left out, as the exchange does not say what secures it; add it with --positions.`,
  );
}

function refused(problem: string): LivePositions {
  return { accounts: [], notes: [], problems: [problem] };
}
