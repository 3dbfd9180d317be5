import type { Notifier } from '../../core/ports/notifier.ts';
import type { DigestClaims } from '../../state/digest/digest-claims.ts';
import type { Base } from '../open-base.ts';
import { DigestSchedule } from './digest-schedule.ts';
import { gatherDigest } from './gather-digest.ts';

/** The digest schedule of a process that delivers notices. */
export function openDigest(base: Base, notifier: Notifier): DigestSchedule {
  const { state, accounts, clock } = base;
  const isAlone = (): boolean => state.standby?.isAlone === true;
  return new DigestSchedule({
    ...base,
    claims: orAlone(base.digestClaims, { isAlone, isFirst: base.ordinal === 0 }),
    async gather(period, signal) {
      const { history, store } = state;
      // Records that a process writes while alone get other numbers when Redis is back.
      const audit = isAlone() ? { ...state.audit, head: async () => undefined } : state.audit;
      const notes = isAlone() ? [ALONE] : [];
      const nowMs = clock.nowMs();
      return await gatherDigest(
        { audit, history, store, accounts: accounts.all(), nowMs, signal, notes },
        period,
      );
    },
    notifier,
  });
}

const ALONE = 'Redis is lost: this is what one process has seen since then, and no more.';

/** Without the store nothing decides who sends the digest: the process with ordinal 0 does. */
function orAlone(
  shared: DigestClaims,
  { isAlone, isFirst }: { readonly isAlone: () => boolean; readonly isFirst: boolean },
): DigestClaims {
  return {
    async claim(name, owner) {
      if (!isAlone()) return await shared.claim(name, owner);
      return isFirst ? 'mine' : 'busy';
    },
    async finish(name) {
      if (!isAlone()) await shared.finish(name);
    },
    async release(name) {
      if (!isAlone()) await shared.release(name);
    },
  };
}
