import { FAULT_KINDS } from './http/faults.ts';
import { CONDITION_KINDS } from './model/market-condition.ts';
import { READING_CHOICES, READING_DURATIONS } from './model/readings.ts';
import { SCENARIOS } from './scenarios/scenarios.ts';

/** All words of the simulator's settings, with a line of explanation each. */
export function vocabulary() {
  const choices = Object.entries(READING_CHOICES).map(
    ([name, { values, note }]) => [`${name}=${values.join('|')}`, note] as const,
  );
  const durations = Object.entries(READING_DURATIONS).map(([name, note]) => [`${name}=MS`, note] as const);
  return {
    scenarios: Object.fromEntries(Object.entries(SCENARIOS).map(([name, { note }]) => [name, note])),
    faults: FAULT_KINDS,
    conditions: CONDITION_KINDS,
    readings: Object.fromEntries([...choices, ...durations]),
  };
}
