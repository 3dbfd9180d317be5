import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compareSightings,
  NearestSightings,
  sightingsInDecision,
  sightingsInHistory,
} from '../../../src/core/digest/sighting.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { creditLine, d, list, position, read, SETTINGS, short, snapshot } from '../rules/fixtures.ts';
import { hour, sighting } from './fixtures.ts';

const state = emptyAccountState('desk-1');

describe('sightings: how near a subject came', () => {
  test('are taken from the history samples of markets, of all together, and of credit lines', () => {
    const samples = [
      { subject: 'position:42', values: { market: 'BTC_PERP', liquidationDistance: 0.3 } },
      // The distance was unknown at that time.
      { subject: 'position:43', values: { market: 'ETH_PERP', amount: '1' } },
      { subject: 'account', values: { jointDistance: 0.1 } },
      { subject: 'creditLine:USDT@1700000000', values: { currentLtv: 0.6, marginCallLtv: 0.75 } },
      // Stored by an earlier version.
      { subject: 'creditLine:BTC@1700000000', values: { currentLtv: 0.6 } },
    ];
    expect(sightingsInHistory({ atMs: hour(1), samples })).toEqual([
      sighting({ atMs: hour(1), distance: 0.3 }),
      sighting({ subject: 'account', of: 'allMarkets', name: '', atMs: hour(1), distance: 0.1 }),
      sighting({
        subject: 'creditLine:USDT@1700000000',
        of: 'creditLine',
        name: 'USDT',
        atMs: hour(1),
        distance: expect.closeTo(0.2) as number,
      }),
    ]);
  });

  test('are taken from the inputs of a decision, margin calls included', () => {
    const taken = snapshot({
      positions: read(
        list([
          position({ liquidationState: { known: true, value: 'margin_call' } }),
          short({ positionId: '43', market: 'ETH_PERP', liquidationPrice: null }),
        ]),
      ),
      creditLine: read(list([creditLine({ currentLtv: d('75') })])),
    });
    const found = sightingsInDecision({ snapshot: taken, state }, SETTINGS);
    expect(found.map(({ of, name, called }) => [of, name, called])).toEqual([
      ['market', 'BTC_PERP', 'marginCall'],
      ['market', 'ETH_PERP', null],
      ['creditLine', 'USDT', 'marginCall'],
      ['allMarkets', '', null],
    ]);
    const [btc, eth, loan] = found;
    expect([btc?.distance, eth?.distance, loan?.distance]).toEqual([expect.closeTo(0.1), null, 0]);
  });
});

test('the nearest sighting of each subject is kept, in any order of arrival', () => {
  const anySighting = fc
    .record({
      subject: fc.constantFrom('position:42', 'position:43', 'account'),
      distance: fc.option(fc.double({ min: -0.1, max: 1, noNaN: true })),
      called: fc.constantFrom(null, 'marginCall' as const, 'liquidation' as const),
      atMs: fc.integer({ min: 0, max: 5 }),
    })
    .map((changes) => sighting(changes));
  fc.assert(
    fc.property(fc.array(anySighting), fc.array(anySighting), (some, others) => {
      const nearest = new NearestSightings();
      nearest.add(some);
      nearest.add(others);
      const swapped = new NearestSightings();
      swapped.add([...others, ...some]);
      const kept = nearest.all;
      for (const one of [...some, ...others]) {
        const own = kept.find(({ subject }) => subject === one.subject);
        expect(own === undefined ? 1 : compareSightings(own, one)).toBeLessThanOrEqual(0);
      }
      const figures = ({ all }: NearestSightings) =>
        all.map(({ distance, called, atMs }) => [distance, called, atMs]);
      expect(figures(swapped)).toEqual(figures(nearest));
    }),
  );
});
