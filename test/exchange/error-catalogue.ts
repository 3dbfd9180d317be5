import { type CatalogueEntry, CODES, FINDINGS, STATUSES } from '../../src/exchange/call/error-catalogue.ts';

/** Everything that the client calls an error. */
export const ERROR_CATALOGUE: readonly CatalogueEntry[] = [...CODES, ...STATUSES, ...Object.values(FINDINGS)];
