import { controlCase } from './control.ts';
import { type Fixed, rows } from './covering.ts';
import type { Levels } from './factors.ts';
import { type FieldCase, fieldCase } from './field-case.ts';
import { SCENARIO_PLACES, scenarioCase } from './scenarios.ts';
import { slowCase } from './slow/slow-case.ts';

interface Sequence {
  readonly key: string;
  readonly levels: Levels[];
  readonly more: Generator<Levels>;
}

let known: Sequence | undefined;

/** The most recent sequence, so that each case is drawn once. */
function levelsAt(seed: number, index: number, fixed: Fixed): Levels {
  const key = JSON.stringify([seed, fixed]);
  if (known?.key !== key) known = { key, levels: [], more: rows(seed, fixed) };
  const { levels, more } = known;
  while (levels.length <= index) {
    const next = more.next();
    if (next.done !== true) levels.push(next.value);
  }
  return levels[index] as Levels;
}

/** The case at a place in the sequence of a seed. */
export function caseAt(seed: number, index: number, fixed: Fixed = {}): FieldCase {
  return fieldCase(seed, index, levelsAt(seed, index, fixed));
}

/** The account that needs no action, in the conditions of the case at that place. */
export function controlAt(seed: number, index: number, fixed: Fixed = {}): FieldCase {
  return { ...controlCase(seed, index, levelsAt(seed, index, fixed)), id: `${seed}-c${index}` };
}

/**
 * The case of an id as reports name it: `1-42`, `1-c42` for a control, `1-s42` for a scenario, `1-w42` for a slow fall; undefined for an unknown
 * id.
 */
export function caseOfId(
  id: string,
  fixed: Fixed = {},
): { readonly kind: 'case' | 'control' | 'scenario'; readonly fieldCase: FieldCase } | undefined {
  const match = /^(\d{1,9})-([csw]?)(\d{1,6})$/.exec(id);
  if (match === null) return undefined;
  const [seed, index] = [Number(match[1]), Number(match[3])];
  if (match[2] === 'c') return { kind: 'control', fieldCase: controlAt(seed, index, fixed) };
  if (match[2] === 'w') return { kind: 'case', fieldCase: slowCase(seed, index).fieldCase };
  if (match[2] === '') return { kind: 'case', fieldCase: caseAt(seed, index, fixed) };
  return index < SCENARIO_PLACES.length
    ? { kind: 'scenario', fieldCase: scenarioCase(seed, index) }
    : undefined;
}
