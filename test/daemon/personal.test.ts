import { expect, test } from 'vitest';
import type { ChainedRecord } from '../../src/core/audit/audit-record.ts';
import type { AccountSettings } from '../../src/core/quantities/settings.ts';
import { compileRules } from '../../src/core/rules/compiled-rules.ts';
import { type EvaluationInputs, evaluate } from '../../src/core/rules/evaluate.ts';
import type { RuleSpec } from '../../src/core/rules/rule.ts';
import { environment } from './config.ts';
import { d, openScene } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, storedIn, troubles } from './world.ts';

const RULES = `  - id: strange
    on: account
    when: { unexpectedWithdrawalCount: { within: 1h, above: 0 } }
    do: [{ notify: { channels: [log] } }]
`;
const KNOWN = `0x${'Ab'.repeat(20)}`;
const STRANGE = `0x${'cd'.repeat(20)}`;

test('withdrawal addresses are judged and then dropped: none is stored, recorded or sent, and the decision can be recomputed', async () => {
  const simulator = await openScene();
  const env = { ...environment(simulator), ALLOWED: KNOWN };
  const world = await openDaemonWorld(simulator, {
    accounts: {
      long: {
        rules: ['strange'],
        more: '    watch: { transfers: true, withdrawalAllowList: { env: ALLOWED } }',
      },
    },
    rules: RULES,
    acting: '{ maxSnapshotAge: 4s }',
  });
  const withdraw = (address: string) =>
    simulator.model.withdraw('long', { ticker: 'USDT', amount: d('5'), address });
  withdraw(KNOWN.toLowerCase());
  const daemon = await world.start({ env });
  await eventually(
    () => transfersSeen(world) === 1,
    'the first withdrawal',
    () => troubles(world.events),
  );
  expect(world.events.some(({ kind }) => kind === 'said')).toBe(false);
  withdraw(STRANGE);
  await eventually(
    () => world.events.some(({ kind }) => kind === 'said'),
    'a notice',
    () => troubles(world.events),
  );

  const stored = await storedIn(world);
  expect(stored).toContain('expected');
  for (const address of [KNOWN, STRANGE]) expect(stored.toLowerCase()).not.toContain(address.toLowerCase());
  expect(JSON.stringify(world.events.map(said)).toLowerCase()).not.toContain(STRANGE);

  const records = await daemon.state.audit.tail('long', 100);
  let recomputed = 0;
  for (const record of records)
    recomputed += Number(await isRecomputed((one) => daemon.state.audit.inputs(one), record));
  expect(recomputed).toBeGreaterThan(0);
});

function transfersSeen({ events }: DaemonWorld): number {
  return events.reduce((count, event) => {
    const transfers = event.kind === 'evaluated' ? event.snapshot.sources.transfers : undefined;
    return transfers?.kind === 'read' ? transfers.value.records.length : count;
  }, 0);
}

/** Rules contain functions, which JSON leaves out. */
function said(event: DaemonWorld['events'][number]): unknown {
  return event.kind === 'evaluated' ? [event.snapshot, event.evaluation] : event;
}

async function isRecomputed(
  inputsOf: (record: ChainedRecord['record']) => Promise<unknown>,
  { record }: ChainedRecord,
): Promise<boolean> {
  if (record.content.kind !== 'decision') return false;
  const { rules, ...inputs } = (await inputsOf(record)) as EvaluationInputs & {
    rules: { rules: readonly RuleSpec[]; settings: Omit<AccountSettings, 'marketSettings'> };
  };
  expect(rules.settings).not.toHaveProperty('withdrawalAllowList');
  const compiled = compileRules(rules.rules, { ...rules.settings, marketSettings: () => undefined });
  const { transitions, decisions, active } = evaluate(inputs, compiled);
  expect({ transitions, decisions, active }).toEqual({
    transitions: record.content.transitions,
    decisions: record.content.decisions,
    active: record.content.active,
  });
  return true;
}
