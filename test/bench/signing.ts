import { sign, signingKey } from '../../src/exchange/call/signer.ts';
import { interleavedRounds, median, report } from './rounds.ts';

const CALLS = 20_000;
const key = signingKey('bench-secret');
const bodies = { positions: body(0), stopLimit: body(250) };

function body(extra: number): Buffer {
  return Buffer.from(
    `{"request":"/api/v4/some/endpoint","nonce":"1760000000000000","x":"${'x'.repeat(extra)}"}`,
  );
}

const loop = (bytes: Buffer) => async (calls: number) => {
  for (let call = 0; call < calls; call += 1) sign(bytes, key);
};
const samples = await interleavedRounds(
  { positions: loop(bodies.positions), stopLimit: loop(bodies.stopLimit) },
  CALLS,
  5,
);
for (const name of ['positions', 'stopLimit'] as const) {
  const us = median(samples[name].map(({ throughput }) => 1e6 / throughput));
  report(`signing: us per body, ${name}`, { us, bytes: bodies[name].length });
}
