import { toNumber } from '../../../src/core/quantities/decimal.ts';
import { openWorld } from '../../../src/world/open-world.ts';
import { isOurs } from '../../support/own-orders.ts';
import { liquidatedMs, runUntilLiquidated, unprotected } from '../baseline.ts';
import type { FieldCase } from '../field-case.ts';
import { ACCOUNT } from '../holdings.ts';
import type { SlowCase, SlowLevels } from './slow-case.ts';

/** What became of an account in a slow fall. */
export interface SlowResult {
  readonly id: string;
  readonly slow: SlowLevels;
  /** Without anybody; an account that survives is no case. */
  readonly isLostAlone: boolean;
  readonly stopSaves: boolean;
  readonly setSaves: boolean;
  readonly stop: Play;
  readonly set: Play;
}

interface Play {
  readonly isLost: boolean;
  readonly orders: number;
  readonly cancels: number;
  readonly equity: number;
  readonly errors: readonly string[];
}

export async function judgeSlow({ id, slow, fieldCase, stopAlone }: SlowCase): Promise<SlowResult> {
  const alone = openWorld(unprotected(fieldCase.world));
  await runUntilLiquidated(alone);
  const isLostAlone = liquidatedMs(alone) !== undefined;
  const [stop, set] = [await play(stopAlone), await play(fieldCase)];
  return {
    id,
    slow,
    isLostAlone,
    stopSaves: isLostAlone && !stop.isLost,
    setSaves: isLostAlone && !set.isLost,
    stop,
    set,
  };
}

async function play({ world: spec }: FieldCase): Promise<Play> {
  const world = openWorld(spec);
  await runUntilLiquidated(world);
  const { model } = world.exchange;
  const placed = model.ledger({ kinds: ['order_placed'], accountId: ACCOUNT }).filter(isOurs);
  const requests = world.exchange.log.list({ account: ACCOUNT });
  return {
    isLost: liquidatedMs(world) !== undefined,
    orders: placed.length,
    cancels: requests.filter(({ endpoint }) => endpoint === 'cancelAll').length,
    equity: toNumber(model.account(ACCOUNT).equity),
    errors: world.errors.map(String),
  };
}
