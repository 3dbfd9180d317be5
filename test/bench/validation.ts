import { parseJson } from '../../src/exchange/call/parse-json.ts';
import { readPositions, readReply } from '../../src/exchange/schemas/replies.ts';
import { positionsReply } from './replies.ts';
import { interleavedRounds, median, report } from './rounds.ts';

const CALLS = 3000;
const texts = { three: positionsReply(3), fifty: positionsReply(50) };

const plain = (text: string) => async (calls: number) => {
  for (let call = 0; call < calls; call += 1) JSON.parse(text);
};
const validated = (text: string) => async (calls: number) => {
  for (let call = 0; call < calls; call += 1) {
    const parsed = readReply(text, parseJson(text)?.value, readPositions);
    if (!parsed.ok || !parsed.value.complete) throw new Error('the measured reply must be valid');
  }
};
const samples = await interleavedRounds(
  {
    plainThree: plain(texts.three),
    three: validated(texts.three),
    plainFifty: plain(texts.fifty),
    fifty: validated(texts.fifty),
  },
  CALLS,
  5,
);
const us = (name: keyof typeof samples) => median(samples[name].map(({ throughput }) => 1e6 / throughput));
report('validation: us per reply of 3 positions', { us: us('three'), jsonParseAloneUs: us('plainThree') });
report('validation: us per reply of 50 positions', { us: us('fifty'), jsonParseAloneUs: us('plainFifty') });
