import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

/** Candles of real crashes: a folder beside the checkout, or as the environment says. */
export const CANDLES =
  process.env['BREAKWATER_CANDLES'] ?? path.resolve(import.meta.dirname, '../../../shared/data/crashes');

/** Names of its files; none where there is no such folder. */
export const CANDLE_FILES: readonly string[] = existsSync(CANDLES)
  ? readdirSync(CANDLES).filter((name) => name.endsWith('.csv'))
  : [];
