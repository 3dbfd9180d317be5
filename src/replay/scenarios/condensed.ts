import type { Scenario, ScenarioPoint } from './scenario.ts';

/** Pace of shortened stretches: at 4 % an hour no account ended differently, at 1 % a minute some did. */
const SLOWEST_PERCENT_PER_HOUR = 4;
/** Longest stretch without any move: rules that wait for calm have time to clear. */
const LONGEST_STILL_MINUTES = 20;

/** Shortens slow stretches and keeps fast ones: a crash of one day takes ten hours. */
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

/** Percent by which the path differs between two minutes on the same straight line of it. */
function movedBetween(points: readonly ScenarioPoint[], from: number, to: number): number {
  const after = points.findLastIndex(([minute]) => minute <= from);
  const line = [points[after], points[after + 1]] as const;
  return Math.abs(percentOn(line, to) - percentOn(line, from));
}

function percentOn([from = [0, 0], to = from]: readonly (ScenarioPoint | undefined)[], at: number): number {
  const [[start, low], [end, high]] = [from, to];
  return start === end ? low : low + ((high - low) * (at - start)) / (end - start);
}
