import type { CompiledAccount, CompiledConfig } from '../../config/compiled-config.ts';
import { formatProblem } from '../../config/problem.ts';
import type { ExchangeReads } from '../../core/ports/exchange.ts';
import { createExchangeClient } from '../../exchange/client.ts';
import { systemClock } from '../../exchange/system-clock.ts';
import { accountFromReply } from '../../replay/positions/call-output.ts';
import type { StartingBook } from '../../replay/positions/starting-account.ts';
import { createMemoryRateLimitStore } from '../../state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../state/nonce/nonce-memory.ts';
import { clientAccess } from '../client-access.ts';
import { LIVE_POSITIONS } from '../nonce-ordinals.ts';

/** Present holdings of the accounts. */
export interface LivePositions {
  readonly accounts: readonly StartingBook[];
  readonly notes: readonly string[];
  readonly problems: readonly string[];
}

interface Reading {
  readonly signal: AbortSignal;
  /** Loans of an account known from elsewhere, with their collateral. */
  readonly knownLoans: (accountId: string) => readonly { readonly asset: string }[];
}

/** Reads positions and loans of every account of the config; it sends reads only. */
export async function readLivePositions(config: CompiledConfig, reading: Reading): Promise<LivePositions> {
  const found = await Promise.all(config.accounts.map((account) => readAccount(config, account, reading)));
  return {
    accounts: found.flatMap(({ accounts }) => accounts),
    notes: found.flatMap(({ notes }) => notes),
    problems: found.flatMap(({ problems }) => problems),
  };
}

async function readAccount(config: CompiledConfig, account: CompiledAccount, reading: Reading) {
  const limits = createMemoryRateLimitStore(systemClock);
  const { nonceMode: mode } = account.settings;
  const client = createExchangeClient({
    ...clientAccess(account, config),
    nonce: { mode, store: createMemoryNonceStore(systemClock), ...LIVE_POSITIONS },
    limiter: { store: limits, fallback: limits },
  });
  try {
    return await readThrough(client, account, reading);
  } finally {
    await client.close();
  }
}

async function readThrough(
  client: ExchangeReads,
  account: CompiledAccount,
  { signal, knownLoans }: Reading,
): Promise<LivePositions> {
  const { id } = account;
  const positions = await client.openPositions({}, { signal });
  if (positions.kind === 'failed')
    return refused(`account ${id}: ${positions.error.message} (${positions.error.name})`);
  if (!positions.value.complete)
    return refused(`account ${id}: expected a complete list of positions, got one with records set aside`);
  const { account: read, notes: own, problems, hidden } = accountFromReply(account, positions.value);
  const notes = [...own, ...hidden, ...(await loanNotes(client, id, signal, knownLoans(id)))];
  if (read === undefined && problems.length + hidden.length === 0)
    notes.push(`Account ${id} holds no position: left out.`);
  return { accounts: read === undefined ? [] : [read], notes, problems: problems.map(formatProblem) };
}

/** The exchange does not report a loan's collateral, so a loan is played only if a file gives it. */
async function loanNotes(
  client: ExchangeReads,
  id: string,
  signal: AbortSignal,
  known: ReturnType<Reading['knownLoans']>,
): Promise<readonly string[]> {
  const loans = await client.creditLines({ signal });
  if (loans.kind === 'failed') return [`Account ${id}: its loans could not be read (${loans.error.name}).`];
  return loans.value.records
    .filter(({ asset }) => !known.some((loan) => loan.asset === asset))
    .map(
      ({ amount, asset }) =>
        `Account ${id}: its loan of ${amount} ${asset} is left out, as the exchange does not say what secures it; add it in a file: --live --positions FILE.`,
    );
}

function refused(problem: string): LivePositions {
  return { accounts: [], notes: [], problems: [problem] };
}
