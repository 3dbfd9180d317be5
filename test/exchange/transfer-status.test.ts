import { expect, test } from 'vitest';
import { transferStatusName } from '../../src/exchange/transfer-status.ts';

test('a code means what its method says; one that is not documented has no name', () => {
  expect(transferStatusName('deposit', 15)).toBe('pending');
  expect(transferStatusName('deposit', 7)).toBe('successful');
  expect(transferStatusName('deposit', 27)).toBe('travelRule');
  expect(transferStatusName('deposit', 18)).toBeUndefined();
  expect(transferStatusName('withdrawal', 18)).toBe('partial');
  expect(transferStatusName('withdrawal', 5)).toBe('unconfirmed');
  expect(transferStatusName('withdrawal', 999)).toBeUndefined();
});
