import { READING_CHOICES } from '../../src/simulator/model/readings.ts';

/** Readings of the live service that need nothing of the daemon's config, and that older seeds of generators lack. */
export const LIVE_READINGS = [
  'restingStatus',
  'priceBand',
  'minTotal',
  'maxTotal',
  'activationAtLast',
  'oneWaySide',
  'deleverageOrders',
  'historyOrders',
  'cancelWithoutOrders',
  'errorWords',
  'errorForm',
  'unknownFields',
] as const satisfies readonly (keyof typeof READING_CHOICES)[];

/** A value of each of them, chosen by `below`. */
export function drawLiveReadings(below: (bound: number) => number): Readonly<Record<string, string>> {
  return Object.fromEntries(
    LIVE_READINGS.map((name) => {
      const { values } = READING_CHOICES[name];
      return [name, values[below(values.length)] ?? values[0]];
    }),
  );
}
