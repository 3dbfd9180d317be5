import { Writable } from 'node:stream';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { textOf } from '../telemetry/parts.ts';

/**
 * Cost of telemetry per account-poll (one read of positions, one of the credit line, their calls, an evaluation of 3
 * positions and 1 loan, a commit; a tick per 16 accounts) at the level `info`, and of a scrape with 1,000 accounts.
 * Prints one JSON object; figures are medians of rounds.
 */

const ACCOUNTS = 1000;
const ROUNDS = 15;

const logger = createLogger({
  level: 'info',
  format: 'json',
  stream: new Writable({ write: (_chunk, _encoding, done) => done() }),
});
const telemetry = createTelemetry({ logger, version: 'bench', clock: systemClock });

function events(accountId: string): readonly DaemonEvent[] {
  const call = (endpoint: string): DaemonEvent => ({
    kind: 'call',
    accountId,
    call: {
      endpoint,
      outcome: 'ok',
      durationMs: 20,
      attempts: 1,
      noncesRefused: 0,
      limitsHit: 0,
      budgetWaitMs: 0,
    },
  });
  const decisions = Array.from({ length: 16 }, () => ({ phase: 'inactive' }));
  return [
    call('openPositions'),
    call('creditLines'),
    { kind: 'read', accountId, source: 'positions', outcome: 'ok', durationMs: 20, setAside: 0 },
    { kind: 'read', accountId, source: 'creditLine', outcome: 'ok', durationMs: 20, setAside: 0 },
    {
      kind: 'evaluated',
      accountId,
      settings: { mode: 'enforce' },
      snapshot: {},
      evaluation: { decisions, transitions: [] },
      durationMs: 25,
    } as unknown as DaemonEvent,
    { kind: 'commit', accountId, by: 'poll', result: 'committed' },
  ];
}

const polls = Array.from({ length: ACCOUNTS }, (_, index) => events(`account-${index}`));
const tick: DaemonEvent = { kind: 'ticked', bucket: 1, lagMs: 3, durationMs: 30, due: 16, inFlight: 0 };

function pollAll(): void {
  for (const [index, poll] of polls.entries()) {
    if (index % 16 === 0) telemetry.emit(tick);
    for (const event of poll) telemetry.emit(event);
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

for (let round = 0; round < 5; round++) pollAll();
const perPollUs: number[] = [];
const scrapeMs: number[] = [];
let bytes = 0;
for (let round = 0; round < ROUNDS; round++) {
  const before = process.cpuUsage();
  for (let repeat = 0; repeat < 10; repeat++) pollAll();
  const { user, system } = process.cpuUsage(before);
  perPollUs.push((user + system) / (10 * ACCOUNTS));
  const scraped = process.cpuUsage();
  bytes = textOf(await telemetry.metrics.scrape()).length;
  const spent = process.cpuUsage(scraped);
  scrapeMs.push((spent.user + spent.system) / 1000);
}
process.stdout.write(
  `${JSON.stringify({
    bench: 'telemetry',
    accounts: ACCOUNTS,
    rounds: ROUNDS,
    cpuPerPollUs: Number(median(perPollUs).toFixed(2)),
    cpuPerScrapeMs: Number(median(scrapeMs).toFixed(2)),
    scrapeBytes: bytes,
  })}\n`,
);
