import { describe, expect, test } from 'vitest';
import {
  admitEpisodes,
  EMPTY_LEDGER,
  episodeKeyOf,
  gateRefusal,
  type LimitLedger,
} from '../../../src/core/intents/gate.ts';
import { actionKey } from '../../../src/core/intents/intent.ts';
import type { RuleLimits } from '../../../src/core/rules/rule.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { action, half } from '../lanes/fixtures.ts';

const subject = {
  mode: 'enforce',
  ruleId: 'near',
  key: '[]',
  episodeKey: 'e',
  exemptFromLimits: false,
} as const;
const open = { paused: false, silencedRules: [], limited: {} };

describe('the gate', () => {
  test('gives each refusal a reason, in a fixed order of precedence', () => {
    expect(gateRefusal(subject, open)).toBeNull();
    const closed = { paused: true, silencedRules: ['near'], limited: { e: 'cooldown' } } as const;
    expect(gateRefusal({ ...subject, mode: 'observe' }, closed)).toBe('observeMode');
    expect(gateRefusal(subject, closed)).toBe('paused');
    expect(gateRefusal(subject, { ...closed, paused: false })).toBe('silenced');
    expect(gateRefusal(subject, { ...open, limited: closed.limited })).toBe('cooldown');
    expect(
      gateRefusal({ ...subject, exemptFromLimits: true }, { ...open, limited: closed.limited }),
    ).toBeNull();
    expect(
      gateRefusal({ ...subject, ruleId: 'other' }, { ...closed, paused: false, limited: {} }),
    ).toBeNull();
  });
});

test('a silence for one subject holds the rule back there only', () => {
  const request = action(half, { subject: 'position:7' });
  const gate = { ...open, silencedSubjects: [{ ruleId: request.ruleId, subject: 'position:7' }] };
  const asked = (changed: Partial<ActionRequest>) =>
    gateRefusal(
      { ...subject, ruleId: request.ruleId, episodeKey: episodeKeyOf({ ...request, ...changed }) },
      gate,
    );
  expect(asked({})).toBe('silenced');
  expect(asked({ subject: 'position:8' })).toBeNull();
  expect(gateRefusal({ ...subject, ruleId: 'other', episodeKey: episodeKeyOf(request) }, gate)).toBeNull();
  // Orders are asked about under the key of their action.
  expect(gateRefusal({ ...subject, ruleId: request.ruleId, episodeKey: actionKey(request, '7') }, gate)).toBe(
    'silenced',
  );
});

describe('limits', () => {
  const gate = { paused: false, silencedRules: [] };
  const MINUTE = 60_000;

  class Ledger {
    ledger: LimitLedger = EMPTY_LEDGER;
    limits: RuleLimits;
    constructor(limits: RuleLimits) {
      this.limits = limits;
    }
    at(nowMs: number, ...active: readonly ActionRequest[]): string[] {
      return this.with({ nowMs, conclusive: true, paused: false }, ...active);
    }
    with(
      { nowMs, conclusive, paused }: { nowMs: number; conclusive: boolean; paused: boolean },
      ...active: readonly ActionRequest[]
    ): string[] {
      const inputs = { active, conclusive, limitsOf: () => this.limits, gate: { ...gate, paused } };
      const admitted = admitEpisodes(this.ledger, inputs, nowMs);
      this.ledger = JSON.parse(JSON.stringify(admitted.ledger)) as LimitLedger;
      return Object.values(admitted.limited);
    }
  }

  const episode = (number: number, changed: Partial<ActionRequest> = {}) =>
    action(half, { episode: number, ...changed });

  test('a cooldown runs from the end of one episode to the start of the next', () => {
    const ledger = new Ledger({ cooldownMs: 5 * MINUTE });
    expect(ledger.at(0, episode(1))).toEqual([]);
    expect(ledger.at(10 * MINUTE, episode(1))).toEqual([]);
    ledger.at(11 * MINUTE);
    expect(ledger.at(15 * MINUTE, episode(2))).toEqual(['cooldown']);
    expect(ledger.at(16 * MINUTE, episode(2))).toEqual([]);
  });

  test('perHour counts admitted episodes, not stages and not episodes that were held back', () => {
    const ledger = new Ledger({ perHour: 2 });
    expect(ledger.at(0, episode(1), episode(1, { stage: 1 }), episode(1, { stage: 2 }))).toEqual([]);
    ledger.at(1);
    expect(ledger.at(2, episode(2))).toEqual([]);
    ledger.at(3);
    expect(ledger.at(4, episode(3))).toEqual(['perHour']);
    ledger.at(5);
    expect(ledger.at(60 * MINUTE - 1, episode(4))).toEqual(['perHour']);
    // An hour after the first one.
    expect(ledger.at(60 * MINUTE, episode(5))).toEqual([]);
  });

  test('an episode under way is not held back by its own limit', () => {
    const ledger = new Ledger({ perHour: 1, cooldownMs: MINUTE });
    ledger.at(0, episode(1));
    expect(ledger.at(1, episode(1, { stage: 1 }))).toEqual([]);
  });

  test('each subject and rule has its own limit; a changed rule keeps its count', () => {
    const ledger = new Ledger({ perHour: 1 });
    ledger.at(0, episode(1));
    expect(ledger.at(1, episode(1), episode(1, { subject: 'position:43' }))).toEqual([]);
    expect(ledger.at(2, episode(1), episode(1, { ruleId: 'other' }))).toEqual([]);
    ledger.at(3);
    expect(ledger.at(4, episode(1, { ruleChecksum: 'changed' }))).toEqual(['perHour']);
  });

  test('exempt episodes (margin call, liquidation, unrecognised) pass the limit, but count', () => {
    const ledger = new Ledger({ perHour: 1 });
    expect(ledger.at(0, episode(1, { exemptFromLimits: true }))).toEqual([]);
    ledger.at(1);
    expect(ledger.at(2, episode(2, { exemptFromLimits: true }))).toEqual([]);
    ledger.at(3);
    expect(ledger.at(4, episode(3))).toEqual(['perHour']);
  });

  test('an inconclusive evaluation ends no episode', () => {
    const ledger = new Ledger({ cooldownMs: MINUTE });
    ledger.at(0, episode(1));
    ledger.with({ nowMs: 1, conclusive: false, paused: false });
    expect(ledger.at(2 * MINUTE, episode(1))).toEqual([]);
  });

  test('an episode that only watched (observe mode or paused) does not count', () => {
    const ledger = new Ledger({ perHour: 1 });
    ledger.at(0, episode(1, { mode: 'observe' }));
    ledger.with({ nowMs: 1, conclusive: true, paused: true }, episode(2));
    expect(ledger.at(2, episode(3))).toEqual([]);
  });
});
