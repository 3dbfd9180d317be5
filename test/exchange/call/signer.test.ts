import { execFileSync, spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sign, signingKey } from '../../../src/exchange/call/signer.ts';
import { runsOf } from '../../support/slice.ts';

/**
 * Made with openssl 3; to repeat:
 * printf '%s' "$BODY" | openssl base64 -A
 * printf '%s' "$PAYLOAD" | openssl dgst -sha512 -hmac "$SECRET"
 */
const VECTORS: { secret: string; body: string; payload: string; signature: string }[] = [
  {
    secret: 'key-secret-1',
    body: '{"request":"/api/v4/main-account/balance","nonce":"1594297865"}',
    payload: 'eyJyZXF1ZXN0IjoiL2FwaS92NC9tYWluLWFjY291bnQvYmFsYW5jZSIsIm5vbmNlIjoiMTU5NDI5Nzg2NSJ9',
    signature:
      'd04465aa77b2b3514eafd3cee9ac62f0a29426125cfc36b4fccff3d84187782b345eef5cd0157c8237a431fd54c3921b4823cd2da8b0f555073242afd7ef9d00',
  },
  {
    secret: 'ключ',
    body: '{"request":"/x","nonce":"1","memo":"Ä€😀"}',
    payload: 'eyJyZXF1ZXN0IjoiL3giLCJub25jZSI6IjEiLCJtZW1vIjoiw4Tigqzwn5iAIn0=',
    signature:
      '9b4ea7efa4a6557fe742d5d6232d0211af18fc37f03e6fa97e0af7c87a4f2f49df1bda930369b18bf00cccb0fa038631863ad20815213f6201c5ec668d9a0f35',
  },
  {
    secret:
      'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    body: '{}',
    payload: 'e30=',
    signature:
      '48bc492d4c4d3f9f1d841b0a86e088f418ceb0bb04c16d72f8d3d2e4aade0e2f91d6a632b0bc77c4c97f0a456b045eef3f6b27c81b301d767ba1eb6d6cc0ccc1',
  },
];

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) process.stderr.write('openssl is not installed: signatures are not compared with it live\n');

describe('signature (specification 5)', () => {
  test.each(VECTORS)('is that of openssl: $body', ({ secret, body, payload, signature }) => {
    expect(sign(body, signingKey(secret))).toEqual({ payload, signature });
    expect(sign(Buffer.from(body), signingKey(secret))).toEqual({ payload, signature });
  });

  test.runIf(hasOpenssl)('is that of the installed openssl, for any body and secret', () => {
    fc.assert(
      fc.property(fc.json(), fc.stringMatching(/^[A-Za-z0-9+/=]{1,80}$/), (body, secret) => {
        const payload = execFileSync('openssl', ['base64', '-A'], { input: body, encoding: 'utf8' });
        const digest = execFileSync('openssl', ['dgst', '-sha512', '-hmac', secret], {
          input: payload,
          encoding: 'utf8',
        });
        expect(sign(body, signingKey(secret))).toEqual({ payload, signature: digest.trim().split('= ')[1] });
      }),
      { numRuns: runsOf(15) },
    );
  });
});
