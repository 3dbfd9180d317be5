import type { ExchangeConnectionOptions } from '../../app.ts';
import type { ExchangeError, FullExchange } from '../../core/ports/exchange.ts';
import { CliError } from '../errors.ts';
import { errorWords, exchangeCures, faultWords } from '../exchange-errors.ts';
import type { CliIo } from '../io.ts';
import { printable } from '../table.ts';

export type AccountAnswers = Awaited<ReturnType<typeof readAccount>>;

/** Enough to see the digits of amounts and prices, in one request. */
const ORDERS = 100;

/** Sends reads only. @throws CliError if the positions cannot be read */
export async function readAccount(
  io: CliIo,
  access: Pick<ExchangeConnectionOptions, 'baseUrls' | 'credentials' | 'nonceMode'>,
) {
  const { connectExchange } = await import('../../app.ts');
  const connection = await connectExchange({ ...access, dialect: 'spec' });
  try {
    return await readThrough(io, connection.exchange);
  } finally {
    await connection.close();
  }
}

async function readThrough({ signal }: CliIo, exchange: FullExchange) {
  const positions = await exchange.openPositions({}, { signal });
  signal.throwIfAborted();
  if (positions.kind === 'failed') throw refused(positions.error);
  const [orders, loans] = await Promise.all([
    exchange.spotOrders({ maxRecords: ORDERS }, { signal }),
    exchange.creditLines({ signal }),
  ]);
  signal.throwIfAborted();
  const { records, setAside } = positions.value;
  const notes = [
    ...setAside.map((fault) => `A position is not as documented: ${faultWords(fault)}.`),
    ...(orders.kind === 'ok' ? [] : [`Orders could not be read: ${errorWords(orders.error)}.`]),
    ...(loans.kind === 'ok' ? [] : [`Credit lines could not be read: ${errorWords(loans.error)}.`]),
  ];
  return {
    positions: records,
    /** Newest first; empty if the key may not read them. */
    orders: orders.kind === 'ok' ? orders.value.records : [],
    creditLines: loans.kind === 'ok' ? loans.value.records : [],
    /** What could not be read: whole sentences. */
    notes: notes.map(printable),
  };
}

function refused(error: ExchangeError): CliError {
  const cure = `${CURES[error.name] ?? 'Check --exchange.'} To write without asking the exchange: --offline.`;
  const words = `the positions could not be read: ${errorWords(error)}. Nothing was written.`;
  return new CliError(error.name, words, { cure });
}

const CURES: Readonly<Record<string, string>> = {
  ...exchangeCures('--exchange'),
  permissionDenied: 'Give the key the right to read open positions.',
  nonceRefused: 'Name the nonce mode of the key with --nonce: the live exchange wants window or increasing.',
};
