import { createHash, type Hash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { OPERATOR_CHAIN } from '../../src/core/audit/audit-record.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import { contendedWorld } from '../world/contended-world.ts';
import { randomWorld } from '../world/random-world.ts';
import type { WorldAsked, WorldPlayed } from './worlds.ts';

/** Plays the worlds that it receives, one after another, and answers with the hashes of what happened. */
const port = parentPort;
port?.on('message', (asked: WorldAsked) => {
  play(asked).then(
    (played) => port.postMessage(played),
    (error: unknown) => port.postMessage({ ...asked, error: String(error) } satisfies WorldPlayed),
  );
});

const ENTRIES_AT_ONCE = 10_000;
/** More than an account keeps. */
const MOST_RECORDS = 1_000_000;

async function play(asked: WorldAsked): Promise<WorldPlayed> {
  const { kind, seed } = asked;
  const world = openWorld(kind === 'random' ? randomWorld(seed) : contendedWorld(seed));
  await world.run();
  return { ...asked, ledger: ledgerHash(world), audit: await auditHash(world) };
}

function ledgerHash({ exchange: { model } }: World): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify(model.ledgerTotals()));
  for (let afterSeq = 0; ; ) {
    const entries = model.ledger({ afterSeq, limit: ENTRIES_AT_ONCE });
    for (const entry of entries) hash.update(JSON.stringify(entry));
    const last = entries.at(-1);
    if (last === undefined) return short(hash);
    afterSeq = last.seq;
  }
}

/** Each record of every account and of the operators, by its own hash. */
async function auditHash({ exchange, audit }: World): Promise<string> {
  const hash = createHash('sha256');
  for (const id of [...exchange.accounts.list().map((account) => account.id), OPERATOR_CHAIN]) {
    const records = await audit.tail(id, MOST_RECORDS);
    hash.update(`${id} ${records.length}\n`);
    for (const record of records) hash.update(`${record.number} ${record.hash}\n`);
  }
  return short(hash);
}

/** Long enough to tell two results of a seed apart. */
function short(hash: Hash): string {
  return hash.digest('hex').slice(0, 16);
}
