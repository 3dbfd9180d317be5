import {
  type AuditEvent,
  BLOCK_WORDS,
  type ExpiryReason,
  type FailureReason,
  GATE_WORDS,
  type GateReason,
} from '../audit/audit-event.ts';

const FAILURE_WORDS: Readonly<
  Record<Exclude<FailureReason, `refused:${string}` | `blocked:${string}`>, string>
> = {
  hedged: 'the other side of the market is open, so this leg may not be reduced',
  attempts: 'every attempt that the config allows was made',
  belowMinimum: 'the exchange takes no order as small as what is to go',
  renewals: 'it was not finished in time, as often as it was begun again',
  unanswered: 'the exchange did not answer, or would not say',
  priorOrders: 'orders of an earlier store epoch may still be open, and adding up with them is forbidden',
  marketNotConfigured: 'the market has no entry in the config',
  positionsUnknown: 'which positions it concerns could not be told in time',
  planUnknown: 'how much of each position it concerns could not be told',
};

const EXPIRY_WORDS: Readonly<Record<ExpiryReason, string>> = {
  ttl: 'its time is over',
  newPosition: 'the position is another one now',
  grown: 'the position has grown beyond what it was',
  rebuilt: 'the position was closed and opened again',
};

const NEVER_BEGUN = 'failed:positionsUnknown';
const UNPLANNED = 'failed:planUnknown';

/** Why something ended, from a reason such as `failed:attempts`; undefined for other reasons. */
export function endingWords(reason: string): string | undefined {
  const [how = '', why = '', detail = ''] = reason.split(':');
  if (how === 'expired') return EXPIRY_WORDS[why as ExpiryReason];
  if (how !== 'failed') return undefined;
  if (why === 'refused') return GATE_WORDS[detail as GateReason];
  if (why === 'blocked') return BLOCK_WORDS[detail as keyof typeof BLOCK_WORDS];
  return FAILURE_WORDS[why as keyof typeof FAILURE_WORDS];
}

/** Words of an alarm for a person who does not know its background. */
export function alarmWords(event: AuditEvent): string {
  const { kind, reason, words } = event;
  const where = placeWords(event);
  switch (kind) {
    case 'intentEnded': {
      if (reason === UNPLANNED) return `cannot act yet: ${words}`;
      if (reason === NEVER_BEGUN) return `gave up: ${words}`;
      const why = endingWords(reason);
      const because = why === undefined ? '' : `: ${why}`;
      // An event without a position is about a cancel.
      if (event.positionId === undefined) return `${words}${where}${because}`;
      const aim = event.targetBase === undefined ? '' : `, which should be at most ${event.targetBase}`;
      const ended = reason.startsWith('expired') ? 'what the operator asked for has expired' : 'gave up';
      return `${ended}${where}${aim}${because}`;
    }
    case 'blocked':
      return `cannot act${where} now: ${words}`;
    case 'refused':
      return `less is done than was asked for${where}: ${words}`;
    case 'rejected':
      return `the exchange refused an order${where}: ${words}`;
    case 'unknown':
      return `no readable answer to an order${where}, again: ${words}`;
    case 'cancelRejected':
      return `the exchange refused to cancel orders${where}: ${words}`;
    case 'overshoot':
      return `an order${where} was ${words}`;
    case 'coverTriggered':
      return `${words}${where === '' ? '' : ` (${where.slice(' for '.length)})`}`;
    case 'setChanged':
      return `replacing our orders${where} was ${words}`;
    default:
      return `${words}${where}`;
  }
}

function placeWords({ positionId, market }: AuditEvent): string {
  if (positionId !== undefined)
    return ` for position ${positionId}${market === undefined ? '' : ` in ${market}`}`;
  return market === undefined ? '' : ` for ${market}`;
}
