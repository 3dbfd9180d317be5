import { type CatalogueEntry, CODES, FINDINGS, STATUSES } from '../../src/exchange/call/error-catalogue.ts';

/** All entries of the client's error catalogue. */
export const ERROR_CATALOGUE: readonly CatalogueEntry[] = [...CODES, ...STATUSES, ...Object.values(FINDINGS)];
