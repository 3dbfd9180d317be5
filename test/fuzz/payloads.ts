import { actJobSchema, notifyJobSchema, pollJobSchema, readPayload } from '../../src/queues/payloads.ts';
import { mutatedJson, oneOf } from './mutate.ts';
import type { Boundary } from './target.ts';

const NOTICE = {
  version: 1,
  id: 'desk/near/position:42/1/0/firing',
  key: 'desk/near/position:42/1',
  kind: 'firing',
  accountId: 'desk',
  ruleId: 'near',
  subject: 'position:42',
  market: 'BTC_PERP',
  episode: 1,
  stage: 0,
  severity: 'critical',
  mode: 'enforce',
  labels: { desk: 'arb' },
  words: 'liquidationDistance 4 % is below 5 %',
  sinceMs: 1,
  atMs: 2,
  channels: ['ops'],
  cures: [{ asset: 'USDT', currentLtv: 0.7, targetLtv: 0.6, repay: '1', addCollateral: '2' }],
};

const JOBS = [
  { schema: pollJobSchema, valid: { version: 2, buckets: [1, 2, 63], everyMs: 1_000 } },
  { schema: actJobSchema, valid: { version: 1, accountId: 'desk', market: 'BTC_PERP' } },
  { schema: notifyJobSchema, valid: { version: 1, notice: NOTICE } },
] as const;

/** What a job carries is used, or refused with the path of what is wrong. */
export const PAYLOADS: Boundary = {
  name: 'payloads',
  open: async () => ({
    make(draw) {
      const { schema, valid } = oneOf(draw, JOBS);
      const text = mutatedJson(draw, valid);
      // The queue's library parses a job before anybody here sees it.
      const data: unknown = JSON.parse(text);
      return {
        text,
        run() {
          const read = readPayload<unknown>(schema, data);
          if (!read.ok && (read.why === '' || read.why.length > 4_000))
            throw new Error(`why: ${read.why.slice(0, 500)}`);
        },
      };
    },
    close: async () => undefined,
  }),
};
