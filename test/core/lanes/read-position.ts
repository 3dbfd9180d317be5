import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { d } from '../rules/fixtures.ts';

/** A position as a lane keeps it: long 1 at 1000, liquidation at 950. */
export function readPositionOf(changed: Partial<ReadPosition> = {}): ReadPosition {
  return {
    positionId: '42',
    positionSide: 'BOTH',
    openDate: 1,
    direction: 'long',
    sizeBase: d('1'),
    markPrice: d('1000'),
    markError: 0,
    liquidationPrice: d('950'),
    distance: 0.05,
    liquidationState: 'none',
    disagreement: false,
    fenceRisk: 0,
    ...changed,
  };
}
