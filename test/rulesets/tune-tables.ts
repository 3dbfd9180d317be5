import { figures, type OutcomeTable, texts } from '../../src/replay/outcome-table.ts';
import { percent } from '../../src/replay/words.ts';
import type { TuneRecord } from './search.ts';
import type { TuneFigures } from './tune-figures.ts';

export const FRONT_COLUMNS: OutcomeTable['columns'] = [
  ...texts('RULES', 'FRONT'),
  ...figures('PREVENTED', 'KEPT', 'WITHOUT', 'GIVEN UP', 'MEDIAN', 'HARMED', 'ORDERS/H', 'FALSE/1000 D'),
];

/** One line per set: anchors first, then the front from least given up. Beaten sets are left out. */
export function frontTable({ rows }: TuneRecord): OutcomeTable {
  const shown = rows.filter(({ isAnchor, isOnFront }) => isAnchor || isOnFront);
  return {
    columns: FRONT_COLUMNS,
    rows: shown.map(({ name, isOnFront, figures: one }) =>
      [name, isOnFront ? 'yes' : ''].concat(figureCells(one)),
    ),
  };
}

/** Cells of the columns from the third on. */
export function figureCells(one: TuneFigures): readonly string[] {
  return [
    `${one.prevented} of ${one.doomed}`,
    share(one.kept),
    share(one.keptWithout),
    share(one.givenUpMean),
    share(one.givenUpMedian),
    `${one.harmed} of ${one.survivors}`,
    one.ordersPerHour.toFixed(1),
    one.falseActions === null ? '' : one.falseActions.toFixed(1),
  ];
}

function share(value: number | null): string {
  return value === null ? '' : percent(value);
}

/** What the table covers, and how far the search came, in whole sentences. */
export function tuneWords({ cases, candidates, runs, end, wallMs }: TuneRecord): string {
  const ended = {
    done: 'Everything was played.',
    budget: 'The budget ended the search: the table is of the last round that was finished.',
    stopped: 'Stopped: the table is of the last round that was finished.',
  }[end];
  return `${candidates} sets of rules over ${cases.used} of ${cases.all} cases; ${runs.played} runs played and ${runs.inferred} inferred within ${Math.round(wallMs / 1_000)} s, ${runs.perMinute} a minute. ${ended}`;
}
