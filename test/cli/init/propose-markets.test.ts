import { describe, expect, test } from 'vitest';
import { leverageOf, maintenanceMarginOf } from '../../../src/cli/init/account-figures.ts';
import { proposeMarkets } from '../../../src/cli/init/propose-markets.ts';
import type { PositionRecord, SpotOrderRecord } from '../../../src/core/ports/exchange.ts';
import { startSimulatedExchange } from '../../../src/simulator/start-simulated-exchange.ts';

test.todo('x');
