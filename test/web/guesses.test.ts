import { describe, expect, test } from 'vitest';
import { clientOf, proxyList } from '../../src/web/connections.ts';
import { TokenGuesses } from '../../src/web/guesses.ts';
import { manualClock } from '../state/support/manual-clock.ts';

describe('wrong tokens of a client', () => {
  const verdicts = (guesses: TokenGuesses, client: string, count: number) =>
    Array.from({ length: count }, () => guesses.judge(client, undefined));

  test('are limited to twenty at once and one more every 3 s; the right one waits like them', () => {
    const clock = manualClock(0);
    const guesses = new TokenGuesses(clock);
    expect(verdicts(guesses, 'a', 22).filter((verdict) => verdict === 'wrong')).toHaveLength(20);
    expect(guesses.judge('a', 'ann')).toBe('slowedDown');
    clock.advance(2999);
    expect(guesses.judge('a', 'ann')).toBe('slowedDown');
    clock.advance(1);
    expect(guesses.judge('a', 'ann')).toBe('right');
    // From now on ann is known there, whatever the number of wrong ones from the same address.
    expect(verdicts(guesses, 'a', 30)).toContain('slowedDown');
    expect([guesses.judge('a', 'ann'), guesses.judge('a', 'bob')]).toEqual(['right', 'slowedDown']);
    clock.advance(3_600_000);
    expect(verdicts(guesses, 'a', 25).filter((verdict) => verdict === 'wrong')).toHaveLength(20);
  });

  test('are remembered for 5,000 clients; the least recently active is forgotten', () => {
    const guesses = new TokenGuesses(manualClock(0));
    verdicts(guesses, 'a', 20);
    verdicts(guesses, 'b', 20);
    for (let client = 0; client < 4998; client += 1) guesses.judge(`c${client}`, undefined);
    expect(guesses.judge('a', undefined)).toBe('slowedDown');
    guesses.judge('one-more', undefined);
    expect([guesses.judge('a', undefined), guesses.judge('b', undefined)]).toEqual(['slowedDown', 'wrong']);
  });
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  [undefined, ''],
])('%s is the client %s', (address, client) => {
  expect(clientOf(address)).toBe(client);
});

test('a proxy is recognized by its address in either notation, or by its network', () => {
  const proxies = proxyList(['10.0.0.2', '10.1.0.0/16', '2001:db8::/48']);
  const found = ['10.0.0.2', '::ffff:10.1.2.3', '2001:db8:0:9::1', '10.0.0.3', '2001:db9::1', undefined];
  expect(found.map((address) => proxies.has(address))).toEqual([true, true, true, false, false, false]);
});
