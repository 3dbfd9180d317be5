import { z } from 'zod';
import { suggest } from '../core/text/suggest.ts';
import { readCertificates } from './certificates.ts';
import { type Resolved, resolved, type SecretContext } from './secrets.ts';
import { complain, didYouMean, problemAt } from './shape/read.ts';
import { urlOrRef } from './shape/references.ts';
import { baseUrl, duration, flag, number, oneOf, pemFile, ratio, text } from './shape/scalars.ts';
import { list, overrides, renamed, section } from './shape/shape.ts';
import { nodeAt } from './yaml/document.ts';
import { describeText } from './yaml/value.ts';

/** How to read the exchange where its specification is ambiguous; per account or for all. */
const READINGS = {
  nonce: oneOf('unique', 'increasing', 'window').describe(
    'What the exchange demands of nonces. `unique`: never twice (the specification). `increasing`: larger than every earlier one of the key, so requests of a key go one after another. `window`: any unused millisecond timestamp near server time (`nonceWindow: true`).',
  ),
  bothSign: oneOf('signed', 'unsigned').describe(
    'In one-way mode (`positionSide: BOTH`): `signed`, a short has a negative amount; `unsigned`, the side of the mark price on which the liquidation price lies tells (where its coin is held as collateral too: whether it agrees with those of other markets; a position without one is a long, unless its coin is held), and is remembered for as long as the position is open.',
  ),
  ltvUnit: oneOf('auto', 'percent', 'fraction').describe(
    "Unit of a credit line's LTV fields. `auto` tells it from the record's own liquidationLtv; force it when that is unclear.",
  ),
  marginModel: oneOf('auto', 'cross', 'isolated').describe(
    'Whether positions share their collateral. `cross`: they do. `isolated`: each has its own. `auto`: they do while their liquidation prices tell of one buffer (differences of up to 20%) that the margins of single positions do not explain, and a reduction that leaves a liquidation price where it was shows that they do not. `jointDistance` needs to know, and so does a reduction until a distance: a position with its own margin is closed, because a smaller one is no further from liquidation.',
  ),
  cancelCoversStops: flag().describe(
    'Whether cancel-all also cancels stops that are not yet activated. `false`: a stop counts as open until it was certainly activated and then cancelled.',
  ),
  lateArrival: duration({ maxMs: 600_000, bounds: 'up to 10m' }).describe(
    'How long a request whose reply was lost may still take effect. No order follows one in doubt before this has passed (a target of 0 needs no such wait).',
  ),
  readLag: duration({ maxMs: 60_000, bounds: 'up to 1m' }).describe(
    'How stale a reply of the exchange may be: a read counts as made this much earlier.',
  ),
} as const;

const READING_NAMES = { nonce: 'nonceMode', lateArrival: 'lateArrivalMs', readLag: 'readLagMs' } as const;

const READING_DEFAULTS = {
  nonce: 'unique',
  bothSign: 'signed',
  ltvUnit: 'auto',
  marginModel: 'auto',
  cancelCoversStops: true,
  lateArrival: '5s',
  readLag: '0s',
} as const;

const rateLimit = renamed(
  z.strictObject({
    limit: number({ min: 1, integer: true, expected: 'a whole number of requests, at least 1' })
      .exactOptional()
      .describe('Requests per period.'),
    period: duration({ minMs: 1, bounds: 'above 0' })
      .exactOptional()
      .describe('The period they are counted over.'),
    paths: list(text({ expected: 'a path such as /api/v4/order/*', pattern: /^\/[^\s]*$/ }), 1)
      .exactOptional()
      .describe(
        'Paths that share the budget; `*` at the end matches any rest. Needed for a budget of a new name.',
      ),
  }),
  { period: 'periodMs' },
);

/** Documented budgets: an entry for one of them may change single keys. */
export const KNOWN_LIMITS = [
  'public',
  'trade-account',
  'main-account',
  'transfers',
  'positions',
  'credit-line',
  'hedge-mode',
  'order',
] as const;

const timeouts = renamed(
  section(
    {
      attempt: duration({ minMs: 100, maxMs: 60_000, bounds: 'from 100ms to 1m' }).describe(
        'Bound on one try of a request, connecting included.',
      ),
      call: duration({ minMs: 100, maxMs: 300_000, bounds: 'from 100ms to 5m' }).describe(
        'Bound on a whole read, waiting and repeating included. Orders and cancels are sent once.',
      ),
    },
    { attempt: '5s', call: '10s' },
  ).describe('How long to wait for replies.'),
  { attempt: 'attemptTimeoutMs', call: 'callTimeoutMs' },
);

export const exchangeSchema = renamed(
  section(
    {
      baseUrls: z
        .array(baseUrl('https:', 'http:'))
        .min(1)
        .max(10)
        .describe('Addresses of the exchange without `/api/v4`; the first healthy one is used.'),
      dialect: oneOf('spec', 'camel').describe(
        'Spelling of request fields: `spec` (client_order_id) or `camel` (clientOrderId). Replies are read in both.',
      ),
      ...READINGS,
      timeouts,
      limits: z
        .record(
          text({
            expected: 'the name of a budget: letters, digits and dashes',
            pattern: /^[a-z][a-z0-9-]*$/,
            maxLength: 40,
          }),
          rateLimit,
        )
        .describe(
          `Request budgets that differ from the documented ones (${KNOWN_LIMITS.join(', ')}), or new ones.`,
        ),
      proxy: urlOrRef('http:', 'https:')
        .exactOptional()
        .describe('HTTP proxy for all requests to the exchange.'),
      ca: pemFile('certificates')
        .exactOptional()
        .describe('Certificates of a certificate authority of your own, relative to this file (PEM).'),
    },
    { dialect: 'spec', ...READING_DEFAULTS, timeouts: {}, limits: {} },
  ).describe('The exchange and how it answers.'),
  READING_NAMES,
);

export const exchangeOverrides = renamed(overrides(READINGS), READING_NAMES);

/** An egress group: accounts behind one outgoing IP address, which share one request budget. */
export const egressSchema = renamed(
  z.strictObject({
    share: ratio({ max: 1, exclusive: 'min', bounds: 'above 0 and up to 100%' })
      .prefault('100%')
      .describe(
        'Share of the budgets of its IP address that Breakwater may use, when others use the address too.',
      ),
    reserved: ratio({ max: 0.9, bounds: 'up to 90%' })
      .prefault('20%')
      .describe('Part of that share which only orders and cancels may use.'),
    proxy: urlOrRef('http:', 'https:')
      .exactOptional()
      .describe('HTTP proxy of this group instead of `exchange.proxy`.'),
  }),
  { reserved: 'reservedShare' },
);

/** `proxy` is that of the group, or that of the exchange. */
export type EgressSettings = Resolved<z.output<typeof egressSchema>>;

type WrittenExchange = z.output<typeof exchangeSchema>;

/** How to call the exchange; account settings say how to read its replies. */
export type ExchangeSettings = Resolved<Pick<WrittenExchange, 'baseUrls' | 'dialect' | 'limits' | 'proxy'>> &
  WrittenExchange['timeouts'] & {
    /** PEM text of additional certificate authorities. */
    readonly certificateAuthorities?: string;
  };

export function compileExchange(exchange: WrittenExchange, context: SecretContext): ExchangeSettings {
  const { baseUrls, dialect, limits, timeouts: bounds, ca } = exchange;
  const { proxy } = resolved(exchange, ['exchange'], context);
  const certificates = ca === undefined ? undefined : readCertificates(ca, ['exchange', 'ca'], context);
  if (bounds.callTimeoutMs < bounds.attemptTimeoutMs) {
    const message = 'expected call to be at least as long as attempt, got a shorter time';
    complain(context, ['exchange', 'timeouts', 'call'], 'wrong-value', message);
  }
  return {
    baseUrls,
    dialect,
    limits,
    ...bounds,
    ...(proxy === undefined ? {} : { proxy }),
    ...(certificates === undefined ? {} : { certificateAuthorities: certificates }),
  };
}

/** Checks new budgets on the YAML itself, so that other mistakes in the section do not hide theirs. */
export function checkNewLimits({ document, report }: SecretContext): void {
  const limits = nodeAt(document.root, ['exchange', 'limits']);
  for (const [name, node] of limits?.children ?? []) {
    if ((KNOWN_LIMITS as readonly unknown[]).includes(name)) continue;
    if (['limit', 'period', 'paths'].every((key) => node.children.has(key))) continue;
    const hint = didYouMean(suggest(String(name), KNOWN_LIMITS));
    const message = `expected limit, period and paths for a budget of a new name, or one of ${KNOWN_LIMITS.join(', ')}, got ${describeText(String(name))}${hint}`;
    report(problemAt(document, ['exchange', 'limits', name], { code: 'wrong-value', message, at: 'key' }));
  }
}
