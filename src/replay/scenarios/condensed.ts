import type { Scenario, ScenarioPoint } from './scenario.ts';

/**
 * A stretch that is slower than this many percent an hour is played at this pace: what limits, cooldowns and forecasts
 * make of it is the same. At 1 % a minute a slow bleed left an account a third of what it left at 2 % an hour, and a
 * rule set saved one in a crash that it loses at the true pace; from 4 % an hour on nobody's fate was another.
 */
const SLOWEST_PERCENT_PER_HOUR = 4;
/** A stretch in which nothing moves lasts this long at most: rules that wait for calm have time to clear. */
const LONGEST_STILL_MINUTES = 20;

/**
 * The same moves in less time: what is fast stays as fast as it was, what is slow is shortened. A crash of a day takes
 * about ten hours of market time; what is left out is time, in which funding accrues and people add margin.
 */
export function condensed(scenario: Scenario): Scenario {
  const { majors, others } = scenario;
  const minutes = new Set([...majors, ...(others ?? [])].map(([minute]) => minute));
  const times = [...minutes].sort((a, b) => a - b);
  const at = new Map<number, number>();
  let [end, before] = [0, times[0] ?? 0];
  for (const minute of times) {
    const moved = Math.max(
      movedBetween(majors, before, minute),
      movedBetween(others ?? majors, before, minute),
    );
    const paceMinutes = Math.max(LONGEST_STILL_MINUTES, (60 * moved) / SLOWEST_PERCENT_PER_HOUR);
    end += Math.min(minute - before, paceMinutes);
    at.set(minute, end);
    before = minute;
  }
  const shortened = (points: readonly ScenarioPoint[]): readonly ScenarioPoint[] =>
    points.map(([minute, percent]) => [at.get(minute) ?? minute, percent]);
  return {
    ...scenario,
    majors: shortened(majors),
    ...(others === undefined ? {} : { others: shortened(others) }),
  };
}

/** Percent by which the path differs between two minutes, which lie within one straight line of it. */
function movedBetween(points: readonly ScenarioPoint[], from: number, to: number): number {
  const after = points.findLastIndex(([minute]) => minute <= from);
  const line = [points[after], points[after + 1]] as const;
  return Math.abs(percentOn(line, to) - percentOn(line, from));
}

function percentOn([from = [0, 0], to = from]: readonly (ScenarioPoint | undefined)[], at: number): number {
  const [[start, low], [end, high]] = [from, to];
  return start === end ? low : low + ((high - low) * (at - start)) / (end - start);
}
